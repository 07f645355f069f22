//! Notes behind values, and texts that are full of what could be one.

use std::time::Duration;

use cpu_time::ThreadTime;

use super::repair;

#[test]
fn texts_full_of_notes_take_linear_time() {
    const LENGTH: usize = 1 << 18;
    for (start, piece) in [
        ("{'a': '", "don't "),
        ("{'a': '", "a'b "),
        ("{\"a\": '", "a'b "),
        ("{a: '", "it's 'a' "),
        ("[", "(a) "),
        ("[", "(a "),
        ("{a: ", "(b) "),
        ("{a: 1 ", "1'a "),
        ("{a: ", "1'a "),
        ("[", "\"a\" (b "),
        ("{", "\"a\": \"b\" c'd "),
        ("{", "\"a\": \"b\", c'd "),
    ] {
        let text = format!("{start}{}", piece.repeat(LENGTH / piece.len()));
        let began = ThreadTime::now();
        let _ = repair(&text);
        let took = began.elapsed();
        // Linear: well below a second without optimisation. Quadratic: minutes.
        assert!(took < Duration::from_secs(20), "{start}{piece}: {took:?}");
    }
}

#[test]
fn a_long_note_is_left_out() {
    let note = "(the file that was named above) ".repeat(10);
    let repaired = repair(&format!("{{\"a\": \"b\" {note}, \"c\": 1}}")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&repaired.json).unwrap(),
        serde_json::json!({"a": "b", "c": 1})
    );
}
