//! `ptk sessions`: listing, searching, exporting and removing sessions.

use std::fs;

use serde_json::{Value, json};

use crate::scene::{Scene, call};

fn with_two() -> Scene {
    let scene = Scene::new(&[
        call("read_file", json!({"path": "notes.txt"})),
        json!("You have to **buy milk**."),
    ]);
    scene
        .ptk(&["What is on my list?", "--session", "list"])
        .good();
    scene.says(&[json!("It rains.")]);
    scene
        .ptk(&["What is the weather like?", "--session", "weather"])
        .good();
    scene
}

#[test]
fn sessions_are_listed_and_shown() {
    let scene = with_two();
    let listed = scene.ptk(&["sessions", "list"]).good().out;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines[0].starts_with("weather ") && lines[0].contains("1 turn  What is the weather like?"),
        "{listed}"
    );
    assert!(
        lines[1].starts_with("list ") && lines.len() == 2,
        "{listed}"
    );
    let shown = scene.ptk(&["sessions", "show", "list"]).good().out;
    for part in [
        "# What is on my list?",
        "## You",
        "### read_file",
        "Buy milk.",
        "**buy milk**",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Another workspace has other sessions.
    fs::create_dir(scene.path("other")).unwrap();
    let elsewhere = scene
        .ptk(&["sessions", "list", "--workspace", "other"])
        .good();
    assert!(
        elsewhere.out.is_empty() && elsewhere.err.contains("--all"),
        "{elsewhere:?}"
    );
    let all = scene
        .ptk(&["sessions", "list", "--workspace", "other", "--all"])
        .good();
    assert_eq!(all.out.lines().count(), 2);
}

#[test]
fn words_are_found_in_what_was_said() {
    let scene = with_two();
    let found = scene.ptk(&["sessions", "search", "milk"]).good().out;
    assert!(found.starts_with("list "), "{found}");
    let found = scene
        .ptk(&["sessions", "search", "rains", "--json"])
        .good()
        .lines();
    assert_eq!(
        (found.len(), &found[0]["session_id"]),
        (1, &json!("weather"))
    );
    let nothing = scene.ptk(&["sessions", "search", "snow"]).good();
    assert!(
        nothing.out.is_empty() && nothing.err.contains("No messages match"),
        "{nothing:?}"
    );
}

#[test]
fn what_is_exported_can_be_taken_in_elsewhere() {
    let scene = with_two();
    let exported = scene.ptk(&["sessions", "export", "list"]).good().out;
    let other = Scene::new(&[]);
    let file = other.path("list.jsonl");
    fs::write(&file, &exported).unwrap();
    let taken = other
        .ptk(&["sessions", "import", file.to_str().unwrap()])
        .good();
    assert_eq!(taken.out, "list\n");
    let said = |log: &str| {
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines = lines.filter(|line: &Value| {
            ["message", "model_replied"].contains(&line["kind"].as_str().unwrap())
        });
        lines.collect::<Vec<_>>()
    };
    let again = other.ptk(&["sessions", "export", "list"]).good().out;
    assert_eq!(said(&again), said(&exported));
    assert!(!said(&again).is_empty());
    // A second import adds nothing.
    let again = other.ptk(&["sessions", "import", file.to_str().unwrap()]);
    assert_eq!(again.code, 1, "{again:?}");
    let markdown = scene.path("list.md");
    let args = [
        "sessions",
        "export",
        "list",
        "--format",
        "markdown",
        "-o",
        markdown.to_str().unwrap(),
    ];
    scene.ptk(&args).good();
    assert!(fs::read_to_string(&markdown).unwrap().contains("## You"));
    let again = scene.ptk(&args);
    assert!(
        again.code == 1 && again.err.contains("is there already"),
        "{again:?}"
    );
}

#[test]
fn sessions_are_removed_only_by_those_who_mean_it() {
    let scene = with_two();
    let asked = scene.ptk(&["sessions", "delete", "list"]);
    assert!(asked.code == 1 && asked.err.contains("--yes"), "{asked:?}");
    assert_eq!(scene.sessions().len(), 2);
    scene.ptk(&["sessions", "delete", "list", "--yes"]).good();
    assert_eq!(scene.sessions().len(), 1);
    let none = scene
        .ptk(&["sessions", "delete", "--older-than", "1h", "--yes"])
        .good();
    assert!(none.err.contains("nothing to remove"), "{none:?}");
    scene
        .ptk(&["sessions", "delete", "--keep", "0", "--yes"])
        .good();
    assert!(scene.sessions().is_empty());
    let unknown = scene.ptk(&["sessions", "show", "list"]);
    assert!(
        unknown.code == 1 && unknown.err.contains("session `list` not found"),
        "{unknown:?}"
    );
}

/// Sessions of other workspaces stay, unless all are meant.
#[test]
fn only_old_sessions_of_this_workspace_are_removed() {
    let scene = with_two();
    let other = scene.path("other folder");
    fs::create_dir(&other).unwrap();
    scene.says(&[json!("Hi.")]);
    let there = ["Hello", "--workspace", other.to_str().unwrap()];
    for _ in 0..2 {
        scene.ptk(&there).good();
    }
    let all = || {
        let listed = scene.ptk(&["sessions", "list", "--all"]).good();
        listed.out.lines().count()
    };
    assert_eq!(all(), 4);
    let removed = scene
        .ptk(&["sessions", "delete", "--keep", "1", "--yes"])
        .good();
    assert_eq!(removed.out.lines().count(), 1, "{removed:?}");
    let here = scene.path("").canonicalize().unwrap();
    let told = format!("Removed 1 session in {}.", here.display());
    assert!(removed.err.contains(&told), "{removed:?}");
    assert_eq!((scene.sessions().len(), all()), (1, 3));
    let removed = scene
        .ptk(&["sessions", "delete", "--keep", "1", "--all", "--yes"])
        .good();
    assert!(
        removed
            .err
            .contains("Removed 2 sessions in all workspaces."),
        "{removed:?}"
    );
    assert_eq!(all(), 1);
}

#[test]
fn a_damaged_log_is_said_to_be_so_and_left_alone() {
    let scene = with_two();
    let checked = scene.ptk(&["sessions", "check"]).good();
    assert!(
        checked.err.contains("everything is as it was written"),
        "{checked:?}"
    );
    scene.ptk(&["sessions", "check", "--rebuild"]).good();
    let database = scene.state().join("sessions.db");
    fs::write(&database, "this is no database, but somebody's letter").unwrap();
    for args in [
        &["Hi"][..],
        &["sessions", "list"],
        &["sessions", "check"],
        &["resume"],
    ] {
        let ended = scene.ptk(args);
        assert_eq!(ended.code, 1, "{args:?} {ended:?}");
        assert!(ended.err.contains("sessions.db"), "{args:?} {ended:?}");
    }
    let left = fs::read_to_string(&database).unwrap();
    assert_eq!(left, "this is no database, but somebody's letter");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let scene = Scene::new(&[json!("Hi.")]);
    fs::write(scene.state(), "a file").unwrap();
    let ended = scene.ptk(&["Hi"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("PTK_STATE"), "{ended:?}");
}

#[test]
fn secrets_are_not_written_down() {
    let secret = "ghp_0123456789012345678901234567890123456789";
    let scene = Scene::new(&[json!("I will not tell."), json!("Hm.")]);
    scene.ptk(&["Use", secret, "--session", "s"]).good();
    let shown = scene.ptk(&["sessions", "show", "s"]).good().out;
    assert!(shown.contains("Use [redacted]"), "{shown}");
    for file in fs::read_dir(scene.state()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes());
            assert!(!is_there, "{}", path.display());
        }
    }
}

#[test]
fn old_sessions_go_by_themselves_where_the_user_wants_that() {
    let scene = with_two();
    scene.write("ptk.toml", "[sessions]\nmax_sessions = 1\n");
    let refused = scene.ptk(&["Hi"]);
    assert!(
        refused.err.contains("how long yours are kept"),
        "{refused:?}"
    );
    fs::remove_file(scene.path("ptk.toml")).unwrap();
    let config = scene.home().join("config/ptk");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("ptk.toml"), "[sessions]\nmax_sessions = 2\n").unwrap();
    scene.ptk(&["Hi", "--session", "third"]).good();
    let ids: Vec<String> = scene
        .sessions()
        .iter()
        .map(|it| it["id"].to_string())
        .collect();
    assert_eq!(ids, ["\"third\"", "\"weather\""]);
}

#[test]
fn a_session_is_listed_shown_and_found_by_its_title() {
    let scene = with_two();
    let renamed = scene
        .ptk(&["sessions", "rename", "list", "Errands", "of  Ada"])
        .good();
    assert_eq!(
        (renamed.out.as_str(), renamed.err.as_str()),
        ("", "list is “Errands of Ada” now.\n")
    );
    let listed = scene.ptk(&["sessions", "list"]).good().out;
    assert!(listed.contains("1 turn  Errands of Ada"), "{listed}");
    let shown = scene.ptk(&["sessions", "show", "list"]).good().out;
    assert!(shown.starts_with("# Errands of Ada\n"), "{shown}");
    let found = scene.ptk(&["sessions", "search", "errands"]).good().out;
    assert!(found.starts_with("list "), "{found}");
    let back = scene.ptk(&["sessions", "rename", "list", ""]).good();
    assert_eq!(back.err, "list is “What is on my list?” now.\n");
    let unknown = scene.ptk(&["sessions", "rename", "unknown", "x"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(
        unknown.err.contains("session `unknown` not found"),
        "{unknown:?}"
    );
}

#[test]
fn a_session_is_forked_and_both_go_on() {
    let scene = with_two();
    scene.says(&[json!("Not much."), json!("Nothing else.")]);
    scene
        .ptk(&["And apart from that?", "--session", "list"])
        .good();
    let original = scene.ptk(&["sessions", "export", "list"]).good().out;

    let forked = scene.ptk(&["sessions", "fork", "list", "--turns", "1"]);
    let forked = forked.good().out.trim_end().to_owned();
    let listed = scene.ptk(&["sessions", "list"]).good().out;
    let first = listed.lines().next().unwrap();
    assert!(
        first.contains("What is on my list?  (from list)"),
        "{listed}"
    );
    // The model is sent the beginning, and nothing else.
    let seen = scene.path("seen.txt");
    let model = format!("cmd:sh -c 'cat > {}; echo Bread.'", seen.display());
    let answer = scene
        .ptk(&["What else?", "--session", &forked, "--provider", &model])
        .good();
    assert_eq!(answer.out, "Bread.\n");
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("What is on my list?"), "{seen}");
    assert!(seen.contains("buy milk"), "{seen}");
    assert!(!seen.contains("And apart from that?"), "{seen}");
    assert_eq!(
        scene.ptk(&["sessions", "export", "list"]).good().out,
        original
    );

    let told = scene.ptk(&["sessions", "fork", &forked, "--json"]).good();
    let told = &told.lines()[0];
    assert_eq!(
        (&told["forked_from"], &told["turns"]),
        (&json!(forked), &json!(2))
    );
    let many = scene.ptk(&["sessions", "fork", "list", "--turns", "9"]);
    assert_eq!(many.code, 1, "{many:?}");
    assert!(many.err.contains("take fewer"), "{many:?}");
    let none = scene.ptk(&["sessions", "fork", "list", "--turns", "0"]);
    assert_eq!(none.code, 2, "{none:?}");
}
