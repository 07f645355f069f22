//! What a shell offers behind a command line that is being typed.

use std::process::Command;

use serde_json::json;

use crate::scene::{Ended, Scene};

/// What is offered in the place of the last word.
fn offered(scene: &Scene, words: &[&str]) -> Vec<String> {
    let mut command = scene.command(&[]);
    let last = words.len().to_string();
    command
        .env("PTK_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", last)
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_IFS", "\n")
        .args(["--", "ptk"])
        .args(words);
    let ended = Ended::of(command.output().unwrap()).good();
    ended.out.lines().map(str::to_owned).collect()
}

#[test]
fn tools_sessions_models_and_files_are_offered() {
    let scene = Scene::new(&[json!("Hi.")]);
    scene.ptk(&["Hello", "--session", "greeting"]).good();
    let own = scene.home().join("config/ptk");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(
        own.join("ptk.toml"),
        "[models.quick]\nprovider = \"openai\"\n",
    )
    .unwrap();
    for (words, one) in [
        (&["tools", "call", "re"][..], "read_file"),
        (&["tools", "show", ""], "grep"),
        (&["run", "--tools", "read_file,gr"], "read_file,grep"),
        (&["run", "--session", ""], "greeting"),
        (&["sessions", "show", "gr"], "greeting"),
        (&["run", "--model", ""], "quick"),
        (&["run", "--provider", "oll"], "ollama"),
        (&["sess"], "sessions"),
        (&["run", "--max-it"], "--max-iterations"),
        (&["parse", "not"], "notes.txt"),
    ] {
        let offered = offered(&scene, words);
        assert!(offered.iter().any(|it| it == one), "{words:?}: {offered:?}");
    }
}

/// What is not there, or cannot be read, is left out without an error.
#[test]
fn a_folder_that_cannot_be_read_offers_nothing() {
    let scene = Scene::new(&[]);
    scene.write("ptk.toml", "[[");
    assert_eq!(
        offered(&scene, &["sessions", "show", "x"]),
        Vec::<String>::new()
    );
    assert_eq!(
        offered(&scene, &["tools", "show", "re"]),
        Vec::<String>::new()
    );
}

#[test]
fn the_script_of_bash_completes_a_command_line() {
    let scene = Scene::new(&[]);
    let script = scene.ptk(&["completions", "bash"]).good().out;
    let ptk = scene.command(&[]);
    let ptk = ptk.get_program();
    let bin = scene.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(ptk, bin.join("ptk")).unwrap();
    let lines = format!(
        "PATH='{}':$PATH\n{script}\nCOMP_WORDS=(ptk tools show get_d); COMP_CWORD=3; COMP_TYPE=9\n\
         _clap_complete_ptk ptk get_d show; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        bin.display()
    );
    let output = Command::new("bash").args(["-c", &lines]).output().unwrap();
    let ended = Ended::of(output);
    assert_eq!(ended.out.trim(), "get_diagnostics", "{ended:?}");
}
