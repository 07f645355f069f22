//! Notes behind values.

use super::repair;

#[test]
fn a_long_note_is_left_out() {
    let note = "(the file that was named above) ".repeat(10);
    let repaired = repair(&format!("{{\"a\": \"b\" {note}, \"c\": 1}}")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&repaired.json).unwrap(),
        serde_json::json!({"a": "b", "c": 1})
    );
}
