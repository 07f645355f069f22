//! The case files in `tests/cases`: what models write, what goes wrong, and
//! what must come of it. Each case is also read in every cut in two and in
//! many random pieces, and every byte of it is accounted for.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod case_file;
mod random;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use case_file::{Case, Settings, Tools};
use ptk_protocol::invariants::{check_every_cut, check_pieces};
use ptk_protocol::schema::check;
use ptk_protocol::{Grammar, Outcome, ParsedCall, Problem, Reply, ToolSpec, Toolset, parse};
use random::Random;

/// How many random ways each case is cut into pieces.
const RANDOM_CUTS: usize = 200;
/// An input longer than this is cut in fewer ways: the work grows with its
/// square.
const LONG_INPUT: usize = 2_000;

static TOOLS: LazyLock<Vec<ToolSpec>> =
    LazyLock::new(|| serde_json::from_str(include_str!("cases/tools.json")).unwrap());

fn all_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let mut errors = Vec::new();
    let mut cases = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        match case_file::read(&name, &text) {
            Ok(read) if read.is_empty() => errors.push(format!("{name}: there is no case in it")),
            Ok(read) => cases.extend(read),
            Err(error) => errors.push(error),
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    cases
}

fn toolset(settings: &Settings) -> Option<Toolset> {
    let known = |name: &String| {
        let tool = TOOLS.iter().find(|tool| tool.name == *name);
        tool.unwrap_or_else(|| panic!("tools.json has no `{name}`"))
            .clone()
    };
    let mut specs: Vec<ToolSpec> = match &settings.tools {
        Tools::Default => TOOLS.clone(),
        Tools::Named(names) => names.iter().map(known).collect(),
        Tools::Undeclared => return None,
    };
    specs.extend(settings.extra_tools.iter().cloned());
    Some(Toolset::new(specs).unwrap())
}

/// The grammar of a case. Grammars are slow to build, and most cases share one.
fn grammar(settings: &Settings) -> Grammar {
    static BUILT: LazyLock<Mutex<HashMap<String, Grammar>>> = LazyLock::new(Mutex::default);
    let key = format!("{settings:?}");
    if let Some(grammar) = BUILT.lock().unwrap().get(&key) {
        return grammar.clone();
    }
    let mut builder = Grammar::builder().fences(settings.fences);
    if let Some(drafts) = settings.drafts {
        builder = builder.drafts(drafts);
    }
    if let Some(dialect) = &settings.dialect {
        builder = builder.dialect(dialect);
    }
    if let Some(tools) = toolset(settings) {
        builder = builder.tools(tools);
    }
    if settings.in_reasoning {
        builder = builder.starts_in_reasoning();
    }
    if settings.likely_in_reasoning {
        builder = builder.opening(ptk_protocol::Opening::Likely);
    }
    let mut grammar = builder.build().unwrap();
    if settings.is_transcript {
        grammar = grammar.for_transcript();
    }
    BUILT.lock().unwrap().insert(key, grammar.clone());
    grammar
}

#[test]
fn every_case_gives_what_it_says() {
    let mut failures = Vec::new();
    let cases = all_cases();
    let total = cases.len();
    let mut names = BTreeSet::new();
    for case in &cases {
        if !names.insert(&case.name) {
            failures.push(format!("{}: `{}` stands twice", case.place, case.name));
        }
        let mut reply = parse(&case.input, &grammar(&case.settings));
        if case.settings.cut_by_limit {
            reply.cut_by_limit();
        }
        let difference = difference(case, &reply);
        if !difference.is_empty() {
            failures.push(format!(
                "{}: {}\n{}\n  of the input\n{}",
                case.place,
                case.name,
                difference,
                indented(&case.input)
            ));
        }
    }
    let failed = failures.len();
    assert!(
        failures.is_empty(),
        "{failed} of {total} cases differ\n\n{}\n",
        failures.join("\n\n")
    );
}

/// However a case is cut, it gives the same, and no byte of it is lost.
#[test]
fn every_case_gives_the_same_however_it_is_cut() {
    let cases = all_cases();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                let cases = &cases;
                scope.spawn(move || {
                    let mine = cases.iter().skip(worker).step_by(workers);
                    mine.filter_map(cut_failure).collect::<Vec<_>>()
                })
            })
            .collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap())
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn cut_failure(case: &Case) -> Option<String> {
    let grammar = grammar(&case.settings);
    let input = case.input.as_str();
    let long = input.len() > LONG_INPUT;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if !long {
            check_every_cut(&grammar, input);
        }
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for _ in 0..if long { 5 } else { RANDOM_CUTS } {
            check_pieces(&grammar, input, random.pieces(input));
        }
    }));
    let panic = outcome.err()?;
    let message = panic
        .downcast_ref::<String>()
        .map_or("it panicked", String::as_str);
    Some(format!("{}: {}\n{message}", case.place, case.name))
}

/// The differences between a reply and what its case expects.
fn difference(case: &Case, reply: &Reply) -> String {
    let expected = &case.expected;
    let mut told = String::new();
    let mut differs = |what: &str, wanted: &str, found: &str| {
        if wanted != found {
            let _ = writeln!(told, "  {what}");
            let _ = writeln!(told, "{}", marked('-', wanted));
            let _ = writeln!(told, "{}", marked('+', found));
        }
    };
    let wanted: Vec<String> = expected.calls.iter().map(expected_line).collect();
    let found: Vec<String> = reply.calls.iter().map(found_line).collect();
    differs("calls", &wanted.join("\n"), &found.join("\n"));
    if expected.all_text {
        differs("text", &case.input, &reply.text);
    } else {
        differs("text", expected.text.trim(), reply.text.trim());
    }
    differs(
        "reasoning",
        expected.reasoning.trim(),
        reply.reasoning.trim(),
    );
    differs(
        "problems",
        &joined(&expected.problems),
        &joined(&codes(&reply.problems)),
    );
    if let Some(outcome) = &expected.outcome {
        let found = match reply.outcome() {
            Outcome::Text(_) => "text",
            Outcome::Calls(_) => "calls",
            Outcome::Malformed(_) => "malformed",
        };
        differs("outcome", outcome, found);
    }
    for (wanted, found) in expected.calls.iter().zip(&reply.calls) {
        if let (Some(wanted), Some(tools)) = (&wanted.runs_as, grammar(&case.settings).tools()) {
            let checked = check(tools, &found.call.name, found.call.args.clone());
            differs("what runs", &compact(wanted), &compact(&checked.args));
        }
    }
    let messages: Vec<&str> = reply
        .problems
        .iter()
        .chain(reply.calls.iter().flat_map(|call| &call.problems))
        .map(|problem| problem.message.as_str())
        .collect();
    for words in &expected.says {
        if !messages.iter().any(|message| message.contains(words)) {
            differs("what a problem says", words, &messages.join("\n"));
        }
    }
    told.trim_end().to_owned()
}

fn expected_line(call: &case_file::ExpectedCall) -> String {
    line(
        &call.name,
        &call.args,
        &call.status,
        &call.problems,
        call.reasoning.as_deref(),
        call.id.as_deref(),
    )
}

fn found_line(call: &ParsedCall) -> String {
    let status = format!("{:?}", call.status).to_lowercase();
    line(
        &call.call.name,
        &call.call.args,
        &status,
        &codes(&call.problems),
        call.call.reasoning.as_deref(),
        call.call.id.as_deref(),
    )
}

fn line(
    name: &str,
    args: &ptk_protocol::Arguments,
    status: &str,
    problems: &BTreeSet<String>,
    reasoning: Option<&str>,
    id: Option<&str>,
) -> String {
    let mut line = format!("{name} {} {status}", compact(args));
    if !problems.is_empty() {
        let _ = write!(line, ": {}", joined(problems));
    }
    for (word, text) in [("because", reasoning), ("id", id)] {
        if let Some(text) = text {
            let _ = write!(line, "\n{word}: {text}");
        }
    }
    line
}

/// The arguments without white space between them, every digit as written.
fn compact(args: &ptk_protocol::Arguments) -> String {
    let json = args.to_json();
    let mut compact = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c.is_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        compact.push(c);
    }
    compact
}

fn codes(problems: &[Problem]) -> BTreeSet<String> {
    problems
        .iter()
        .map(|problem| problem.code.to_string())
        .collect()
}

fn joined(codes: &BTreeSet<String>) -> String {
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    codes.join(", ")
}

fn marked(mark: char, text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| format!("    {mark} {}", visible(line)))
        .collect();
    lines.join("\n")
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .take(40)
        .map(|line| format!("      {}", visible(line)))
        .collect();
    lines.join("\n")
}

/// A line with what cannot be seen made visible, and not too long to read.
fn visible(line: &str) -> String {
    let mut shown = String::new();
    for c in line.chars().take(400) {
        if c.is_control() {
            let _ = write!(shown, "{}", c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A reply that breaks off inside a JSON call runs nothing that the whole
/// reply does not. Other forms cannot promise that: their arguments close one
/// by one, so one that was not written yet cannot be missed.
#[test]
fn no_beginning_of_a_json_call_runs_another_call() {
    let mut failures = Vec::new();
    for case in all_cases() {
        let input = case.input.as_str();
        let is_json = ["<PTK_CALL>{", "<PTK_BATCH>[", "<TOOL_CALL>{", "{", "["]
            .iter()
            .any(|start| input.starts_with(start));
        if !is_json || input.len() > LONG_INPUT || case.expected.calls.is_empty() {
            continue;
        }
        let grammar = grammar(&case.settings);
        let whole = parse(input, &grammar);
        let is_in_whole = |call: &ParsedCall| {
            let known = |other: &ParsedCall| {
                other.call.name == call.call.name && other.call.args == call.call.args
            };
            whole.calls.iter().any(known)
        };
        for (cut, _) in input.char_indices() {
            let (beginning, _) = input.split_at(cut);
            let reply = parse(beginning, &grammar);
            if let Some(call) = reply.runnable().find(|call| !is_in_whole(call)) {
                failures.push(format!(
                    "{}: {}\n  cut at {cut} runs {}\n{}",
                    case.place,
                    case.name,
                    found_line(call),
                    indented(beginning)
                ));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
