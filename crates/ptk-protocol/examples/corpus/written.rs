//! Gold calls as texts, for checks that read them elsewhere: ten dialects, each
//! whole and broken once, a JSON object a line.

use std::path::Path;

use ptk_protocol::dialects::Registry;
use serde_json::{Value, json};

use crate::bfcl::gold;
use crate::corrupt::{self, Kind};
use crate::random::Random;
use crate::{Outcome, rows, tools};

/// The dialects that they are written in.
const DIALECTS: [&str; 10] = [
    "ptk",
    "xml",
    "function",
    "yaml",
    "block",
    "hermes",
    "llama3-json",
    "mistral",
    "qwen3-coder",
    "glm",
];

/// Prints the texts.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let registry = Registry::builtin();
    let mut random = Random(1);
    for row in &rows(file)? {
        let gold = gold(row)?;
        let tools = tools(row)?;
        let specs: Vec<_> = tools.iter().collect();
        for name in DIALECTS {
            let dialect = registry.get(name)?;
            let writer = dialect.writer().ok_or("a dialect that is not written")?;
            if gold.is_empty() {
                continue;
            }
            let text = writer.calls(&gold);
            let broken = corrupt::once(name, &text, &tools, &mut random);
            let broken = broken.filter(|(kind, _)| *kind != Kind::CutOff);
            let broken = broken.map(|(kind, text)| (format!("{kind:?}"), text));
            for (kind, text) in [("Whole".to_owned(), text)].into_iter().chain(broken) {
                let calls: Vec<Value> = gold
                    .iter()
                    .map(|call| json!({"name": call.name, "args": call.args}))
                    .collect();
                let case = json!({"id": row["id"], "dialect": name, "kind": kind, "text": text,
                    "tools": specs, "gold": calls});
                println!("{case}");
            }
        }
    }
    Ok(())
}
