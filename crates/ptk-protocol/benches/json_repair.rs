//! How fast broken JSON is read, and whether hostile texts stay linear, by CPU
//! time.

#![allow(clippy::print_stdout, reason = "it is a report")]

use cpu_time::ProcessTime;
use ptk_protocol::json::repair;

const MEGABYTE: usize = 1 << 20;
/// How many rounds are run; the best one is reported.
const ROUNDS: usize = 5;

fn main() {
    let row = r#"{"id": 12345, "name": "A name of usual length", "tags": ["one", "two"], "text": "A longer text, with a \"quoted\" word.\nAnd a second line that goes on for a while.", "score": 0.25, "ok": true},"#;
    let rows = row.repeat(MEGABYTE / row.len());
    let long = "words and words, ".repeat(MEGABYTE / 17);
    report("valid", &format!("[{}]", rows.trim_end_matches(',')));
    report("one fault at the end", &format!("[{rows}]"));
    report(
        "one fault at the beginning",
        &format!("[,{}]", rows.trim_end_matches(',')),
    );
    report("long string, cut off", &format!("{{\"content\": \"{long}"));
    report(
        "long string, one fault",
        &format!("{{\"content\": \"{long}\",}}"),
    );
    for piece in [
        "\"",
        "\",\"",
        "{\"a\":\"",
        "\\",
        "/*",
        "[",
        "{",
        "'",
        "',‘",
        "\"a\"a",
        "{\"a\"a",
        "[\"a\" ",
        "`",
        "```",
        "```{",
        "\\\"",
        "(",
        "f(",
        "a:",
        "{a:",
        "// ",
        "# ",
        ", \"b",
        "\n\"b\"",
        "\"}",
        "[\"a\":",
        "a\n",
        "1,",
        "{},",
        "{\"a\":{",
        "…",
        "“",
        "+\"a\"",
        "\"a\" + ",
        "...",
        "[1}",
        "\"\":",
        "\n",
        " \"",
        "\": {\"a",
        "\": {",
        "\"\"",
        "\"\"\"",
        "'\"",
        "\\\\\"",
        "{\"a\":\"x, ",
        ",\n",
        "}",
        "\"k\":1}, ",
        "/a,",
        "a, ",
        "a, b\", ",
        "x, y\":",
        "/\\/",
        "{x \"a\":",
        "\"{",
        "\";",
        "u'a'",
        "1 ",
        "[1,\"a\":",
        "\"a\" (",
        "\"a\" (b) ",
        "\"a\" b ",
        "\"a\", b ",
        "x {",
        "x{,",
        "a: b (c, ",
        "\"a\"+//",
        "\"a\" + /*",
        "[\"a\"], ",
        "[1] ",
        "\\b",
        "\\nabla",
        "\\d\\n",
        "Call (1): ",
        "don't ",
        "a'b ",
        "1'a ",
        "(a) ",
        "a (b) ",
        "\"a\" don't ",
        "\"a\", don't ",
    ] {
        let hostile = piece.repeat(MEGABYTE / piece.len());
        report(piece, &hostile);
        report("  after [\"", &format!("[\"{hostile}"));
        report("  after {\"a\": \"", &format!("{{\"a\": \"{hostile}"));
        report("  after {\"", &format!("{{\"{hostile}"));
        report("  after {a: '", &format!("{{a: '{hostile}"));
        report("  after {a: x ", &format!("{{a: x {hostile}"));
        report("  after {'a': '", &format!("{{'a': '{hostile}"));
        report("  after {a: 1 ", &format!("{{a: 1 {hostile}"));
        report("  after [", &format!("[{hostile}"));
        report("  after [{ ", &format!("[{{ {hostile}"));
    }
}

#[allow(clippy::cast_precision_loss, reason = "a speed is no exact number")]
fn report(name: &str, text: &str) {
    let mut seconds = f64::INFINITY;
    let mut result = repair("");
    for _ in 0..ROUNDS {
        let start = ProcessTime::now();
        result = repair(text);
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let speed = text.len() as f64 / seconds / 1e6;
    let outcome = if result.is_ok() { "ok" } else { "error" };
    assert!(seconds < 3.0, "{name:?} takes {seconds} s");
    println!("{speed:>9.0} MB/s  {seconds:.4} s  {outcome:<5}  {name:?}");
}
