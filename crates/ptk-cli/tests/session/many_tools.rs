//! Declared tools, so many that the model searches for them.

use serde_json::{Value, json};

use crate::scene::{Scene, call};

/// A scene with thirty tools.
fn scene(replies: &[Value], run: &str) -> Scene {
    let scene = Scene::new(replies);
    let tools = (0..30).map(|number| {
        format!(
            "[[tools]]\nname = \"lab__measure_{number}\"\ndescription = \"Measure the probe number {number}\"\n\
             command = [\"echo\", \"probe {number}\"]\neffects = [\"read\"]\n"
        )
    });
    let file = format!("[run]\n{run}\n{}", tools.collect::<String>());
    scene.write("ptk.toml", file);
    scene.ptk(&["permissions", "trust", "--yes"]).good();
    scene
}

/// The names of the calls that were made, and whether they went well.
fn made(lines: &[Value]) -> Vec<(String, bool)> {
    let ends = lines.iter().filter(|line| line["type"] == "tool_call_end");
    ends.map(|end| {
        let name = end["tool"].as_str().unwrap();
        (name.to_owned(), end["success"] == true)
    })
    .collect()
}

#[test]
fn events_show_a_search_as_any_other_call() {
    let replies = [
        call("find_tools", json!({"query": "probe number 7"})),
        call("lab__measure_7", json!({})),
        json!("Done."),
    ];
    let scene = scene(&replies, "");
    let lines = scene.ptk(&["run", "--json", "Measure it"]).good().lines();
    let wanted = ["find_tools", "lab__measure_7"].map(|name| (name.to_owned(), true));
    assert_eq!(made(&lines), wanted);
}

#[test]
fn what_is_deferred_is_set_by_flag_and_file() {
    let replies = [
        call("find_tools", json!({"query": "probe"})),
        json!("Done."),
    ];
    let unknown = [("find_tools".to_owned(), false)];
    let never = scene(&replies, "defer_tools = \"never\"");
    let lines = never.ptk(&["run", "--json", "Measure it"]).good().lines();
    assert_eq!(made(&lines), unknown);
    // What the user names is defined.
    let named = scene(&replies, "defer_tools = \"always\"");
    let args = [
        "run",
        "--json",
        "--tools",
        "lab__measure_1,read_file",
        "Measure it",
    ];
    let lines = named.ptk(&args).good().lines();
    assert_eq!(made(&lines), unknown);
    // The session that goes on remembers it.
    named.says(&replies);
    let lines = named.ptk(&["run", "--json", "-c", "Again"]).good().lines();
    assert_eq!(made(&lines), unknown);
}
