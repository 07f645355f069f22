//! PTK and its rivals on the same inputs, in the same run, by CPU time.
//!
//! Every contestant reads the form that most models write, JSON between
//! `<tool_call>` tags; those who have no parser for it, and the others again,
//! read the same calls as Qwen3-Coder writes them. `rivals speed` measures only
//! this, `rivals FOLDER` only how right the replies of a corpus are read. What is
//! called the limit does nothing but the least that has to be done: find the
//! mark, read the JSON strictly.

mod corpus;
#[path = "../../../crates/ptk-protocol/benches/inputs/mod.rs"]
mod inputs;
#[path = "../../../crates/ptk-protocol/benches/measure/mod.rs"]
mod measure;
mod rivals;
#[path = "../../../crates/ptk-protocol/examples/corpus/same.rs"]
mod same;

use std::error::Error;
use std::path::Path;

use inputs::{HERMES, broken_json, one_call, prose, valid_json, write_file};
use measure::{Foresight, SIZES, rounded, seconds, speed};
use rivals::{Checked, Contestant, Dynamo, Llm, Ptk, Repairer, Streamer, Strict, Theirs};

/// One kind of work, and those who can do it.
struct Contest {
    name: &'static str,
    input: fn(usize) -> String,
    entries: Vec<Entry>,
}

struct Entry {
    name: &'static str,
    contestant: Box<dyn Contestant>,
    /// Another input, where a contestant cannot read that of the others.
    input: Option<fn(usize) -> String>,
}

fn entry(name: &'static str, contestant: impl Contestant + 'static) -> Entry {
    Entry {
        name,
        contestant: Box::new(contestant),
        input: None,
    }
}

fn contests() -> Result<Vec<Contest>, Box<dyn Error>> {
    let readers = || -> Result<Vec<Entry>, Box<dyn Error>> {
        Ok(vec![
            entry("PTK, dialect fixed", Ptk::fixed("hermes")?),
            entry("PTK, auto", Ptk::auto()?),
            entry("tool-parser", Theirs::new("qwen")?),
            entry("limit: memchr and serde_json", Strict),
        ])
    };
    Ok(vec![
        Contest {
            name: "text with one call",
            input: |bytes| one_call(HERMES, bytes),
            entries: readers()?,
        },
        Contest {
            name: "write_file call",
            input: |bytes| write_file(HERMES, bytes),
            entries: readers()?,
        },
        Contest {
            name: "stream of a write_file call",
            input: |bytes| write_file(HERMES, bytes),
            entries: streamers()?,
        },
        Contest {
            name: "stream of prose",
            input: prose,
            entries: streamers()?,
        },
        Contest {
            name: "prose",
            input: prose,
            entries: readers()?,
        },
        Contest {
            name: "text with one call, in tags",
            input: |bytes| in_tags(&one_call(HERMES, bytes)),
            entries: readers_of_tags()?,
        },
        Contest {
            name: "write_file call, in tags",
            input: |bytes| in_tags(&write_file(HERMES, bytes)),
            entries: readers_of_tags()?,
        },
        Contest {
            name: "stream of a write_file call, in tags",
            input: |bytes| in_tags(&write_file(HERMES, bytes)),
            entries: streamers_of_tags()?,
        },
        Contest {
            name: "stream of prose, in tags",
            input: prose,
            entries: streamers_of_tags()?,
        },
        Contest {
            name: "repair of JSON with one fault",
            input: broken_json,
            entries: vec![
                entry("PTK", Repairer),
                entry("llm_json", Llm),
                Entry {
                    input: Some(valid_json),
                    ..entry("serde_json, no fault, to a value", Strict)
                },
                Entry {
                    input: Some(valid_json),
                    ..entry("limit: serde_json, check and copy", Checked)
                },
            ],
        },
    ])
}

fn streamers() -> Result<Vec<Entry>, Box<dyn Error>> {
    Ok(vec![
        entry("PTK, dialect fixed", Streamer(Ptk::fixed("hermes")?)),
        entry("PTK, auto", Streamer(Ptk::auto()?)),
        entry("tool-parser", Streamer(Theirs::new("qwen")?)),
        entry("limit: collect, then serde_json", Streamer(Strict)),
    ])
}

const CODER: &str = "qwen3-coder";

fn readers_of_tags() -> Result<Vec<Entry>, Box<dyn Error>> {
    Ok(vec![
        entry("PTK, dialect fixed", Ptk::fixed(CODER)?),
        entry("PTK, auto", Ptk::auto()?),
        entry("tool-parser", Theirs::new("qwen_xml")?),
        entry("dynamo-parsers-v2", Dynamo::new("qwen3_coder")?),
    ])
}

fn streamers_of_tags() -> Result<Vec<Entry>, Box<dyn Error>> {
    Ok(vec![
        entry("PTK, dialect fixed", Streamer(Ptk::fixed(CODER)?)),
        entry("PTK, auto", Streamer(Ptk::auto()?)),
        entry("tool-parser", Streamer(Theirs::new("qwen_xml")?)),
        entry("dynamo-parsers-v2", Streamer(Dynamo::new("qwen3_coder")?)),
    ])
}

/// The text with its call as Qwen3-Coder writes it: a tag for each argument.
fn in_tags(text: &str) -> String {
    let rewritten = || {
        let (before, body) = text.split_once("<tool_call>\n")?;
        let (body, behind) = body.split_once("\n</tool_call>")?;
        let call: serde_json::Value = serde_json::from_str(body).ok()?;
        let name = call.get("name")?.as_str()?;
        let mut tags = String::new();
        for (key, value) in call.get("arguments")?.as_object()? {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            tags.push_str(&format!("<parameter={key}>\n{value}\n</parameter>\n"));
        }
        Some(format!(
            "{before}<tool_call>\n<function={name}>\n{tags}</function>\n</tool_call>{behind}"
        ))
    };
    rewritten().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut wanted = std::env::args().skip(1);
    match wanted.next().as_deref() {
        Some("speed") | None => speeds(),
        Some(folder) => corpus::run(Path::new(folder)),
    }
}

fn speeds() -> Result<(), Box<dyn Error>> {
    println!("MB/s of CPU time, the best of several samples; a stream comes in 4-character pieces");
    for contest in contests()? {
        println!();
        print!("{:<36}", contest.name);
        for (_, size) in SIZES {
            print!("{size:>8}");
        }
        println!();
        for entry in &contest.entries {
            println!("{}", row(&contest, entry));
        }
    }
    println!(
        "\nwrong: read, but not what is there\n– : would take more than 20 s, by how the cost grew so far"
    );
    Ok(())
}

fn row(contest: &Contest, entry: &Entry) -> String {
    let input = entry.input.unwrap_or(contest.input);
    let mut foresight = Foresight::default();
    let mut line = format!("  {:<34}", entry.name);
    let mut wrong = None;
    for (size, _) in SIZES {
        if !foresight.allows(size) {
            line.push_str(&format!("{:>8}", "–"));
            continue;
        }
        let text = input(size);
        if let Err(error) = entry.contestant.check(&text) {
            wrong = Some(error);
        }
        let seconds = seconds(&mut || {
            let _ = std::hint::black_box(entry.contestant.read(&text));
        });
        foresight.learn(size, seconds);
        line.push_str(&format!("{:>8}", rounded(speed(text.len(), seconds))));
    }
    // A speed at which something else was read than what is there.
    if let Some(wrong) = wrong {
        line.push_str(&format!("   wrong: {wrong}"));
    }
    line
}
