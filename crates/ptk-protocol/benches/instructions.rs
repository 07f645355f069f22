//! How many instructions the same work takes, counted by callgrind: exact
//! where time is not, so that a small loss is seen. `scripts/bench
//! instructions` installs what it needs.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::exit,
    clippy::panic,
    reason = "the macros write code of their own, and a setup cannot return an error"
)]

mod inputs;

use std::hint::black_box;

use gungraun::{
    Callgrind, CallgrindMetrics, EventKind, LibraryBenchmarkConfig, library_benchmark,
    library_benchmark_group, main,
};
use inputs::{PTK, broken_json, grammar, one_call, pieces, prose, write_file};
use ptk_protocol::{Grammar, Parser, Reply, json, parse};

/// An increase in instructions, in percent, that counts as a loss.
const LOSS: f64 = 3.0;

const SMALL: usize = 2_000;
const LARGE: usize = 200_000;

fn with(dialect: &str, text: String) -> (Grammar, String) {
    match grammar(dialect) {
        Ok(grammar) => {
            // What the first parse builds is not counted.
            black_box(parse(&text, &grammar));
            (grammar, text)
        }
        Err(error) => panic!("{dialect}: {error}"),
    }
}

fn call(dialect: &str, size: usize) -> (Grammar, String) {
    with(dialect, one_call(PTK, size))
}

fn file(dialect: &str, size: usize) -> (Grammar, String) {
    with(dialect, write_file(PTK, size))
}

fn words(dialect: &str, size: usize) -> (Grammar, String) {
    with(dialect, prose(size))
}

#[library_benchmark]
#[bench::call_fixed(args = ("ptk", SMALL), setup = call)]
#[bench::call_auto(args = ("auto", SMALL), setup = call)]
#[bench::file_fixed(args = ("ptk", LARGE), setup = file)]
#[bench::file_auto(args = ("auto", LARGE), setup = file)]
#[bench::prose_fixed(args = ("ptk", LARGE), setup = words)]
#[bench::prose_auto(args = ("auto", LARGE), setup = words)]
fn whole((grammar, text): (Grammar, String)) -> (Grammar, String, Reply) {
    let reply = black_box(parse(&text, &grammar));
    (grammar, text, reply)
}

#[library_benchmark]
#[bench::file(args = ("auto", LARGE), setup = file)]
#[bench::prose(args = ("auto", LARGE), setup = words)]
fn stream((grammar, text): (Grammar, String)) -> (Grammar, String) {
    let mut parser = Parser::new(&grammar);
    for piece in pieces(&text) {
        parser.push_to(piece, &mut |event| {
            black_box(event);
        });
    }
    parser.finish_to(&mut |event| {
        black_box(event);
    });
    (grammar, text)
}

#[library_benchmark]
#[bench::one_fault(args = (LARGE), setup = broken_json)]
fn repair(text: String) -> (String, bool) {
    let repaired = black_box(json::repair(&text));
    let mended = repaired.is_ok();
    (text, mended)
}

library_benchmark_group!(name = replies, benchmarks = [whole, stream, repair]);

main!(
    config = LibraryBenchmarkConfig::default().tool(
        Callgrind::default()
            .format([CallgrindMetrics::from(EventKind::Ir)])
            .soft_limits([(EventKind::Ir, LOSS)])
    ),
    library_benchmark_groups = replies
);
