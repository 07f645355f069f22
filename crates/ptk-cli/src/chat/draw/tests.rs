//! Tests of the screen, as it is drawn from events.

use std::time::{Duration, Instant, SystemTime};

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ptk::ContextUse;
use ptk::events::{
    Channel, Correlation, Event, EventKind, MessagePart, OutputStream, RequestId, RunMetadata,
};
use ptk::protocol::{ErrorType, ToolResult};
use ptk::sandbox::Workspace;
use ptk::tools::{
    CallContext, Decision, Effects, Registry, ToolError, ToolManager, Typed, TypedTool,
};
use ptk::view::Conversation;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::super::app::{Action, App};
use super::super::command::ChatCommand;
use super::super::complete::Files;
use super::super::overlay::{Entry, Overlay};
use super::{Light, draw};
use crate::ask::{Pending, PendingQuestion};
use crate::question::{Kind, Question};

/// Long enough for the user to have read a question.
const LATER: Duration = Duration::from_secs(10);

/// A chat whose clock does not move.
struct Stage {
    app: App,
    now: Instant,
    time: SystemTime,
    request: RequestId,
    width: u16,
    height: u16,
}

impl Stage {
    fn new(width: u16, height: u16) -> Self {
        let now = Instant::now();
        let mut app = App::new(Conversation::new(), Files::new("/nowhere".into()), &[]);
        "script".clone_into(&mut app.status.model);
        "~/demo".clone_into(&mut app.status.workspace);
        Self {
            app,
            now,
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(1000),
            request: RequestId::new(),
            width,
            height,
        }
    }

    fn happens(&mut self, kind: EventKind) {
        self.happens_to(None, kind);
    }

    fn happens_to(&mut self, call: Option<&str>, kind: EventKind) {
        let mut of = Correlation::of_request(self.request);
        if let Some(call) = call {
            of = of.with_call(call);
        }
        let mut event = Event::new(of, Channel::Realtime, kind);
        event.ts = self.time;
        self.app.conversation.event(&event);
    }

    fn prompt(&mut self, text: &str) {
        let prompt = text.to_owned();
        self.happens(EventKind::TurnBegan { prompt });
        self.app.busy_since = Some(self.time);
    }

    fn says(&mut self, text: &str) {
        self.happens(EventKind::MessageChunk {
            part: MessagePart::Text,
            chunk: text.to_owned(),
        });
    }

    fn answers(&mut self, text: &str) {
        self.says(text);
        self.happens(EventKind::Iteration {
            iteration: 1,
            call_type: "text".to_owned(),
        });
        self.happens(EventKind::ReceiveMessage {
            message: text.to_owned(),
            metadata: RunMetadata::default(),
        });
        self.app.busy_since = None;
    }

    fn begins(&mut self, id: &str, tool: &str, arguments: &Value) {
        self.happens_to(
            Some(id),
            EventKind::ToolCallRequested {
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                reasoning: Some("To know what is in it.".to_owned()),
                repairs: Vec::new(),
            },
        );
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        self.happens_to(Some(id), EventKind::ToolCallStart { tool, arguments });
    }

    fn writes(&mut self, id: &str, chunk: &str) {
        let (stream, chunk) = (OutputStream::Stdout, chunk.to_owned());
        self.happens_to(Some(id), EventKind::ToolOutputChunk { stream, chunk });
    }

    fn ends(&mut self, id: &str, tool: &str, result: ToolResult) {
        self.happens_to(
            Some(id),
            EventKind::ToolCallEnd {
                tool: tool.to_owned(),
                success: result.success,
                duration_ms: 1234,
                result,
            },
        );
    }

    fn asks(&mut self, question: Question) -> oneshot::Receiver<Decision> {
        let (asked, answered) = Pending::new(question);
        self.app.ask(PendingQuestion::Call(asked));
        self.screen();
        answered
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        let key = Input::Key(KeyEvent::new(code, modifiers));
        self.app.input(&key, self.now)
    }

    fn key(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::NONE)
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    /// Lets time pass, and with it what waits for it.
    fn waits(&mut self) {
        self.now += LATER;
        self.app.settle(self.now);
    }

    fn buffer(&mut self, is_coloured: bool) -> ratatui::buffer::Buffer {
        self.buffer_with(is_coloured, None)
    }

    fn buffer_with(
        &mut self,
        is_coloured: bool,
        tools: Option<&ToolManager>,
    ) -> ratatui::buffer::Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.width, self.height)).unwrap();
        let light = Light {
            now: self.time + Duration::from_millis(3200),
            is_coloured,
            tools,
        };
        terminal
            .draw(|frame| draw(frame, &mut self.app, &light))
            .unwrap();
        self.app.drawn(self.now);
        terminal.backend().buffer().clone()
    }

    /// The screen as text.
    fn screen(&mut self) -> String {
        let buffer = self.buffer(true);
        words(&buffer)
    }
}

fn words(buffer: &ratatui::buffer::Buffer) -> String {
    let mut lines = Vec::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character takes two cells.
            let wide = unicode_width::UnicodeWidthStr::width(symbol).max(1);
            x += u16::try_from(wide).unwrap();
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

fn write_question() -> Question {
    Question {
        kind: Kind::Call,
        tool: "edit".to_owned(),
        purpose: "write src/main.rs".to_owned(),
        body: "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    hi();\n+    hello();\n }".to_owned(),
        folder: None,
        warnings: vec!["It is not saved anywhere else.".to_owned()],
        remarks: Vec::new(),
        rules: "edit(src/**)".to_owned(),
        is_edit: true,
        is_unprotected: false,
    }
}

fn read(content: &str) -> ToolResult {
    ToolResult::success([("content", json!(content))])
}

#[test]
fn nothing_was_said_yet() {
    insta::assert_snapshot!(Stage::new(60, 8).screen());
}

#[test]
fn an_answer_comes_in() {
    let mut stage = Stage::new(60, 16);
    stage.prompt("Đọc file package.json");
    stage.says("# Package\n\nIt is **demo**, and:\n\n```rust\nfn ma");
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn calls_run_side_by_side() {
    let mut stage = Stage::new(70, 16);
    stage.prompt("Look at everything.");
    stage.says("Let me look.");
    stage.begins("a", "read_file", &json!({"path": "src/main.rs"}));
    stage.begins(
        "b",
        "bash",
        &json!({"command": "cargo test --workspace --all-features"}),
    );
    stage.begins("c", "grep", &json!({"pattern": "fn main"}));
    stage.writes("b", "running 3 tests\ntest one ... ok\n");
    stage.ends("a", "read_file", read("fn main() {}\n"));
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn a_call_opens() {
    let mut stage = Stage::new(60, 20);
    stage.prompt("Run it.");
    stage.begins("b", "bash", &json!({"command": "make", "timeout": 30}));
    for number in 0..50 {
        stage.writes("b", &format!("line {number}\n"));
    }
    stage.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let running = stage.screen();
    stage.ends(
        "b",
        "bash",
        ToolResult::success([("output", json!("all\nwell\n"))]),
    );
    let ended = stage.screen();
    stage.press(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let closed = stage.screen();
    insta::assert_snapshot!(format!("{running}\n=====\n{ended}\n=====\n{closed}"));
}

#[test]
fn a_failure_is_said_where_it_happens() {
    let mut stage = Stage::new(70, 14);
    stage.prompt("Read it.");
    stage.begins("a", "read_file", &json!({"path": "missing.txt"}));
    let result = ToolResult::failure(ErrorType::UserError, "File not found: missing.txt")
        .with_suggestion("Use list_files to see which files there are.");
    stage.ends("a", "read_file", result);
    stage.happens(EventKind::Error {
        tool: None,
        message: "The model gave no reply: 401, the key is not valid; set OPENAI_API_KEY"
            .to_owned(),
        error_type: None,
    });
    stage.app.busy_since = None;
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn a_question_is_asked_in_place() {
    let mut stage = Stage::new(80, 24);
    stage.prompt("Say hello.");
    stage.begins("a", "edit", &json!({"path": "src/main.rs"}));
    stage.happens_to(
        Some("a"),
        EventKind::ToolCallHeld {
            tool: "edit".to_owned(),
        },
    );
    let mut answered = stage.asks(write_question());
    insta::assert_snapshot!(stage.screen());
    stage.now += LATER;
    stage.key(KeyCode::Char('a'));
    assert!(answered.try_recv().is_err(), "more may be typed");
    stage.waits();
    assert_eq!(answered.try_recv().unwrap(), Decision::AllowAlways);
    assert!(stage.app.questions.is_empty());
}

#[test]
fn a_no_can_have_a_word_to_the_model() {
    let mut stage = Stage::new(80, 24);
    let mut answered = stage.asks(write_question());
    stage.now += LATER;
    stage.types("wwrong");
    stage.key(KeyCode::Esc);
    stage.types("wuse the other file");
    insta::assert_snapshot!(stage.screen());
    stage.key(KeyCode::Enter);
    let Decision::Deny(word) = answered.try_recv().unwrap() else {
        panic!("it was not denied");
    };
    assert_eq!(word, "the user said no: use the other file");
    assert_eq!(stage.app.to_keep, [""; 0], "a reason is not a prompt");
}

#[test]
fn one_key_answers() {
    for (letter, decision) in [
        ('y', Decision::Allow),
        ('s', Decision::AllowForSession),
        ('e', Decision::AllowEdits),
        ('a', Decision::AllowAlways),
    ] {
        let mut stage = Stage::new(80, 24);
        let mut answered = stage.asks(write_question());
        stage.waits();
        stage.key(KeyCode::Char(letter));
        stage.waits();
        assert_eq!(answered.try_recv().unwrap(), decision);
        assert!(stage.app.editor.is_empty());
    }
    // Arrows only select: Enter confirms.
    let mut stage = Stage::new(80, 24);
    let mut answered = stage.asks(write_question());
    stage.waits();
    stage.key(KeyCode::Right);
    stage.key(KeyCode::Right);
    stage.waits();
    assert!(answered.try_recv().is_err());
    stage.key(KeyCode::Enter);
    assert_eq!(answered.try_recv().unwrap(), Decision::AllowForSession);
    // What is not an edit has no such answer.
    let mut stage = Stage::new(80, 24);
    let question = Question {
        is_edit: false,
        ..write_question()
    };
    let mut answered = stage.asks(question);
    assert!(!stage.screen().contains("all edits"));
    stage.waits();
    stage.types("e");
    stage.waits();
    assert!(answered.try_recv().is_err());
    assert_eq!(stage.app.editor.text(), "e");
}

/// Text typed for the model does not answer a question that was not read yet.
#[test]
fn typing_is_no_answer() {
    let mut stage = Stage::new(80, 24);
    let mut answered = stage.asks(write_question());
    stage.types("yes");
    assert_eq!(stage.app.editor.text(), "yes");
    assert!(answered.try_recv().is_err());
    // Later, a letter selects an answer; typing on writes text.
    let mut stage = Stage::new(80, 24);
    let mut answered = stage.asks(write_question());
    stage.now += LATER;
    stage.types("also");
    assert_eq!(stage.app.editor.text(), "also");
    assert!(answered.try_recv().is_err());
    // A user who was typing goes on typing, and reaches the question by Tab.
    let mut stage = Stage::new(80, 24);
    stage.types("some");
    let mut answered = stage.asks(write_question());
    stage.now += LATER;
    stage.types("y");
    assert_eq!(stage.app.editor.text(), "somey");
    stage.key(KeyCode::Tab);
    stage.types("y");
    stage.key(KeyCode::Enter);
    assert_eq!(answered.try_recv().unwrap(), Decision::Allow);
}

/// Nor do keys answer it while an overlay covers it, while none of it is
/// visible, or with modifiers.
#[test]
fn only_what_is_seen_is_answered() {
    let mut stage = Stage::new(80, 24);
    stage.app.overlay = Some(Overlay::page("Help", "text"));
    let mut answered = stage.asks(write_question());
    stage.now += LATER;
    stage.key(KeyCode::Esc);
    stage.screen();
    stage.key(KeyCode::Char('a'));
    stage.key(KeyCode::Enter);
    assert!(answered.try_recv().is_err());
    for (width, height) in [(80, 3), (20, 4), (6, 5)] {
        let mut stage = Stage::new(width, height);
        let mut answered = stage.asks(write_question());
        stage.now += LATER;
        let screen = stage.screen();
        stage.types("y");
        stage.key(KeyCode::Enter);
        let is_seen = screen.contains("@@") || screen.contains("---");
        assert_eq!(
            answered.try_recv().is_ok(),
            is_seen,
            "{width}x{height}:\n{screen}"
        );
    }
    let mut stage = Stage::new(80, 24);
    let mut answered = stage.asks(write_question());
    stage.now += LATER;
    stage.press(KeyCode::Char('a'), KeyModifiers::CONTROL);
    assert_eq!(stage.app.questions.picked(), None);
    stage.types("y");
    stage.press(KeyCode::Enter, KeyModifiers::ALT);
    assert!(answered.try_recv().is_err());
    // A second question is not answered by a key meant for the first.
    let mut second = stage.asks(write_question());
    stage.key(KeyCode::Enter);
    assert_eq!(answered.try_recv().unwrap(), Decision::Allow);
    stage.screen();
    stage.types("y");
    stage.key(KeyCode::Enter);
    assert!(second.try_recv().is_err());
    assert!(stage.app.editor.is_empty() && stage.app.queue.is_empty());
}

/// Every line of a question can be seen, including the last one.
#[test]
fn a_long_question_can_be_read_to_its_end() {
    let mut stage = Stage::new(80, 24);
    let mut question = write_question();
    let lines: Vec<String> = (1..=300).map(|number| format!("+line {number}")).collect();
    question.body = format!("@@ -0,0 +1,300 @@\n{}\n+THE LAST LINE", lines.join("\n"));
    let _answered = stage.asks(question);
    let first = stage.screen();
    assert!(first.contains("of 302, ↑↓"), "{first}");
    assert!(first.contains("+line 1\n"), "{first}");
    stage.key(KeyCode::PageDown);
    assert!(!stage.screen().contains("+line 1\n"));
    stage.key(KeyCode::End);
    let last = stage.screen();
    assert!(last.contains("+THE LAST LINE"), "{last}");
    assert!(last.contains("to 302 of 302"), "{last}");
}

#[test]
fn a_question_that_nobody_asks_any_more_goes_away() {
    let mut stage = Stage::new(80, 24);
    drop(stage.asks(write_question()));
    assert!(stage.app.forget_gone());
    assert!(!stage.screen().contains("wants to"));
}

#[test]
fn long_output_can_be_moved_through() {
    let mut stage = Stage::new(50, 12);
    stage.prompt("Count.");
    let lines: Vec<String> = (1..=100).map(|number| format!("- item {number}")).collect();
    stage.answers(&lines.join("\n"));
    let end = stage.screen();
    assert!(end.contains("item 100"), "{end}");
    stage.key(KeyCode::PageUp);
    let above = stage.screen();
    assert!(
        above.contains("item 90") && !above.contains("item 100"),
        "{above}"
    );
    assert!(above.contains("↓ "), "{above}");
    // New lines below do not move the visible ones.
    stage.prompt("Again.");
    stage.says("More.");
    let still = stage.screen();
    let first = |screen: &str| screen.lines().next().map(str::to_owned);
    assert_eq!(first(&still), first(&above));
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(stage.screen().contains("More."));
    stage.press(KeyCode::Home, KeyModifiers::CONTROL);
    assert!(stage.screen().starts_with("› Count."));
}

#[test]
fn words_are_found() {
    let mut stage = Stage::new(50, 10);
    stage.prompt("Count.");
    let lines: Vec<String> = (1..=100).map(|number| format!("- item {number}")).collect();
    stage.answers(&lines.join("\n"));
    stage.screen();
    stage.press(KeyCode::Char('f'), KeyModifiers::CONTROL);
    stage.types("ITEM 4");
    let found = stage.screen();
    assert!(found.contains("find: ITEM 4▏ 11 of 11"), "{found}");
    assert!(found.contains("item 49"), "{found}");
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("10 of 11"));
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("find:"));
}

#[test]
fn it_fits_a_narrow_terminal() {
    for (width, height) in [(20, 6), (12, 4), (3, 3), (1, 1), (80, 24), (200, 50)] {
        let mut stage = Stage::new(width, height);
        stage.prompt("Đọc file package.json và 日本語");
        stage.begins("a", "read_file", &json!({"path": "日本語/ệ.txt"}));
        stage.says("ok");
        stage.types("Tiếng Việt, 日本語, 👨‍👩‍👧");
        let _asked = stage.asks(write_question());
        stage.screen();
        stage.app.overlay = Some(Overlay::page("Help", "| a | b |\n|---|---|\n| c | d |"));
        stage.screen();
    }
    let mut stage = Stage::new(24, 10);
    stage.prompt("Read the package file please");
    stage.begins(
        "a",
        "read_file",
        &json!({"path": "a/long/path/package.json"}),
    );
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn wide_and_composed_characters_keep_their_places() {
    let mut stage = Stage::new(40, 14);
    stage.prompt("日本語のファイルを読んでください。長い文章も折り返します。");
    stage.answers("Tệp `cấu_hình.json` có **phiên bản** 1.0.0. Cần gì nữa không? 파일도 읽었어요.");
    stage.types("Cảm ơn 謝謝");
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn files_and_commands_are_offered() {
    let mut stage = Stage::new(70, 12);
    stage.types("/re");
    insta::assert_snapshot!(stage.screen());
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "/rename ");
    stage.types("A title");
    let done = stage.key(KeyCode::Enter);
    assert_eq!(
        done,
        [Action::Do(ChatCommand::Rename("A title".to_owned()))]
    );
    stage.types("/forc");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(
        stage.screen().contains("did you mean /fork?"),
        "{}",
        stage.screen()
    );
}

#[test]
fn files_are_offered_as_soon_as_they_are_found() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    let mut stage = Stage::new(70, 12);
    stage.app.files = Files::new(folder.path().to_owned());
    stage.types("Read @");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(stage.app.files.found());
    stage.app.files_found();
    assert!(
        stage.screen().contains("  @notes.txt"),
        "{}",
        stage.screen()
    );
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "Read @notes.txt ");
    stage.app.files_found();
    assert!(stage.app.offer.is_none());
}

#[test]
fn prompts_of_earlier_chats_come_back() {
    let mut stage = Stage::new(60, 12);
    let earlier = ["first".to_owned(), "second".to_owned()];
    stage.app = App::new(Conversation::new(), Files::new("/nowhere".into()), &earlier);
    stage.types("third");
    stage.key(KeyCode::Enter);
    stage.types(" not to be kept");
    stage.key(KeyCode::Enter);
    stage.types("!make");
    stage.key(KeyCode::Enter);
    assert_eq!(stage.app.to_keep, ["third", "!make"]);
    for expected in ["!make", " not to be kept", "third", "second", "first"] {
        stage.key(KeyCode::Up);
        assert_eq!(stage.app.editor.text(), expected);
    }
}

#[test]
fn the_status_line_tells_how_full_the_context_is() {
    let mut stage = Stage::new(110, 6);
    let mut used = ContextUse::default();
    used.window = Some(8000);
    (used.reply, used.margin) = (1000, 200);
    (used.instructions, used.people) = (1000, 1800);
    stage.app.status.context = Some(used);
    let screen = stage.screen();
    assert!(
        screen.contains("script · 2.8K tokens, 50% left · ~/demo"),
        "{screen}"
    );
    if let Some(context) = &mut stage.app.status.context {
        context.window = None;
    }
    let screen = stage.screen();
    assert!(screen.contains("script · 2.8K tokens · ~/demo"), "{screen}");
}

#[test]
fn the_prompt_is_opened_in_another_editor() {
    let mut stage = Stage::new(60, 12);
    stage.types("draft");
    let done = stage.press(KeyCode::Char('g'), KeyModifiers::CONTROL);
    assert_eq!(done, [Action::Compose]);
    stage.app.composed("one\ntwo");
    let sent = stage.key(KeyCode::Enter);
    assert_eq!(sent, [Action::Ask("one\ntwo".to_owned())]);
}

#[test]
fn lists_are_chosen_from() {
    let mut stage = Stage::new(60, 10);
    let entry = |name: &str| Entry {
        name: name.to_owned(),
        about: "2 turns".to_owned(),
        command: ChatCommand::Resume(name.to_owned()),
    };
    let entries = ["first", "second", "third"].map(entry).to_vec();
    stage.app.overlay = Some(Overlay::list("Conversations", entries));
    stage.key(KeyCode::Down);
    insta::assert_snapshot!(stage.screen());
    stage.types("hird");
    let done = stage.key(KeyCode::Enter);
    assert_eq!(done, [Action::Do(ChatCommand::Resume("third".to_owned()))]);
    assert!(stage.app.overlay.is_none());
}

#[test]
fn whoever_types_ahead_is_heard_later() {
    let mut stage = Stage::new(60, 12);
    stage.prompt("First.");
    stage.types("Second.");
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.types("And");
    insta::assert_snapshot!(stage.screen());
    // Queued prompts return to the editor when everything is stopped.
    assert_eq!(stage.key(KeyCode::Esc), [Action::Stop]);
    assert_eq!(stage.app.editor.text(), "Second.\nAnd");
    assert!(stage.app.queue.is_empty());
    assert!(stage.screen().contains("Stopping."));
    stage.app.ended();
    assert!(!stage.screen().contains("Stopping."), "{}", stage.screen());
}

#[test]
fn a_key_stops_and_another_leaves() {
    let mut stage = Stage::new(60, 12);
    let ctrl_c = |stage: &mut Stage| stage.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    stage.types("draft");
    assert_eq!(ctrl_c(&mut stage), []);
    assert!(stage.app.editor.is_empty());
    assert_eq!(ctrl_c(&mut stage), []);
    assert!(stage.screen().contains("once more leaves"));
    assert_eq!(ctrl_c(&mut stage), [Action::Quit]);
    let mut stage = Stage::new(60, 12);
    stage.prompt("Go.");
    assert_eq!(ctrl_c(&mut stage), [Action::Stop]);
    stage.now += LATER;
    assert_eq!(ctrl_c(&mut stage), [Action::Stop]);
    assert_eq!(ctrl_c(&mut stage), [Action::Quit]);
}

#[test]
fn texts_of_several_lines_are_sent_whole() {
    let mut stage = Stage::new(60, 12);
    stage.types("one");
    stage.press(KeyCode::Enter, KeyModifiers::ALT);
    stage.types("two\\");
    stage.key(KeyCode::Enter);
    stage.types("three");
    let sent = stage.key(KeyCode::Enter);
    assert_eq!(sent, [Action::Ask("one\ntwo\nthree".to_owned())]);
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.types("!git status");
    assert_eq!(
        stage.key(KeyCode::Enter),
        [Action::Run("git status".to_owned())]
    );
    stage.types("/etc/hosts is what?");
    assert_eq!(
        stage.key(KeyCode::Enter),
        [Action::Ask("/etc/hosts is what?".to_owned())]
    );
}

#[test]
fn without_colours_nothing_has_one() {
    let mut stage = Stage::new(60, 16);
    stage.prompt("Go.");
    stage.begins("a", "read_file", &json!({"path": "a"}));
    stage.answers("# A\n\n`b`\n\n```rust\nfn main() {}\n```");
    let is_plain = |buffer: &ratatui::buffer::Buffer| {
        let reset = ratatui::style::Color::Reset;
        buffer
            .content
            .iter()
            .all(|cell| (cell.fg, cell.bg) == (reset, reset))
    };
    assert!(!is_plain(&stage.buffer(true)));
    assert!(is_plain(&stage.buffer(false)));
}

#[test]
fn what_a_terminal_would_obey_never_reaches_it() {
    let evil = "\u{1b}[2J\u{7}\u{9b}31m\u{202e}";
    let mut stage = Stage::new(80, 24);
    stage.prompt(evil);
    stage.says(evil);
    stage.begins("a", "bash", &json!({"command": evil, "why": evil}));
    stage.writes("a", evil);
    stage.press(KeyCode::Char('t'), KeyModifiers::CONTROL);
    let first = stage.screen();
    stage.ends("a", "bash", ToolResult::success([("output", json!(evil))]));
    stage.app.queue.push_back(evil.to_owned());
    stage.app.flash = Some(evil.to_owned());
    let second = stage.screen();
    for screen in [first, second] {
        let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!screen.contains(is_bad), "{screen:?}");
    }
}

struct Agent;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

impl TypedTool for Agent {
    type Args = Nothing;
    type Output = Value;

    const NAME: &'static str = "agent";
    const DESCRIPTION: &'static str = "Have another model do it";
    const EFFECTS: Effects = Effects::NONE;
    const SHOWS_ITSELF: bool = true;

    async fn run(&self, _: &CallContext, _: Nothing) -> Result<Value, ToolError> {
        Ok(json!({}))
    }
}

/// No spinner is drawn for a tool that shows its own progress.
#[test]
fn a_tool_can_show_itself() {
    let mut registry = Registry::new();
    registry.register(Typed::new(Agent)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tools = ToolManager::builder(workspace).tools(registry).build();
    let mut stage = Stage::new(60, 8);
    stage.begins("a", "agent", &json!({}));
    stage.writes("a", "its own words\n");
    let moving = stage.screen();
    assert!(
        moving.contains("⠹ agent  3.0 s  │ its own words"),
        "{moving}"
    );
    let still = words(&stage.buffer_with(true, Some(&tools)));
    assert!(still.contains("▪ agent\n"), "{still}");
}
