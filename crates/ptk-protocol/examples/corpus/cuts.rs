//! Every reply of the corpus, cut at every place and at random ones, must be
//! read as the reply in one piece.

use std::path::Path;

use ptk_protocol::dialects::Registry;
use ptk_protocol::{Grammar, Parser, Reply, parse};
use serde_json::Value;

use crate::random::Random;
use crate::{Outcome, Tally, bfcl, corrupt, rows, tools};

/// How many times each reply is cut into many pieces.
const RANDOM_CUTS: usize = 200;

/// Cuts the inputs of `calls.jsonl` and of `json.jsonl` beside it, and the gold
/// calls of `bfcl.jsonl`, written in every dialect of our own and broken once.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let mut tally = Tally::new("cuts that change nothing, by file");
    let mut random = Random(3);
    let registry = Registry::builtin();
    for name in ["calls.jsonl", "json.jsonl", "bfcl.jsonl"] {
        let file = file.with_file_name(name);
        if !file.is_file() {
            continue;
        }
        for row in rows(&file)? {
            let tools = tools(&row).unwrap_or_default();
            let mut inputs: Vec<String> = Vec::new();
            if let Some(input) = row.get("input").and_then(Value::as_str) {
                inputs.push(input.to_owned());
            }
            let gold = bfcl::gold(&row)?;
            for dialect in registry.all().iter().filter(|_| !gold.is_empty()) {
                if let Some(writer) = dialect.writer() {
                    let text = writer.calls(&gold);
                    let broken = corrupt::once(dialect.name(), &text, &tools, &mut random);
                    inputs.extend(broken.map(|(_, broken)| broken));
                    inputs.push(text);
                }
            }
            let grammar = Grammar::auto(tools)?;
            for input in inputs {
                let same = survives(&grammar, &input, &mut random);
                tally.count(name, same);
                if !same {
                    tally.list(format!("{input:?}"));
                }
            }
        }
    }
    tally.print();
    Ok(())
}

/// Whether no cut of the input changes the reply.
fn survives(grammar: &Grammar, input: &str, random: &mut Random) -> bool {
    let whole = parse(input, grammar);
    let halves = (1..input.len())
        .filter_map(|cut| input.split_at_checked(cut))
        .all(|(head, tail)| read(grammar, &[head, tail]) == whole);
    halves && (0..RANDOM_CUTS).all(|_| read(grammar, &pieces(input, random)) == whole)
}

fn read(grammar: &Grammar, pieces: &[&str]) -> Reply {
    let mut reply = Reply::default();
    let mut parser = Parser::new(grammar);
    for piece in pieces {
        parser.push_to(piece, &mut |event| reply.absorb(event));
    }
    parser.finish_to(&mut |event| reply.absorb(event));
    reply
}

fn pieces<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let longest = 1 + random.below(24);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut length = 1 + random.below(longest);
        while length < rest.len() && !rest.is_char_boundary(length) {
            length += 1;
        }
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
