//! How models are asked, and what is done when one fails.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use std::time::Duration;

use ptk_llm::{
    Completion, InMemory, LlmError, LlmErrorKind, Memory as _, NativeCall, Script, Usage,
};
use ptk_model::{Approach, Attempts, Candidate, Finding, Mode, Model, Models, Remedy, Teacher};
use ptk_protocol::dialects::{Dialect, Registry};
use ptk_protocol::{Grammar, Parser, Reply, ToolSpec, Toolset};
use serde_json::json;

fn models(names: &[&str]) -> Models {
    let model = |name: &&str| Candidate::new(Model::new(Script::new(["Hi"])).name(*name));
    names.iter().map(model).collect()
}

fn approach(models: &Models, mode: Mode) -> Approach {
    let candidate = models.get(0).unwrap();
    candidate.approach(None, mode, &InMemory::default())
}

fn error(status: u16) -> LlmError {
    LlmError::of_status("script", None, status, "no")
}

fn error_of(kind: LlmErrorKind) -> LlmError {
    LlmError { kind, ..error(503) }
}

#[test]
fn failures_have_their_remedies() {
    let models = models(&["one", "two", "three"]);
    let approach = approach(&models, Mode::Auto);
    let remedy = |attempts: &mut Attempts, rank, error: &LlmError| {
        attempts.remedy(&models, rank, &approach, error)
    };

    // A retry may help, as often as allowed, and then another model.
    let mut attempts = Attempts::new(2);
    for _ in 0..2 {
        let waits = remedy(&mut attempts, 0, &error(503));
        assert!(matches!(waits, Remedy::Wait(_)), "{waits:?}");
    }
    assert_eq!(remedy(&mut attempts, 0, &error(503)), Remedy::Another(1));
    assert_eq!(models.first(), Some(1), "the first one rests");

    // It would not help here.
    assert_eq!(remedy(&mut attempts, 1, &error(401)), Remedy::Another(2));

    // What one withheld is not asked of another.
    let filtered = error_of(LlmErrorKind::Filtered);
    assert_eq!(remedy(&mut attempts, 2, &filtered), Remedy::None);
    assert_eq!(models.first(), Some(2), "that is not its fault");
}

#[test]
fn a_resting_model_is_better_than_none() {
    let models = models(&["one", "two"]);
    let approach = approach(&models, Mode::Auto);
    models.get(1).unwrap().rest();
    let mut attempts = Attempts::new(0);
    let remedy = attempts.remedy(&models, 0, &approach, &error(401));
    assert_eq!(remedy, Remedy::Another(1));
    let remedy = attempts.remedy(&models, 1, &approach, &error(401));
    assert_eq!(remedy, Remedy::None);
}

#[test]
fn the_last_model_does_not_rest() {
    let models = models(&["one", "two"]);
    let approach = approach(&models, Mode::Auto);
    let mut attempts = Attempts::new(0);
    for rank in 0..2 {
        attempts.remedy(&models, rank, &approach, &error(503));
    }
    assert_eq!(models.first(), Some(1));
}

#[test]
fn a_long_pause_is_waited_for_only_without_another_model() {
    let pause = Duration::from_secs(20);
    let limited = error(429).retry_after(pause);
    for (names, expected) in [
        (&["one"][..], Remedy::Wait(pause)),
        (&["one", "two"], Remedy::Another(1)),
    ] {
        let models = models(names);
        let approach = approach(&models, Mode::Auto);
        let mut attempts = Attempts::new(2);
        let remedy = attempts.remedy(&models, 0, &approach, &limited);
        assert_eq!(remedy, expected, "{names:?}");
    }
}

#[test]
fn a_server_without_tools_is_asked_in_text_unless_the_mode_is_set() {
    let models = models(&["one"]);
    let no_tools = error_of(LlmErrorKind::NoTools);
    for (may_change, expected) in [(true, Remedy::Text), (false, Remedy::None)] {
        let approach = Approach {
            is_native: true,
            may_change,
            ..approach(&models, Mode::Auto)
        };
        let mut attempts = Attempts::new(2);
        let remedy = attempts.remedy(&models, 0, &approach, &no_tools);
        assert_eq!(remedy, expected);
    }
}

#[test]
fn what_turned_out_is_remembered() {
    let model = Model::new(Script::new(["Hi"])).name("one");
    let key = model.memory_key();
    let candidate = Candidate::new(model);
    let memory = InMemory::default();
    let before = candidate.cached_approach(None, Mode::Native, &memory);
    assert!(before.is_native);
    candidate.turn_to_text(Some("one"), &memory, "it takes no tools");
    let after = candidate.cached_approach(None, Mode::Auto, &memory);
    assert!(!after.is_native, "what was cached does not count any more");
    let found = key.and_then(|key| memory.recall(&key));
    if let Some(found) = found {
        assert_eq!(found.native_tools, Some(false));
    }
}

#[test]
fn a_reply_shows_whether_a_model_was_shown_its_tools() {
    let candidate = Candidate::new(Model::new(Script::new(["Hi"])));
    let read = |input_tokens| Completion {
        usage: Some(Usage {
            input_tokens,
            ..Usage::default()
        }),
        ..Completion::default()
    };
    let none = Reply::default();
    let tools = 400;
    let observed = |tokens| candidate.observe(&read(tokens), &none, tools);
    assert_eq!(observed(99), Finding::NotShown(99));
    assert_eq!(observed(100), Finding::Nothing);
    assert_eq!(observed(0), Finding::Nothing, "it was not counted");

    // Calls in the text twice in a row.
    let spec = ToolSpec::new("look", "Look", json!({"type": "object"}));
    let grammar = Grammar::builder().tools(Toolset::new([spec]).unwrap());
    let mut parser = Parser::new(&grammar.build().unwrap());
    let mut written = Reply::default();
    parser.push_to(
        "<tool_call>{\"name\": \"look\"}</tool_call>",
        &mut |event| written.absorb(event),
    );
    parser.finish_to(&mut |event| written.absorb(event));
    let plain = Completion::default();
    let called = Completion {
        calls: vec![NativeCall::default()],
        ..Completion::default()
    };
    assert_eq!(candidate.observe(&plain, &written, tools), Finding::Nothing);
    assert_eq!(
        candidate.observe(&called, &written, tools),
        Finding::Nothing
    );
    assert_eq!(candidate.observe(&plain, &written, tools), Finding::Nothing);
    let twice = candidate.observe(&plain, &written, tools);
    assert_eq!(twice, Finding::WritesCalls);
}

#[test]
fn a_dialect_that_was_chosen_has_to_be_there_and_the_best_one_need_not() {
    let tools = Toolset::default();
    let candidate = |model: Model| {
        let candidate = Candidate::new(model);
        candidate.approach(None, Mode::Text, &InMemory::default())
    };
    let teacher = Teacher::new(Registry::builtin(), None).unwrap();
    let model = || Model::new(Script::new(["Hi"]));
    let chosen = candidate(model().dialect("latin"));
    assert!(teacher.prompt(&chosen, &tools, &tools).is_err());
    let best = candidate(model().taught("latin"));
    let prompt = teacher.prompt(&best, &tools, &tools).unwrap();
    let taught = prompt.formatter.taught().unwrap();
    assert_eq!(taught.name(), "ptk");
    assert!(Teacher::new(Registry::builtin(), Some("latin".to_owned())).is_err());

    // One that is only read needs another formatter.
    let read_only = |dialect: &&std::sync::Arc<dyn Dialect>| dialect.writer().is_none();
    let registry = Registry::builtin();
    let name = registry.all().iter().find(read_only).unwrap().name();
    let teacher = Teacher::new(Registry::builtin(), Some(name.to_owned())).unwrap();
    assert!(teacher.default_formatter().is_err());
    let teacher = teacher.with_formatter(prompt.formatter);
    assert!(teacher.default_formatter().is_ok());
}
