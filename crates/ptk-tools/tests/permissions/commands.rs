//! Command lines: the parts found in them, and what becomes of them.

use std::fmt::Write as _;

use ptk_protocol::ErrorType;
use ptk_tools::shell::CommandLine;

use crate::scene::Scene;

/// The simple commands of a line, `?` for words that are not known.
fn parts(line: &str) -> String {
    let line = CommandLine::read(line);
    let commands = line.commands().iter().map(|command| {
        let words = command.words().iter().map(|word| match word.literal() {
            Some(text) if text.contains([' ', '\n']) || text.is_empty() => format!("{text:?}"),
            Some(text) => text.to_owned(),
            None => "?".to_owned(),
        });
        let redirects = command.redirects().iter().map(|redirect| {
            let target = redirect.target().literal().unwrap_or("?");
            format!("{:?}:{target}", redirect.mode())
        });
        let all: Vec<String> = words.chain(redirects).collect();
        all.join(" ")
    });
    let mut parts = commands.collect::<Vec<_>>().join(" · ");
    if !line.is_whole() {
        parts.push_str(" · (not whole)");
    }
    parts
}

/// The lines of the table, one below the other.
const LINES: &str = include_str!("lines.txt");

/// Rules in force for the table.
const RULES: [&str; 13] = [
    "allow bash(cargo test *)",
    "allow bash(cargo build)",
    "allow bash(git status *)",
    "allow bash(git log *)",
    "allow bash(npm run test:* *)",
    "allow bash(ls *)",
    "allow bash(grep *)",
    "allow bash(head *)",
    "allow bash(rm build/2.o)",
    "allow bash(xargs ls *)",
    "allow write_file(logs/**)",
    "ask bash(git log --all *)",
    "deny bash(git push *)",
];

#[tokio::test]
async fn lines_are_taken_apart_and_judged() {
    let scene = Scene::new(&RULES);
    let mut table = String::new();
    let mut count = 0;
    for line in LINES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let line = line.replace("⏎", "\n");
        let result = scene.bash(&line).await;
        let questions = scene.questions();
        let verdict = match (result.error_type, questions.first()) {
            (Some(ErrorType::SecurityError), _) => format!(
                "BLOCKED {}",
                result.error.rsplit("blocked: ").next().unwrap()
            ),
            (_, Some(question)) => {
                let mut told = "asks".to_owned();
                for warning in &question.warnings {
                    write!(told, "\n    ! {warning}").unwrap();
                }
                for rule in &question.rules {
                    write!(told, "\n    + {rule}").unwrap();
                }
                if let Some(because) = &question.because {
                    write!(told, "\n    ? {because}").unwrap();
                }
                told
            }
            (Some(ErrorType::PermissionError), None) => format!(
                "DENIED {}",
                result.error.rsplit("allowed: ").next().unwrap()
            ),
            (None, None) => "runs".to_owned(),
            (Some(other), None) => format!("fails: {other:?}"),
        };
        let shown = line.replace('\n', "⏎");
        write!(
            table,
            "{shown}\n    = {}\n    {verdict}\n",
            parts(&line).replace('\n', "⏎")
        )
        .unwrap();
        count += 1;
    }
    assert!(count >= 120, "{count}");
    let home = std::env::home_dir().unwrap();
    let table = table.replace(
        scene.path("").to_str().unwrap().trim_end_matches('/'),
        "WORKSPACE",
    );
    let table = table.replace(scene.folder.path().to_str().unwrap(), "BESIDE");
    let table = table.replace(
        &format!("home folder, {}", home.display()),
        "home folder, HOME",
    );
    insta::assert_snapshot!(table.replace(&format!("{}/", home.display()), "HOME/"));
}

/// How a dangerous command can be written otherwise.
const BLOCKED: [&str; 29] = [
    "rm -rf /",
    "r''m -rf /",
    "r\\m -rf /",
    "'rm' \"-rf\" '/'",
    "$'rm' -rf /",
    "$'\\x72\\x6d' -rf /",
    "/bin/rm -rf /",
    "rm${IFS}-rf${IFS}/",
    "{rm,-rf,/}",
    "rm -r -f //",
    "true && rm -rf /",
    "true; rm -rf / &",
    "(rm -rf /)",
    "{ rm -rf /; }",
    "if true; then rm -rf /; fi",
    "for i in 1; do rm -rf /; done",
    "f() { rm -rf /; }; f",
    "echo $(rm -rf /)",
    "echo `rm -rf /`",
    "cat <(rm -rf /)",
    "echo \"${x:-$(rm -rf /)}\"",
    "eval 'rm -rf /'",
    "sudo -u root env A=b nice -n 5 timeout 5 rm -rf /",
    "bash -c \"sh -c 'rm -rf /'\"",
    "D=/; rm -rf $D",
    "export D=/ && rm -rf \"${D}\"",
    "for d in a /; do rm -rf $d; done",
    "X='rm -rf /'; eval $X",
    "X='-rf /'; rm $X",
];

#[tokio::test]
async fn however_it_is_written_it_stays_blocked() {
    let scene = Scene::new(&["allow bash"]);
    for line in BLOCKED {
        assert_eq!(scene.verdict(line).await, "blocked", "{line}");
    }
}
