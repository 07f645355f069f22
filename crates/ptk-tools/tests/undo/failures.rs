//! Where nothing can be kept, nothing is run.

use std::fs;
use std::path::Path;
use std::process::Command;

use ptk_undo::Options;
use serde_json::json;

use crate::scene::{Scene, manager, unrecorded_async};

#[tokio::test]
async fn a_call_that_cannot_be_undone_is_not_run() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("state"), "a file").unwrap();
    let args = json!({"path": "a", "content": "x"});
    let result = scene.call("write_file", args).await;
    let root = scene.folder.path().canonicalize().unwrap();
    let said = result.error.replace(root.to_str().unwrap(), "");
    assert!(
        said.starts_with("write_file was not run, because it could not be undone: What undo keeps cannot be read or written at /state/"),
        "{said}"
    );
    assert_eq!(
        result.suggestion.unwrap(),
        "Nothing was changed. Tell the user. To go on, free some space, or make the folder writable. \
         To run calls that cannot be undone, write `[undo]` and `enabled = false` in ptk.toml."
    );
    assert!(!scene.path("a").exists());
    let result = scene.call("bash", json!({"command": "echo > b"})).await;
    assert!(!result.success);
    assert!(!scene.path("b").exists());
}

#[tokio::test]
async fn nothing_is_kept_in_the_workspace() {
    let scene = Scene::new();
    let options = Options {
        folder: Some(scene.path("state")),
        ..Options::default()
    };
    let tools = manager(&scene.root(), &options);
    let scene = Scene { tools, ..scene };
    let result = scene.call("bash", json!({"command": "true"})).await;
    assert!(result.error.contains("would lie in the workspace"));
    let way = result.suggestion.unwrap();
    assert!(way.contains("set PTK_STATE to a folder outside the workspace"));
}

/// A small disk for the state; `None` where this user cannot have one.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(at: &'a Path, options: &str) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(at)
            .output();
        // Only root can; others try the rest.
        let is_mounted = mount.is_ok_and(|mount| mount.status.success());
        is_mounted.then_some(Self(at))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn on_a_full_disk_nothing_is_lost() {
    unrecorded_async(|| async {
        let scene = Scene::new();
        let state = scene.folder.path().join("state");
        let Some(_disk) = Disk::mount(&state, "size=256k") else {
            return;
        };
        scene.write("small", "small");
        scene.bash("echo more >> small").await;
        scene.write("large", vec![b'x'; 1024 * 1024]);
        let before = scene.picture();
        for (tool, args) in [
            ("bash", json!({"command": "rm large small"})),
            ("write_file", json!({"path": "large", "content": ""})),
        ] {
            scene.call("read_file", json!({"path": "large"})).await;
            let result = scene.call(tool, args).await;
            assert!(!result.success);
            assert_eq!(scene.picture(), before);
        }
        fs::remove_file(scene.path("large")).unwrap();
        // What was kept before is still there.
        scene.undo().last().unwrap();
        assert_eq!(scene.text("small"), "small");
    });
}

#[tokio::test]
async fn what_cannot_be_recorded_on_a_full_disk_stays_as_it_is() {
    let scene = Scene::new();
    let state = scene.folder.path().join("state");
    let Some(_disk) = Disk::mount(&state, "size=256k") else {
        return;
    };
    scene.write("small", "small");
    scene.write("large", vec![b'x'; 1024 * 1024]);
    let before = scene.picture();
    let args = json!({"command": "rm large small; echo more >> large; mv large other; echo > new"});
    let result = scene.call("bash", args).await;
    let told = result.fields["stderr"].as_str().unwrap();
    assert_eq!(told.matches("No space left on device").count(), 3, "{told}");
    let told = result.fields["undo"].as_str().unwrap();
    assert!(told.starts_with("The undo store is full"), "{told}");
    assert_eq!(
        scene.picture().get(Path::new("large")),
        before.get(Path::new("large"))
    );
    assert!(!scene.path("small").exists());
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn in_a_read_only_folder_nothing_is_lost() {
    let scene = Scene::new();
    let state = scene.folder.path().join("state");
    let Some(_disk) = Disk::mount(&state, "ro,size=256k") else {
        return;
    };
    scene.write("a", "a");
    let result = scene.call("bash", json!({"command": "rm a"})).await;
    assert!(
        result.error.contains("Read-only file system"),
        "{}",
        result.error
    );
    assert_eq!(scene.text("a"), "a");
}
