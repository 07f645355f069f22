//! A single word may be a command that does not exist, and is sent to a model,
//! which costs money, only if that is wanted.

use serde_json::json;

use crate::choosing::{at_terminal, command, terminal};
use crate::scene::{Ended, Scene};

/// A person with a model.
fn scripted(scene: &Scene) -> String {
    format!("script:{}", scene.script().display())
}

#[test]
fn a_word_is_not_sent_to_a_model_unasked() {
    let scene = Scene::new(&[json!("Sent.")]);
    for (args, near) in [
        (&["login"][..], Some("keys")),
        (&["config"], Some("setup")),
        (&["version"], Some("--version")),
        (&["Version"], Some("--version")),
        (&["weather"], None),
        (&["sesions"], Some("sessions")),
        (&["--quiet", "login"], Some("keys")),
        (&["login", "--json"], Some("keys")),
        (&["login", "--max-iterations", "3"], Some("keys")),
    ] {
        let ended = scene.ptk(args);
        assert_eq!(ended.code, 2, "{args:?}: {ended:?}");
        let word = args.iter().find(|arg| !arg.starts_with('-')).unwrap();
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let said = format!("unknown command `{word}`{near}\n");
        assert!(ended.err.contains(&said), "{args:?}: {ended:?}");
        let how = format!("To send it to a model: ptk run {word}");
        assert!(ended.err.contains(&how), "{args:?}: {ended:?}");
        assert!(!ended.out.contains("Sent."), "{ended:?}");
    }
    let ended = scene.ptk(&["login", "--json"]);
    assert_eq!(ended.lines()[0]["code"], "WRONG_USAGE", "{ended:?}");
    assert!(scene.sessions().is_empty());
}

#[test]
fn what_is_no_word_alone_is_a_prompt() {
    let scene = Scene::new(&[json!("Sent.")]);
    for args in [
        &["run", "login"][..],
        &["log in"],
        &["log", "in"],
        &["login?"],
        &["Hello"],
        &["explain", "-f", "notes.txt"],
        &["continue", "--continue"],
        &["-s", "mine", "yes"],
    ] {
        let ended = scene.ptk(args).good();
        assert_eq!(ended.out, "Sent.\n", "{args:?}: {ended:?}");
    }
    let ended = scene.piped(&["summarise"], "A long text.\n").good();
    assert_eq!(ended.out, "Sent.\n", "{ended:?}");
    let log = scene.log();
    let message = log.iter().find(|entry| entry["kind"] == "message").unwrap();
    assert_eq!(message["body"]["text"], "summarise\n\nA long text.");
    let ended = scene.piped(&["summarise"], "\n");
    assert_eq!(ended.code, 2, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_a_person_is_asked_first() {
    let scene = Scene::new(&[json!("Sent.")]);
    let script = scripted(&scene);
    let more = [("PTK_PROVIDER", script.as_str())];
    for (word, near, answer, said) in [
        ("sesions", "; did you mean `sessions`?", "", "exit code 2"),
        ("login", "; did you mean `keys`?", "n", "Nothing was sent."),
        ("weather", "", "y", "Sent."),
    ] {
        let opened = terminal(&scene, "127.0.0.1:9", &[word], &more);
        let rest = at_terminal(opened, move |terminal| {
            let question = format!("No such command: `{word}`{near}");
            terminal.exp_string(&question).unwrap();
            terminal.exp_string("Send it as a prompt?").unwrap();
            terminal.exp_string("no: ").unwrap();
            terminal.send_line(answer).unwrap();
            terminal.exp_eof().unwrap()
        });
        let rest = rest.await;
        assert!(rest.contains(said), "{rest}");
        assert_eq!(rest.contains("Sent."), answer == "y", "{rest}");
    }
    let opened = terminal(&scene, "127.0.0.1:9", &["login"], &more);
    let rest = at_terminal(opened, |terminal| {
        terminal.exp_string("Send it as a prompt?").unwrap();
        terminal.send_control('c').unwrap();
        terminal.exp_eof().unwrap()
    });
    assert!(rest.await.contains("exit code 130"));
    // What is no command alone is sent at once.
    let opened = terminal(&scene, "127.0.0.1:9", &["run", "login"], &more);
    let rest = at_terminal(opened, |terminal| terminal.exp_eof().unwrap());
    assert!(rest.await.contains("Sent."));
}

/// The word is decided before the model is.
#[test]
fn without_a_model_a_word_is_no_prompt_either() {
    let scene = Scene::new(&[]);
    let ended = command(&scene, "127.0.0.1:9", &["login"]).output().unwrap();
    let ended = Ended::of(ended);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(!ended.err.contains("no model"), "{ended:?}");
}
