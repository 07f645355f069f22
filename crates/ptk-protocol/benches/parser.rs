//! How fast replies are parsed, by CPU time, against the project's own targets,
//! and how the cost grows with the size.
//!
//! ```sh
//! cargo bench --bench parser              # all of it
//! cargo bench --bench parser -- --quick   # only what has a bar
//! cargo bench --bench parser -- prose     # only work whose name has this word
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

mod inputs;
mod measure;

use std::error::Error;
use std::hint::black_box;

use inputs::{PTK, broken_json, grammar, one_call, pieces, prose, write_file, write_file_in_dsml};
use measure::{Foresight, SIZES, rounded, seconds, speed};
use ptk_protocol::{Grammar, Parser, json, parse};

/// One benchmark, on inputs of any size.
struct Work {
    name: &'static str,
    /// The slowest speed that is acceptable, in MB/s, and the size it is
    /// measured at.
    bar: Option<(f64, usize)>,
    input: fn(usize) -> String,
    run: fn(&Grammar, &str),
    dialect: &'static str,
}

const SMALL: usize = 2_000;
const LARGE: usize = 1_000_000;

const WORKS: &[Work] = &[
    Work {
        name: "text with one call, dialect fixed",
        bar: Some((800.0, SMALL)),
        input: |bytes| one_call(PTK, bytes),
        run: read_call,
        dialect: "ptk",
    },
    Work {
        name: "text with one call, auto",
        bar: Some((500.0, SMALL)),
        input: |bytes| one_call(PTK, bytes),
        run: read_call,
        dialect: "auto",
    },
    Work {
        name: "write_file call, dialect fixed",
        bar: Some((660.0, LARGE)),
        input: |bytes| write_file(PTK, bytes),
        run: read_call,
        dialect: "ptk",
    },
    Work {
        name: "write_file call, auto",
        bar: Some((660.0, LARGE)),
        input: |bytes| write_file(PTK, bytes),
        run: read_call,
        dialect: "auto",
    },
    Work {
        // 100 ms for a megabyte.
        name: "stream of a write_file call, auto",
        bar: Some((10.0, LARGE)),
        input: |bytes| write_file(PTK, bytes),
        run: stream,
        dialect: "auto",
    },
    Work {
        name: "stream of DSML, auto",
        bar: Some((10.0, LARGE)),
        input: write_file_in_dsml,
        run: stream,
        dialect: "auto",
    },
    Work {
        name: "stream of prose, auto",
        bar: Some((10.0, LARGE)),
        input: prose,
        run: stream,
        dialect: "auto",
    },
    Work {
        name: "prose, dialect fixed",
        bar: Some((4600.0, LARGE)),
        input: prose,
        run: read_prose,
        dialect: "ptk",
    },
    Work {
        name: "prose, auto",
        bar: Some((2000.0, LARGE)),
        input: prose,
        run: read_prose,
        dialect: "auto",
    },
    Work {
        name: "repair of JSON with one fault",
        bar: Some((200.0, LARGE)),
        input: broken_json,
        run: repair,
        dialect: "auto",
    },
];

fn read_call(grammar: &Grammar, text: &str) {
    let reply = parse(text, grammar);
    assert_eq!(reply.runnable().count(), 1, "the call is read");
    black_box(reply);
}

fn read_prose(grammar: &Grammar, text: &str) {
    let reply = parse(text, grammar);
    assert_eq!(reply.text.len(), text.len(), "all of it is text");
    black_box(reply);
}

/// Parses the text in pieces of four characters, and looks at each event.
fn stream(grammar: &Grammar, text: &str) {
    let mut parser = Parser::new(grammar);
    for piece in pieces(text) {
        parser.push_to(piece, &mut |event| {
            black_box(event);
        });
    }
    parser.finish_to(&mut |event| {
        black_box(event);
    });
}

fn repair(_: &Grammar, text: &str) {
    let repaired = json::repair(text);
    assert!(
        repaired
            .as_ref()
            .is_ok_and(|repaired| repaired.fixes.len() == 1),
        "one fault is found"
    );
    let _ = black_box(repaired);
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut quick = false;
    let mut words = Vec::new();
    for argument in std::env::args().skip(1) {
        match &*argument {
            // Cargo passes it.
            "--bench" => {}
            "--quick" => quick = true,
            _ => words.push(argument),
        }
    }

    println!("MB/s of CPU time, the best of several samples; a stream comes in 4-character pieces");
    print!("{:<36}", "");
    for (_, size) in SIZES {
        print!("{size:>8}");
    }
    println!("   bar");
    for work in WORKS {
        if words.is_empty() || words.iter().any(|word| work.name.contains(&**word)) {
            println!("{}", row(work, quick)?);
        }
    }
    Ok(())
}

fn row(work: &Work, quick: bool) -> Result<String, Box<dyn Error>> {
    let grammar = grammar(work.dialect)?;
    let mut foresight = Foresight::default();
    let mut line = format!("{:<36}", work.name);
    let mut verdict = String::new();
    let mut costs = Vec::new();
    for (size, name) in SIZES {
        let bar = work.bar.filter(|(_, at)| *at == size);
        if (quick && bar.is_none()) || !foresight.allows(size) {
            line.push_str(&format!("{:>8}", "–"));
            continue;
        }
        let text = (work.input)(size);
        let seconds = seconds(&mut || (work.run)(&grammar, &text));
        foresight.learn(size, seconds);
        let speed = speed(text.len(), seconds);
        costs.push(1.0 / speed);
        line.push_str(&format!("{:>8}", rounded(speed)));
        if let Some((bar, _)) = bar {
            let met = if speed >= bar { "met" } else { "missed" };
            verdict = format!("   ≥ {bar} at {name}: {met}");
        }
    }
    line.push_str(&verdict);
    if let (Some(first), Some(last), false) = (costs.first(), costs.last(), quick) {
        line.push_str(&format!(
            "; a byte of the largest costs {:.2} × one of the smallest",
            last / first
        ));
    }
    Ok(line)
}
