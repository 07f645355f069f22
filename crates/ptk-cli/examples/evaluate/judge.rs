//! Judges a run, by the rules of `evals/README.md`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::requests::{Arguments, Expected, Order, Request, Step, WrittenFile};
use crate::run::{Call, Run};

/// The most results of a useful search; one with more found everything.
const MAX_FOUND: u64 = 30;
/// How tool results begin. A model that writes one itself has made it up.
const RESULT_MARKS: [&str; 7] = [
    "PTK_RESULT",
    "PTK_ERROR",
    "TOOL_RESULT",
    "TOOL_ERROR",
    "<tool_response>",
    "<function_results>",
    "<|tool_response|>",
];

/// What a run got right.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each of them is counted on its own"
)]
pub(crate) struct Verdict {
    pub(crate) is_first_call_right: bool,
    pub(crate) are_calls_right: bool,
    pub(crate) are_files_right: bool,
    pub(crate) is_answer_right: bool,
    /// The number of calls although none was expected.
    pub(crate) needless_calls: usize,
    /// Whether a result that the model made up was shown.
    pub(crate) is_result_forged: bool,
}

impl Verdict {
    /// Judges what a run did in the workspace at `root`.
    pub(crate) fn new(request: &Request, run: &Run, root: &Path) -> Self {
        let root_text = root.to_string_lossy();
        let judge = Judge {
            request,
            calls: &run.calls,
            root: &root_text,
        };
        let answer = run.answer.as_deref().unwrap_or_default();
        let needless_calls = match request.expected {
            Expected::NoCall => run.calls.len(),
            Expected::Steps { .. } => 0,
        };
        Self {
            is_first_call_right: judge.is_first_call_right(),
            are_calls_right: judge.are_calls_right(),
            are_files_right: request.writes.iter().all(|file| is_written(file, root)),
            is_answer_right: is_answer_right(request, answer),
            needless_calls,
            is_result_forged: has_result_mark(&run.shown) || has_result_mark(answer),
        }
    }

    /// Whether the request is done.
    pub(crate) const fn is_done(&self) -> bool {
        self.are_calls_right && self.are_files_right && self.is_answer_right
    }
}

/// Judges the calls of a run.
struct Judge<'a> {
    request: &'a Request,
    calls: &'a [Call],
    /// The absolute path of the workspace.
    root: &'a str,
}

impl Judge<'_> {
    fn is_first_call_right(&self) -> bool {
        let (steps, order) = match &self.request.expected {
            Expected::NoCall => return self.calls.is_empty(),
            Expected::Steps { steps, order } => (steps, order),
        };
        let Some(first) = self.calls.first() else {
            return false;
        };
        // The steps that may come first: any, or those up to the first required
        // one.
        let needed = steps.iter().position(|step| !step.is_optional);
        let may_begin = match (order, needed) {
            (Order::InOrder, Some(needed)) => needed + 1,
            (Order::InOrder, None) | (Order::Any, _) => steps.len(),
        };
        let mut beginnings = steps.iter().take(may_begin);
        beginnings.any(|step| self.fits(step, first))
    }

    fn are_calls_right(&self) -> bool {
        match &self.request.expected {
            Expected::NoCall => self.calls.is_empty(),
            Expected::Steps { steps, order } => {
                self.are_steps_taken(steps, *order) && !self.writes_elsewhere()
            }
        }
    }

    fn are_steps_taken(&self, steps: &[Step], order: Order) -> bool {
        // The earliest call that fits leaves the most calls for the next step.
        let mut earliest = 0;
        steps.iter().filter(|step| !step.is_optional).all(|step| {
            let mut calls = self.calls.iter().skip(earliest);
            let Some(found) = calls.position(|call| self.fits(step, call)) else {
                return false;
            };
            if order == Order::InOrder {
                earliest += found;
            }
            true
        })
    }

    /// Whether a file is written that was not requested.
    fn writes_elsewhere(&self) -> bool {
        let mut writes = self.calls.iter().filter(|call| call.tool == "write_file");
        writes.any(|call| {
            let path = argument(call, "path").and_then(Value::as_str);
            let path = plain_path(path.unwrap_or_default(), self.root);
            let mut wanted = self.request.writes.iter();
            !wanted.any(|file| plain_path(&file.path, self.root) == path)
        })
    }

    fn fits(&self, step: &Step, call: &Call) -> bool {
        let mut alternatives = step.alternatives.iter();
        alternatives.any(|alternative| {
            let has_arguments = |table: &Arguments| self.has_arguments(call, table);
            alternative.tool == call.tool
                && (alternative.calls.iter().any(has_arguments)
                    || gives(&call.result, &alternative.gives))
        })
    }

    /// Whether the arguments of a call match a table.
    fn has_arguments(&self, call: &Call, table: &Arguments) -> bool {
        table.iter().all(|(name, wanted)| {
            let is_path = name == "path" || name == "directory";
            let left_out = Value::from(if is_path { "." } else { "" });
            let given = argument(call, name).unwrap_or(&left_out);
            let is_same = |wanted: &Value| match (wanted.as_str(), given.as_str()) {
                (Some(wanted), Some(given)) if is_path => {
                    plain_path(wanted, self.root) == plain_path(given, self.root)
                }
                _ => wanted == given,
            };
            match wanted {
                Value::Array(choices) => choices.iter().any(is_same),
                wanted => is_same(wanted),
            }
        })
    }
}

/// An argument, by any of its names. Null counts as missing.
fn argument<'a>(call: &'a Call, name: &str) -> Option<&'a Value> {
    let given = call.arguments.get(name).or_else(|| {
        let mut others = other_names(&call.tool, name).iter();
        others.find_map(|other| call.arguments.get(*other))
    });
    given.filter(|value| !value.is_null())
}

/// The other names of a parameter that the tools accept.
fn other_names(tool: &str, name: &str) -> &'static [&'static str] {
    match (tool, name) {
        ("read_file" | "write_file", "path") => &["file_path", "filename", "file"],
        ("list_files", "directory") => &["path", "dir", "folder"],
        ("grep", "glob") => &["include"],
        _ => &[],
    }
}

/// Normalises a path: without the workspace's own path, a leading `./` and a
/// trailing `/`.
fn plain_path<'a>(path: &'a str, root: &str) -> &'a str {
    let inside = path.strip_prefix(root);
    let inside = inside.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = inside.map_or(path, |rest| rest.trim_start_matches('/'));
    let path = path.trim_start_matches("./");
    match path.trim_end_matches('/') {
        // The root of the file system is not the workspace.
        "" if !path.is_empty() => path,
        "" => ".",
        path => path,
    }
}

/// Whether a result contains all these strings.
fn gives(result: &Value, strings: &[String]) -> bool {
    let count = result.get("count").and_then(Value::as_u64);
    if strings.is_empty() || count.is_some_and(|count| count > MAX_FOUND) {
        return false;
    }
    let mut texts = Vec::new();
    collect_texts(result, &mut texts);
    strings.iter().all(|wanted| {
        let wanted = plain(wanted);
        texts.iter().any(|text| has_words(text, &wanted))
    })
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(plain(text)),
        Value::Array(items) => {
            for item in items {
                collect_texts(item, texts);
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                collect_texts(field, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_written(file: &WrittenFile, root: &Path) -> bool {
    let content = fs::read_to_string(root.join(&file.path));
    content.is_ok_and(|content| content.trim() == file.content.trim())
}

fn is_answer_right(request: &Request, answer: &str) -> bool {
    let answer = plain(answer);
    let says = |text: &String| has_words(&answer, &plain(text));
    let mut lists = request.answer.iter();
    let is_said = request.answer.is_empty() || lists.any(|list| list.iter().all(says));
    !answer.is_empty() && is_said && !request.answer_not.iter().any(says)
}

/// The text in lower case, with single spaces and `'` for `’`.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('’', "'").to_lowercase()
}

/// Whether a text contains these words as whole words. Both are [`plain`].
fn has_words(text: &str, words: &str) -> bool {
    text.char_indices().any(|(at, _)| {
        let (before, from) = text.split_at(at);
        from.strip_prefix(words).is_some_and(|after| {
            is_edge(words.chars().next(), before.chars().next_back())
                && is_edge(words.chars().next_back(), after.chars().next())
        })
    })
}

/// Whether there is a word boundary between two characters.
fn is_edge(inside: Option<char>, outside: Option<char>) -> bool {
    let needs_no_gap = |character: Option<char>| character.is_some_and(is_chinese_or_japanese);
    !outside.is_some_and(char::is_alphanumeric) || needs_no_gap(inside) || needs_no_gap(outside)
}

/// Whether a character belongs to a script without spaces between words.
const fn is_chinese_or_japanese(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a line begins like a tool result.
fn has_result_mark(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        RESULT_MARKS.iter().any(|mark| line.starts_with(*mark))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOT: &str = "/tmp/ptk-no-such-workspace";

    fn request(fields: &str) -> Request {
        let head = r#"
id = "t-single-01"
kind = "single"
language = "en"
workspace = "w"
ask = "?"
"#;
        let answer = if fields.contains("answer = ") {
            ""
        } else {
            "answer = []\n"
        };
        toml::from_str(&format!("{head}{answer}{fields}")).unwrap()
    }

    fn call(tool: &str, arguments: Value) -> Call {
        call_giving(tool, arguments, Value::Null)
    }

    fn call_giving(tool: &str, arguments: Value, result: Value) -> Call {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        Call {
            id: String::new(),
            tool: tool.to_owned(),
            arguments,
            result,
        }
    }

    fn run(calls: Vec<Call>, answer: &str) -> Run {
        Run {
            calls,
            answer: Some(answer.to_owned()),
            ..Run::default()
        }
    }

    /// Judges the first call and all calls.
    fn judged(request: &Request, calls: Vec<Call>) -> (bool, bool) {
        let verdict = Verdict::new(request, &run(calls, "Done."), Path::new(ROOT));
        (verdict.is_first_call_right, verdict.are_calls_right)
    }

    fn says(fields: &str, answer: &str) -> bool {
        let request = request(&format!("tool = \"none\"\n{fields}"));
        is_answer_right(&request, answer)
    }

    #[test]
    fn words_are_found_whole_only() {
        assert!(says("answer = [[\"20\"]]", "It is 20."));
        assert!(!says("answer = [[\"20\"]]", "It was in 2025."));
        assert!(!says("answer = [[\"20\"]]", "It was 120."));
        assert!(says("answer = [[\"main.rs\"]]", "See `src/main.rs`!"));
        assert!(says("answer = [[\"1 1\"]]", "x1 1 1"));
        assert!(says("answer = [[\"crème\"]]", "(Crème)"));
    }

    #[test]
    fn chinese_and_japanese_need_no_gap() {
        assert!(says("answer = [[\"85\"]]", "有85个座位"));
        assert!(!says("answer = [[\"85\"]]", "有185个座位"));
        assert!(says("answer = [[\"八十五\"]]", "共八十五个"));
        assert!(says("answer = [[\"座位\"]]", "85座位a"));
        assert!(says("answer = [[\"10\"]]", "は10です"));
        assert!(!says("answer = [[\"10\"]]", "\u{1ed1}10"));
    }

    #[test]
    fn capitals_white_space_and_the_apostrophe_do_not_count() {
        assert!(says(
            "answer = [[\"doesn't exist\"]]",
            "The file DOESN’T\n exist."
        ));
        assert!(says("answer = [[\"it’s here\"]]", "it's\u{a0}here"));
    }

    #[test]
    fn an_answer_holds_all_of_one_list_and_nothing_that_it_must_not() {
        let fields = "answer = [[\"a\", \"b\"], [\"c\"]]\nanswer_not = [\"d\"]";
        assert!(says(fields, "b and a"));
        assert!(says(fields, "c"));
        assert!(!says(fields, "a"));
        assert!(!says(fields, "c, not d"));
        assert!(says("answer = []", "Hello!"));
        assert!(!says("answer = []", " \n"));
        assert!(!says("answer = []\nanswer_not = [\"hello\"]", "Hello!"));
    }

    #[test]
    fn where_nothing_is_to_be_called_every_call_is_needless() {
        let request = request("tool = \"none\"");
        assert_eq!(judged(&request, Vec::new()), (true, true));
        let calls = vec![call("glob", json!({})), call("glob", json!({}))];
        assert_eq!(judged(&request, calls), (false, false));
        let calls = vec![call("glob", json!({})), call("glob", json!({}))];
        let verdict = Verdict::new(&request, &run(calls, "Hi."), Path::new(ROOT));
        assert_eq!(verdict.needless_calls, 2);
        assert!(verdict.is_answer_right && !verdict.is_done());
    }

    #[test]
    fn arguments_fit_a_table_however_a_path_is_written() {
        let fields = "tool = \"read_file\"\ncalls = [{ path = \"src/a.rs\" }]";
        let request = request(fields);
        let absolute = format!("{ROOT}/src/a.rs");
        for path in ["src/a.rs", "./src/a.rs", "src/a.rs/", absolute.as_str()] {
            let right = call("read_file", json!({"path": path, "limit": 9}));
            assert_eq!(judged(&request, vec![right]), (true, true), "{path}");
        }
        for path in ["a.rs", "/src/a.rs", "../src/a.rs", "src//a.rs", "SRC/a.rs"] {
            let wrong = call("read_file", json!({"path": path}));
            assert_eq!(judged(&request, vec![wrong]), (false, false), "{path}");
        }
        let other_tool = call("grep", json!({"path": "src/a.rs"}));
        assert_eq!(judged(&request, vec![other_tool]), (false, false));
        assert_eq!(judged(&request, Vec::new()), (false, false));
    }

    #[test]
    fn arguments_count_under_the_names_of_the_tool() {
        let read = request("tool = \"read_file\"\ncalls = [{ path = \"a\" }]");
        let list = request("tool = \"list_files\"\ncalls = [{ directory = \"a\" }]");
        let fits = |request: &Request, tool: &str, arguments: Value| {
            judged(request, vec![call(tool, arguments)]) == (true, true)
        };
        assert!(fits(&read, "read_file", json!({"file_path": "a"})));
        assert!(fits(&list, "list_files", json!({"folder": "a"})));
        assert!(fits(&list, "list_files", json!({"path": "a"})));
        assert!(!fits(
            &read,
            "read_file",
            json!({"path": "b", "file_path": "a"})
        ));
    }

    #[test]
    fn an_argument_that_is_left_out_counts_as_empty_or_as_the_workspace() {
        let fields = r#"
tool = "list_files"
calls = [{ directory = ".", pattern = ["", "*"] }]
also = [{ tool = "grep", calls = [{ pattern = "a", case_sensitive = false, context = 3 }] }]
"#;
        let request = request(fields);
        let fits = |tool: &str, arguments: Value| judged(&request, vec![call(tool, arguments)]).1;
        assert!(fits("list_files", json!({})));
        assert!(fits("list_files", json!({"directory": null})));
        assert!(fits(
            "list_files",
            json!({"directory": "./", "pattern": "*"})
        ));
        assert!(fits("list_files", json!({"directory": ROOT})));
        assert!(!fits("list_files", json!({"directory": "/"})));
        assert!(!fits("list_files", json!({"pattern": "*.rs"})));
        assert!(fits(
            "grep",
            json!({"pattern": "a", "case_sensitive": false, "context": 3})
        ));
        assert!(!fits("grep", json!({"pattern": "a", "context": 3})));
    }

    #[test]
    fn a_result_shows_that_a_call_found_what_was_asked_for() {
        let fields = "tool = \"grep\"\ngives = [\"src/a.rs\", \"fn main\"]";
        let request = request(fields);
        let fits = |result: Value| {
            let call = call_giving("grep", json!({"pattern": "x"}), result);
            judged(&request, vec![call]).1
        };
        let matches = json!(["src/a.rs:1:fn  main() {"]);
        assert!(fits(json!({"matches": matches, "count": 1})));
        assert!(fits(json!({"matches": matches, "count": 30})));
        assert!(!fits(json!({"matches": matches, "count": 31})));
        assert!(!fits(json!({"matches": ["src/a.rs:1:fn mainly"]})));
        assert!(!fits(json!({"matches": ["src/a.rs", "fn", "main"]})));
        assert!(!fits(Value::Null));
    }

    const CHAIN: &str = r#"
order = "in_order"
steps = [
  { tool = "list_files", calls = [{ directory = "d" }], optional = true },
  { tool = "read_file", calls = [{ path = "a" }] },
  { tool = "read_file", calls = [{ path = "b" }], also = [{ tool = "grep", calls = [{ pattern = "x" }] }] },
]
"#;

    fn list() -> Call {
        call("list_files", json!({"directory": "d"}))
    }

    fn reading(path: &str) -> Call {
        call("read_file", json!({"path": path}))
    }

    #[test]
    fn steps_in_order_are_taken_one_after_the_other() {
        let chain = request(CHAIN);
        let search = || call("grep", json!({"pattern": "x"}));
        let cases = [
            (vec![list(), reading("a"), reading("b")], (true, true)),
            (vec![reading("a"), reading("b")], (true, true)),
            (vec![reading("a"), list(), search()], (true, true)),
            (vec![reading("b"), reading("a")], (false, false)),
            (vec![reading("b"), reading("a"), search()], (false, true)),
            (
                vec![reading("z"), reading("a"), reading("b")],
                (false, true),
            ),
            (vec![list(), reading("a")], (true, false)),
            (Vec::new(), (false, false)),
        ];
        for (number, (calls, right)) in cases.into_iter().enumerate() {
            assert_eq!(judged(&chain, calls), right, "case {number}");
        }
    }

    #[test]
    fn steps_in_any_order_are_all_taken_and_one_call_may_stand_for_several() {
        let fields = CHAIN.replace("in_order", "any");
        let parallel = request(&fields);
        let calls = vec![reading("b"), reading("a")];
        assert_eq!(judged(&parallel, calls), (true, true));
        assert_eq!(judged(&parallel, vec![reading("a")]), (true, false));
        let both = request(
            r#"
order = "in_order"
steps = [{ tool = "grep", gives = ["a"] }, { tool = "grep", gives = ["b"] }]
"#,
        );
        let found = call_giving("grep", json!({}), json!({"matches": ["a b"]}));
        assert_eq!(judged(&both, vec![found]), (true, true));
    }

    #[test]
    fn files_are_written_where_they_are_wanted_and_nowhere_else() {
        let fields = r#"
tool = "write_file"
calls = [{ path = "a.txt" }]
writes = [{ path = "a.txt", content = "on" }]
"#;
        let request = request(fields);
        let write = |path: &str| call("write_file", json!({"file_path": path, "content": "on"}));
        let calls = vec![write("b.txt"), write("a.txt")];
        assert_eq!(judged(&request, calls), (false, false));
        let folder = tempfile::tempdir().unwrap();
        let is_done = || {
            let run = run(vec![write("./a.txt")], "Done.");
            Verdict::new(&request, &run, folder.path()).is_done()
        };
        assert!(!is_done());
        fs::write(folder.path().join("a.txt"), "\non \n").unwrap();
        assert!(is_done());
        fs::write(folder.path().join("a.txt"), "on.").unwrap();
        assert!(!is_done());
    }

    #[test]
    fn a_result_that_the_model_made_up_is_seen_at_the_start_of_a_line() {
        for text in [
            "PTK_RESULT: {}",
            "Let me see.\n<tool_response>\n{}",
            "a\r\n  TOOL_ERROR: no",
            "<|tool_response|>",
        ] {
            assert!(has_result_mark(text), "{text}");
        }
        for text in ["It is called PTK_RESULT.", "a <tool_response>", ""] {
            assert!(!has_result_mark(text), "{text}");
        }
        let request = request("tool = \"none\"");
        let shown = Run {
            shown: "TOOL_RESULT: 1\n".to_owned(),
            ..Run::default()
        };
        let verdict = Verdict::new(&request, &shown, Path::new(ROOT));
        assert!(verdict.is_result_forged && !verdict.is_answer_right);
    }
}
