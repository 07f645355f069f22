//! When the system reports an error: the old file is as it was, nothing is left
//! behind.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use ptk_sandbox::{ErrorKind, Expect, PathError, Place, Workspace};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use scene::{Scene, read, temporary_files, told};

/// Runs a check on a thread that has to obey the permissions of files, as every
/// user but root has to.
fn as_an_ordinary_user(check: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let mut sets = capabilities(None).unwrap();
                let beyond = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
                sets.effective -= beyond;
                set_capabilities(None, sets).unwrap();
                check();
            })
            .join()
            .unwrap();
    });
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn assert_denied<T: std::fmt::Debug>(result: Result<T, PathError>) {
    let error = result.unwrap_err();
    assert!(
        matches!(error, PathError::PermissionDenied { .. }),
        "{error:?}"
    );
    assert_eq!(error.kind(), ErrorKind::Permission);
}

#[test]
fn a_folder_that_may_not_be_written_to_stays_as_it_is() {
    let scene = Scene::new();
    scene.write("locked/a.txt", "old");
    set_mode(&scene.inside("locked"), 0o555);
    as_an_ordinary_user(|| {
        let place = scene.place("locked/a.txt");
        let error = place.replace(b"new", Expect::Anything).unwrap_err();
        assert_eq!(
            told(&scene, &error),
            "Cannot write locked/a.txt: permission denied\n\
             Ask the user to change the permissions, or choose another path.",
        );
        assert_denied(scene.place("locked/b.txt").replace(b"", Expect::Missing));
        assert_denied(scene.place("locked/b/c.txt").create_parents());
        assert_denied(place.remove_file());
        assert_denied(place.rename_to(&scene.place("stolen")));
        assert_eq!(read(&place).unwrap(), "old");
    });
    scene.assert_untouched();
}

#[test]
fn a_file_that_may_not_be_written_to_is_not_replaced_though_its_folder_allows_it() {
    let scene = Scene::new();
    scene.write("a.txt", "old");
    set_mode(&scene.inside("a.txt"), 0o464);
    as_an_ordinary_user(|| {
        assert_denied(scene.place("a.txt").replace(b"new", Expect::Anything));
    });
    // Not even by the superuser.
    set_mode(&scene.inside("a.txt"), 0o444);
    assert!(scene.place("a.txt").metadata().unwrap().read_only);
    let error = scene.place("a.txt").replace(b"new", Expect::Anything);
    assert_eq!(
        told(&scene, &error.unwrap_err()),
        "Cannot write a.txt: it is read-only\n\
         If it is meant to change, make it writable first (chmod u+w).",
    );
    assert_eq!(scene.content("a.txt"), "old");
    scene.assert_untouched();
}

#[test]
fn what_may_not_be_read_or_searched_is_denied_not_missing() {
    let scene = Scene::new();
    scene.write("hidden.txt", "old");
    scene.write("closed/a.txt", "old");
    set_mode(&scene.inside("hidden.txt"), 0o200);
    set_mode(&scene.inside("closed"), 0o000);
    as_an_ordinary_user(|| {
        assert_denied(scene.place("hidden.txt").open());
        assert_denied(scene.place("closed/a.txt").open());
        assert_denied(scene.place("closed/a.txt").exists());
        assert_denied(scene.place("closed").read_dir());
    });
    set_mode(&scene.inside("closed"), 0o755);
}

#[test]
fn a_folder_that_can_be_written_but_not_listed_takes_files() {
    let scene = Scene::new();
    fs::create_dir(scene.inside("drop")).unwrap();
    set_mode(&scene.inside("drop"), 0o300);
    as_an_ordinary_user(|| {
        let written = scene.place("drop/a.txt").replace(b"new", Expect::Missing);
        // It cannot be opened, so it cannot be synced; that is reported.
        assert!(!written.unwrap().durable);
    });
    assert_eq!(scene.content("drop/a.txt"), "new");
}

const FULL: &str = "PTK_SANDBOX_TEST_FULL_DISK";
/// More than the disk holds, and than a file may have.
const TOO_MUCH: usize = 1 << 20;

fn assert_no_space(place: &Place) {
    let folder = place.root().to_owned();
    let error = place
        .replace(&vec![b'x'; TOO_MUCH], Expect::Anything)
        .unwrap_err();
    assert!(matches!(error, PathError::NoSpace { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::System);
    assert_eq!(error.to_string(), "Cannot write a.txt: no space left");
    assert_eq!(
        error.hint().unwrap(),
        "Nothing was changed. Free some space, then try again."
    );
    assert_eq!(read(place).unwrap(), "old");
    assert!(temporary_files(&folder).is_empty());
}

#[test]
#[ignore = "the tests below run it, in a process of its own whose disk is full"]
fn in_a_full_disk() {
    let folder = std::env::var_os(FULL).unwrap();
    fs::write(Path::new(&folder).join("a.txt"), "old").unwrap();
    let workspace = Workspace::open(folder).unwrap();
    assert_no_space(&workspace.resolve("a.txt").unwrap());
}

/// Runs the test above after a line of shell, in which `$0` is the folder.
fn assert_holds_after(line: &str, command: &mut Command) {
    let scene = Scene::new();
    let test = format!(r#"{FULL}="$0" exec "$1" --ignored --exact in_a_full_disk"#);
    let output = command
        .args(["sh", "-c", &format!("{line} && {test}")])
        .arg(scene.workspace.root())
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("1 passed"), "{output:?}");
}

#[test]
fn a_file_size_limit_leaves_the_old_file_and_nothing_else() {
    // The signal that comes with the limit has to be ignored to see the error.
    assert_holds_after("trap '' XFSZ && ulimit -f 64", &mut Command::new("env"));
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let can_mount = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small disk can be mounted here");
        return;
    }
    assert_holds_after(
        r#"mount -t tmpfs -o size=64k none "$0""#,
        Command::new("unshare").arg("-rm"),
    );
}
