//! Any sequence of calls, undone, gives the tree back byte for byte, and what
//! others have done in between is never lost.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use ptk_undo::{Options, Others, Selection, UndoError};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::scene::{Picture, Scene, Seen, runtime, timeless, unrecorded};

/// Names that break what was not thought through.
const NAMES: [&str; 8] = [
    "a.txt",
    "with space",
    "ünïcödé 🦀",
    "new\nline",
    "d",
    "d/inner.txt",
    "d/deep/er/file",
    "-rf",
];

#[derive(Debug, Clone)]
enum Act {
    Write(usize, String),
    Edit(usize),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Mode(usize, u32),
    Link(usize, usize),
    Folder(usize),
    Touch(usize),
    Nothing,
}

fn act() -> impl Strategy<Value = Act> {
    let name = 0..NAMES.len();
    prop_oneof![
        (name.clone(), "[a-z\n]{0,20}").prop_map(|(name, text)| Act::Write(name, text)),
        name.clone().prop_map(Act::Edit),
        name.clone().prop_map(Act::Append),
        name.clone().prop_map(Act::Remove),
        (name.clone(), name.clone()).prop_map(|(from, to)| Act::Rename(from, to)),
        (
            name.clone(),
            prop_oneof![Just(0o600), Just(0o755), Just(0o444)]
        )
            .prop_map(|(name, mode)| Act::Mode(name, mode)),
        (name.clone(), name.clone()).prop_map(|(to, name)| Act::Link(to, name)),
        name.clone().prop_map(Act::Folder),
        name.prop_map(Act::Touch),
        Just(Act::Nothing),
    ]
}

/// How the changes of commands are found.
#[derive(Debug, Clone, Copy)]
enum Way {
    Recorded,
    Reviewed,
    Looked,
}

impl Way {
    fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            Just(Self::Recorded),
            Just(Self::Reviewed),
            Just(Self::Looked)
        ]
    }

    /// Runs something in a workspace whose commands are watched in this way.
    fn run(self, test: impl FnOnce(&Scene, &Runtime) + Send) {
        let options = Options::default();
        match self {
            Self::Recorded => test(&prepared(Scene::with(&options)), &runtime()),
            Self::Reviewed => test(&prepared(Scene::reviewed(&options)), &runtime()),
            Self::Looked => {
                unrecorded(|| test(&prepared(Scene::with(&options)), &runtime()));
            }
        }
    }
}

/// A name as a word of the shell.
fn word(name: usize) -> String {
    format!("'./{}'", NAMES[name])
}

/// The parents of a name exist.
fn parents(name: usize) -> String {
    let path = format!("./{}", NAMES[name]);
    let (folder, _) = path.rsplit_once('/').unwrap();
    format!("mkdir -p '{folder}' 2>/dev/null; ")
}

impl Act {
    /// The command of the act; `None` where a tool does it.
    fn command(&self) -> Option<String> {
        Some(match self {
            Self::Write(..) | Self::Edit(_) => return None,
            Self::Append(name) => format!("{}echo more >> {}", parents(*name), word(*name)),
            Self::Remove(name) => format!("rm -rf {}", word(*name)),
            Self::Rename(from, to) => {
                format!("{}mv -T {} {}", parents(*to), word(*from), word(*to))
            }
            Self::Mode(name, mode) => format!("chmod {mode:o} {}", word(*name)),
            Self::Link(to, name) => format!("ln -sfn '{}' {}", NAMES[*to], word(*name)),
            Self::Folder(name) => format!("mkdir -p {}", word(*name)),
            Self::Touch(name) => {
                let word = word(*name);
                format!("{}[ -e {word} ] || touch {word}", parents(*name))
            }
            Self::Nothing => "true".to_owned(),
        })
    }

    /// Does the act with a tool. Whether it succeeds does not matter.
    async fn run(&self, scene: &Scene) {
        match self {
            Self::Write(name, text) => {
                // A file that was read may be written.
                scene.call("read_file", json!({"path": NAMES[*name]})).await;
                let args = json!({"path": NAMES[*name], "content": text});
                scene.call("write_file", args).await;
            }
            Self::Edit(name) => {
                let edits =
                    json!([{"old_string": "more\n", "new_string": "less\n", "replace_all": true}]);
                let args = json!({"path": NAMES[*name], "edits": edits});
                scene.call("edit", args).await;
            }
            _ => {
                let command = self.command().unwrap();
                scene.call("bash", json!({ "command": command })).await;
            }
        }
    }

    /// Does the act as another program.
    fn by_others(&self, scene: &Scene) {
        let command = match self {
            Self::Write(name, text) => {
                format!(
                    "{}printf '%s' '{text} theirs' > {}",
                    parents(*name),
                    word(*name)
                )
            }
            Self::Edit(name) => format!("sed -i s/more/theirs/ {}", word(*name)),
            act => act.command().unwrap(),
        };
        let mut shell = std::process::Command::new("bash");
        let shell = shell.args(["-c", &command]).current_dir(scene.root());
        shell.output().unwrap();
    }
}

fn prepared(scene: Scene) -> Scene {
    scene.write("a.txt", "one\nmore\n");
    scene.write("d/inner.txt", "more\n");
    std::os::unix::fs::symlink("a.txt", scene.path("link")).unwrap();
    fs::create_dir(scene.path("empty")).unwrap();
    scene
}

/// A few dozen, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn calls_undone_one_by_one_and_redone(
        way in Way::any(),
        acts in prop::collection::vec(act(), 1..7),
    ) {
        way.run(|scene, runtime| {
        let mut pictures = vec![scene.picture()];
        for act in &acts {
            runtime.block_on(act.run(scene));
            pictures.push(scene.picture());
        }
        let undo = scene.undo();
        let end = pictures.last().unwrap().clone();
        let mut undone = Vec::new();
        // Calls that changed nothing are not in the list.
        loop {
            match undo.last() {
                Ok(done) => undone.push(done.id),
                Err(UndoError::Nothing) => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(timeless(&scene.picture()), timeless(&pictures[0]));
        same_times(&scene.picture(), &pictures);
        for id in undone.iter().rev() {
            undo.call(id).unwrap();
        }
        assert_eq!(timeless(&scene.picture()), timeless(&end));
        });
    }

    #[test]
    fn a_session_undone_at_once(
        way in Way::any(),
        acts in prop::collection::vec(act(), 1..7),
    ) {
        way.run(|scene, runtime| {
        let before = scene.picture();
        for act in &acts {
            runtime.block_on(act.run(scene));
        }
        let after = scene.picture();
        let undo = scene.undo();
        let Some(call) = undo.list().unwrap().into_iter().next() else {
            assert_eq!(timeless(&after), timeless(&before));
            return;
        };
        let done = undo.session(&call.session).unwrap();
        assert_eq!(timeless(&scene.picture()), timeless(&before));
        // What cancels itself out needs no step, and no undo of its own.
        if !done.steps.is_empty() {
            undo.call(&done.id).unwrap();
            assert_eq!(timeless(&scene.picture()), timeless(&after));
        }
        });
    }

    #[test]
    fn what_others_did_is_never_lost(
        way in Way::any(),
        acts in prop::collection::vec((any::<bool>(), act()), 1..8),
    ) {
        way.run(|scene, runtime| {
        for (is_call, act) in &acts {
            if *is_call {
                runtime.block_on(act.run(scene));
            } else {
                act.by_others(scene);
            }
        }
        let before = scene.picture();
        let undo = scene.undo();
        let Some(call) = undo.list().unwrap().into_iter().next() else {
            return;
        };
        let session = Selection::Session(call.session.clone());
        match undo.session(&call.session) {
            Ok(done) => {
                theirs_are_left(scene, &before, &touched(&done.steps));
                if !done.steps.is_empty() {
                    undo.call(&done.id).unwrap();
                    assert_eq!(timeless(&scene.picture()), timeless(&before));
                }
            }
            Err(UndoError::Conflicts(conflicts)) => {
                assert_eq!(&scene.picture(), &before);
                let plan = match undo.plan(&session, Others::Keep) {
                    // Nothing but what others have changed.
                    Err(UndoError::Conflicts(_)) => return,
                    plan => plan.unwrap(),
                };
                let done = undo.apply(plan).unwrap();
                theirs_are_left(scene, &before, &touched(&done.steps));
                let after = scene.picture();
                for conflict in conflicts {
                    let path = &conflict.path;
                    assert_eq!(after.get(path), before.get(path));
                }
            }
            Err(error) => panic!("{error}"),
        }
        });
    }
}

fn touched(steps: &[ptk_undo::Change]) -> Vec<PathBuf> {
    steps.iter().map(|step| step.path.clone()).collect()
}

/// Whatever was not a step is as it was.
fn theirs_are_left(scene: &Scene, before: &Picture, steps: &[PathBuf]) {
    let after = scene.picture();
    for (path, seen) in before {
        if !steps.contains(path) {
            assert_eq!(after.get(path), Some(seen), "{}", path.display());
        }
    }
}

/// Files have the time that they had at first, unless a call did no more than
/// to touch one, or to put the same content there: that is not a change.
fn same_times(after: &Picture, pictures: &[Picture]) {
    let is_touched = |path: &PathBuf| {
        pictures.windows(2).any(|pair| {
            let times = pair.iter().map(|picture| match picture.get(path) {
                Some(Seen::File(mode, content, time)) => Some(((mode, content), time)),
                _ => None,
            });
            let [Some((one, earlier)), Some((two, later))] = times.collect::<Vec<_>>()[..] else {
                return false;
            };
            one == two && earlier != later
        })
    };
    for (path, seen) in after {
        if let (Seen::File(_, _, time), Some(Seen::File(_, _, then))) =
            (seen, pictures[0].get(path))
            && time != then
        {
            let is_touched = is_touched(path);
            let path = path.display();
            assert!(is_touched, "{path}: {time:?} instead of {then:?}");
        }
    }
}
