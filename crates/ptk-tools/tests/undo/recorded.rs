//! Commands whose changes are recorded: whatever changes a file, by whichever
//! system call, can be undone.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ptk_undo::{Options, Others, Selection};
use serde_json::json;

use crate::pipe::Pipe;
use crate::scene::{Scene, Seen, timeless, unrecorded_async};

/// A workspace with something of every kind.
fn furnished() -> Scene {
    let scene = Scene::new();
    scene.write("a", "one\ntwo\n");
    scene.write("b", "other\n");
    scene.write("d/x", "x\n");
    scene.write("d/e/y", "y\n");
    scene.write("d/e/f/z", "z\n");
    fs::create_dir(scene.path("empty")).unwrap();
    scene.write("new\nline", "odd\n");
    let odd = scene.root().join(OsStr::from_bytes(b"not \xff text"));
    fs::write(odd, "odd\n").unwrap();
    std::os::unix::fs::symlink("a", scene.path("link")).unwrap();
    std::os::unix::fs::symlink("d/e", scene.path("folder-link")).unwrap();
    std::os::unix::fs::symlink("nowhere", scene.path("dangling")).unwrap();
    scene
}

/// Whether the last call was recorded, and not watched in another way.
fn is_recorded(scene: &Scene) -> bool {
    let state = scene.folder.path().join("state");
    let store = fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let journal = fs::read_to_string(store.join("journal.jsonl")).unwrap();
    let begins: Vec<&str> = journal
        .lines()
        .filter(|line| line.contains("\"line\":\"begin\""))
        .collect();
    begins.last().unwrap().contains("\"watch\":\"recorded\"")
}

/// Runs a command that changes something, and undoes it.
async fn try_out(command: &str) {
    let scene = furnished();
    let before = scene.picture();
    scene.bash(command).await;
    assert!(is_recorded(&scene), "{command}");
    let after = scene.picture();
    assert_ne!(timeless(&after), timeless(&before), "{command}");
    let done = scene.undo().last().unwrap();
    // To touch a file is not a change.
    assert_eq!(timeless(&scene.picture()), timeless(&before), "{command}");
    if !after.values().any(|seen| *seen == Seen::Other) {
        scene.undo().call(&done.id).unwrap();
        assert_eq!(timeless(&scene.picture()), timeless(&after), "{command}");
    }
}

#[tokio::test]
async fn what_programs_of_the_shell_do() {
    for command in [
        "echo three >> a",
        "echo new > a; echo new > c; rm b",
        ": > a",
        "sed -i s/one/1/ a b d/x",
        "rm -r d empty",
        "mkdir -p p/q/r; touch p/q/r/s",
        "rmdir empty",
        "chmod -R o-r d; chmod 600 a",
        "mv a c; mv b a",
        "mv d d2",
        "mv d/e .; echo changed > e/y; rm e/f/z",
        "mv d empty; mv empty/d/x .; echo 1 > d",
        "mv -T d empty",
        "mkdir n; mv d n/d; rm -r n",
        "ln -f a b; ln a c",
        "ln -sfn b link; ln -s a link2; rm dangling",
        "truncate -s 3 a; truncate -s 100 c",
        "cp -r d d3; cp -f b a",
        "tar cf t.tar d; rm -r d; echo changed > a; tar xf t.tar; rm d/x",
        "dd if=/dev/zero of=a bs=1 count=2 conv=notrunc 2>&1",
        "install -m 700 b bin/c -D; install -m 700 b a",
        "cd d/e && echo changed > y && echo changed > ../x && echo changed > ../../a",
        "cd d && mv e ../e2 && cd ../e2 && echo changed > y",
        "echo changed > link; echo changed > folder-link/y; echo made > dangling",
        "cd folder-link && echo changed > y && echo changed > ../x",
        "echo changed > $PWD/a; echo changed > ./d/../b; echo changed > d//./x",
        "echo changed > /proc/self/cwd/a",
        "exec 3>>a; echo changed > /dev/fd/3; echo more > /proc/self/fd/3",
        "printf out > /dev/stdout > a; { echo err >&2; } 2> b",
        "mkfifo pipe; mknod pipe2 p",
        "rm *; for f in *; do rm -rf \"$f\"; done",
        "for f in *line not*; do echo changed >> \"$f\"; mv \"$f\" \"$f 2\"; done",
        "for n in $(seq 300); do (echo $n > f$n; mv f$n g$n) & done; wait; rm g7",
        "ln a c; rm a; echo changed > c",
        "echo changed > d/x; mv d d2; ln -s d2 d",
        "echo changed > d/x; cp -r d d2; rm -r d; ln -s d2 d",
        "ln -s d2 l; echo changed > d/e/y; mv d d2; mv -T l d; echo again > d/x",
        "echo changed > d/e/y; mv d/e e2; ln -s ../e2 l; ln l d/e; rm l",
        "find . -type f -exec chmod 640 {} +",
        "git init -q r; cd r; mkdir s; echo 1 > s/f; git add s; git mv s t; git mv t/f t/g; rm -rf .git",
        "git init -q .; git add a d; git mv d moved; rm -rf .git",
        "n=long; for i in $(seq 20); do n=$n-long-name; mkdir $n; cd $n; done; echo deep > f",
    ] {
        try_out(command).await;
    }
}

#[tokio::test]
async fn what_a_program_does_by_calls_of_the_system() {
    for program in [
        "os.rename('a', 'c'); os.replace('b', 'c')",
        "f = os.open('d', os.O_RDONLY); os.rename('x', 'y', src_dir_fd=f, dst_dir_fd=f)",
        "f = os.open('d', os.O_RDONLY); os.unlink('x', dir_fd=f); os.mkdir('x', dir_fd=f)",
        "f = os.open('d', os.O_RDONLY); os.close(os.open('x', os.O_WRONLY | os.O_TRUNC, dir_fd=f))",
        "f = os.open('.', os.O_RDONLY); os.rmdir('empty', dir_fd=f); os.symlink('a', 's', dir_fd=f)",
        "f = os.open('d', os.O_RDONLY); os.link('x', 'l', src_dir_fd=f, dst_dir_fd=f); os.mkfifo('p', dir_fd=f)",
        "f = os.open('d', os.O_RDONLY); os.chmod('x', 0o600, dir_fd=f); os.chmod('d/e', 0o700)",
        "f = os.open('a', os.O_RDONLY); os.fchmod(f, 0o600)",
        "f = os.open('a', os.O_RDWR); os.unlink('a'); os.fchmod(f, 0o600); os.write(f, b'gone')",
        "os.truncate('a', 2); os.ftruncate(os.open('b', os.O_WRONLY), 0)",
        "os.close(os.open('a', os.O_RDONLY | os.O_TRUNC)); os.close(os.open('n', os.O_RDONLY | os.O_CREAT))",
        "d, f = os.open('.', os.O_RDONLY), os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(f, b'1'); os.link(f'/proc/self/fd/{f}', 'n', src_dir_fd=d, follow_symlinks=True)",
        "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); open('../a', 'w').write('1')",
        "import mmap; f = os.open('a', os.O_RDWR); m = mmap.mmap(f, 8); os.close(f); m[0:3] = b'ONE'; m.close()",
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('d/socket')",
        "f = os.open('a', os.O_WRONLY); os.posix_fallocate(f, 0, 100)",
        "f, g = os.open('a', os.O_RDONLY), os.open('b', os.O_WRONLY); os.copy_file_range(f, g, 8); os.sendfile(g, f, 0, 4)",
        "os.chdir('d'); open('/proc/thread-self/cwd/x', 'w').write('1'); os.fchdir(os.open('e', os.O_RDONLY)); open('y', 'w').write('1')",
        "open('link', 'a').write('1'); os.lchown('link', -1, -1); os.unlink('link')",
        // An address that leads over the end of a page, and a path as long as can be.
        "import mmap; p = os.path.abspath('a').encode(); m = mmap.mmap(-1, 8192); s = 4096 - len(p) // 2; m[s:s + len(p)] = p; c = ctypes.c_char.from_buffer(m, s); assert libc.truncate(ctypes.byref(c), ctypes.c_long(2)) == 0",
        "open('./' * 2000 + 'a', 'w').write('1')",
        "import threading; t = [threading.Thread(target=lambda n=n: [open(f't{n}.{i}', 'w').write('1') and os.rename(f't{n}.{i}', f'u{n}.{i}') for i in range(40)]) for n in range(8)]; [x.start() for x in t]; [x.join() for x in t]",
        "import subprocess; [subprocess.run(['sh', '-c', f'echo {n} > p{n}; cp p{n} a']) for n in range(20)]",
        "import signal; signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001); [open(f's{n}', 'w').write('1') for n in range(300)]",
    ] {
        try_out(&python(program)).await;
    }
}

/// Calls that the library does not make, or not always.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn what_a_program_does_by_the_numbers_of_calls() {
    for program in [
        "call(2, b'a', os.O_WRONLY | os.O_TRUNC)",
        "call(85, b'a', 0o600)",
        "call(76, b'a', 1)",
        "call(82, b'a', b'b')",
        "call(83, b'n', 0o700); call(84, b'empty')",
        "call(86, b'a', b'n'); call(87, b'a')",
        "call(88, b'a', b'n'); call(90, b'b', 0o600)",
        "call(133, b'n', 0o10600, 0)",
        "call(264, -100, b'd', -100, b'n')",
        // With an exchange, a file and a folder, two folders.
        "call(316, -100, b'a', -100, b'b', 2)",
        "call(316, -100, b'a', -100, b'd', 2); open('a/e/y', 'w').write('1')",
        "os.mkdir('m'); open('m/x', 'w').write('1'); call(316, -100, b'm', -100, b'd', 2)",
        "call(316, -100, b'a', -100, b'n', 1)",
        "f = call(437, -100, b'a', struct.pack('QQQ', os.O_WRONLY | os.O_TRUNC, 0, 0), 24)",
        "f = call(437, -100, b'n', struct.pack('QQQ', os.O_WRONLY | os.O_CREAT, 0o600, 8), 24)",
        "call(452, -100, b'a', 0o600, 0)",
        "f = os.open('a', os.O_PATH); call(452, f, b'', 0o600, 0x1000)",
    ] {
        try_out(&python(program)).await;
    }
}

fn python(program: &str) -> String {
    format!(
        "exec python3 - <<'END'\n\
         import ctypes, os, struct\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         def call(*arguments):\n\
         \x20   result = libc.syscall(*arguments)\n\
         \x20   assert result >= 0, os.strerror(ctypes.get_errno())\n\
         \x20   return result\n\
         {program}\n\
         END"
    )
}

#[tokio::test]
async fn what_changes_nothing_is_no_change() {
    let scene = furnished();
    scene
        .bash(
            "exec 3<>a; : >> b; chmod 644 a b; mv a c; mv c a; mkdir n; rmdir n; touch t; rm t; \
             mkdir -p d/e; ln -s a link 2>&1; rm nothing 2>&1; rmdir d 2>&1; mv -n b a; echo > /dev/null",
        )
        .await;
    assert!(is_recorded(&scene));
    assert!(scene.undo().list().unwrap().is_empty());
}

/// As many handles may be open as one process may have, and no more.
#[tokio::test]
async fn folders_in_folders_are_moved_however_deep_they_are() {
    let scene = furnished();
    let deep = "x/".repeat(1500);
    scene.write(&format!("{deep}file"), "deep\n");
    scene.bash("mv x y").await;
    assert!(is_recorded(&scene));
    assert!(!scene.path("x").exists());
    let changes = scene.undo().list().unwrap().remove(0).changes;
    assert_eq!(changes.len(), 2 * 1501);
}

/// The result is there before all files were looked at again.
#[tokio::test]
async fn what_others_change_right_after_a_command_is_not_lost() {
    let scene = furnished();
    for round in 0..30 {
        scene.write("a", "one\ntwo\n");
        scene.bash("echo mine >> a; echo mine >> b").await;
        // As long as what the command has left.
        scene.write("a", "one\ntwo\nHIS!\n");
        scene.undo().last().unwrap_err();
        assert_eq!(scene.text("a"), "one\ntwo\nHIS!\n", "round {round}");
    }
}

/// What is left of a process that was killed after a command had ended, but
/// before that was in the journal.
fn forget_the_end(scene: &Scene) {
    drop(scene.undo());
    let state = scene.folder.path().join("state");
    let store = fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let journal = fs::read_to_string(store.join("journal.jsonl")).unwrap();
    let mut lines: Vec<&str> = journal.lines().collect();
    let end: serde_json::Value = serde_json::from_str(lines.pop().unwrap()).unwrap();
    assert_eq!(end["line"], "end");
    fs::write(store.join("journal.jsonl"), lines.join("\n") + "\n").unwrap();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let open = store.join("open").join(end["entry"].as_str().unwrap());
    fs::write(open, format!("{} settles", dead.id())).unwrap();
}

#[tokio::test]
async fn a_command_is_undone_whose_process_was_killed_right_after_it() {
    let scene = furnished();
    let before = scene.picture();
    scene
        .bash("echo mine >> a; mv b c; rm d/x; ln -s a l; mkdir n; echo > n/f")
        .await;
    forget_the_end(&scene);
    let undo = scene.undo();
    let call = &undo.list().unwrap()[0];
    assert!(!call.interrupted);
    assert_eq!(call.changes.len(), 7, "{:?}", call.changes);
    undo.last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn what_others_changed_after_a_process_was_killed_is_not_lost() {
    let scene = furnished();
    scene
        .bash("echo mine >> a; echo mine >> b; ln -s a l; rm d/x")
        .await;
    forget_the_end(&scene);
    scene.write("a", "one\ntwo\nHIS!\n");
    fs::remove_file(scene.path("l")).unwrap();
    std::os::unix::fs::symlink("b", scene.path("l")).unwrap();
    scene.write("d/x", "theirs");
    let error = scene.undo().last().unwrap_err().to_string();
    for name in ["a", "d/x", "l"] {
        let told = format!("{name}: changed since by another program or a person");
        assert!(error.contains(&told), "{error}");
    }
    assert!(!error.contains("b: "), "{error}");
    let undo = scene.undo();
    let plan = undo.plan(&Selection::Last, Others::Keep).unwrap();
    undo.apply(plan).unwrap();
    assert_eq!(scene.text("a"), "one\ntwo\nHIS!\n");
    assert_eq!(scene.text("b"), "other\n");
    assert_eq!(scene.text("d/x"), "theirs");
}

#[tokio::test]
async fn a_folder_that_cannot_be_replaced_keeps_what_is_in_it() {
    let scene = furnished();
    scene.write("full/x", "theirs");
    let before = scene.picture();
    scene.bash("mv -T d full 2>&1; echo 1 > n").await;
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn a_file_with_several_names_is_put_back_under_each() {
    let scene = furnished();
    fs::hard_link(scene.path("a"), scene.path("d/a2")).unwrap();
    fs::hard_link(scene.path("a"), scene.path("a3")).unwrap();
    let before = scene.picture();
    scene.bash("echo changed > a").await;
    assert_eq!(scene.text("d/a2"), "changed\n");
    scene.undo().last().unwrap();
    assert_eq!(scene.picture(), before);
}

#[tokio::test]
async fn folders_that_git_ignores_are_not_recorded() {
    let scene = furnished();
    scene.write(".gitignore", "target\n*.tmp/\n.env\n");
    scene.write("d/.gitignore", "out/\n");
    scene.write("target/old", "old");
    scene.write("d/out/old", "old");
    scene.write(".env", "SECRET=1");
    fs::create_dir(scene.path(".git")).unwrap();
    let command = "echo 1 > target/new; rm target/old; rm -r d/out; mkdir x.tmp; echo 1 > x.tmp/f; \
                   echo 2 > .env; echo 1 > .git/HEAD; mv target/new c";
    let result = scene.call("bash", json!({ "command": command })).await;
    assert!(is_recorded(&scene));
    let told = result.fields["undo"].as_str().unwrap();
    assert_eq!(told, "Undo does not cover target, d/out, x.tmp, .git.");
    scene.undo().last().unwrap();
    assert_eq!(scene.text(".env"), "SECRET=1");
    assert!(!scene.path("c").exists());
    assert!(!scene.path("d/out").exists());
    assert_eq!(scene.text("x.tmp/f"), "1\n");
}

#[tokio::test]
async fn pipes_and_locks_are_shared_with_others() {
    let scene = furnished();
    let ready = Pipe::new(&scene.root(), "ready");
    let go = Pipe::new(&scene.root(), "go");
    let lock = fs::File::open(scene.path("b")).unwrap();
    lock.lock().unwrap();
    let command = "flock -n b true || echo locked > ready; read x < go; echo mine > a";
    let call = scene.call("bash", json!({ "command": command }));
    let meanwhile = async {
        assert_eq!(ready.closed().await, "locked\n");
        scene.write("d/x", "theirs");
        go.open();
    };
    let (result, ()) = tokio::join!(call, meanwhile);
    assert!(result.success, "{result:?}");
    let undo = scene.undo();
    let changes = &undo.list().unwrap()[0].changes;
    assert_eq!(changes.len(), 1);
    undo.last().unwrap();
    assert_eq!(scene.text("a"), "one\ntwo\n");
    assert_eq!(scene.text("d/x"), "theirs");
}

#[tokio::test]
async fn changes_are_there_at_once_and_those_of_a_job_too() {
    let scene = furnished();
    let ready = Pipe::new(&scene.root(), "ready");
    let go = Pipe::new(&scene.root(), "go");
    let command = "echo mine > a; echo > ready; read x < go; echo mine > b";
    let args = json!({"command": command, "run_in_background": true});
    scene.ok("bash", args).await;
    assert!(is_recorded(&scene));
    ready.closed().await;
    assert_eq!(scene.text("a"), "mine\n");
    go.open();
    let ended = json!({"job": "job_1", "wait_seconds": 30});
    while scene.call("bash_output", ended.clone()).await.fields["status"] == "running" {}
    scene.undo().last().unwrap();
    assert_eq!(scene.text("a"), "one\ntwo\n");
    assert_eq!(scene.text("b"), "other\n");
}

#[tokio::test]
async fn files_that_are_too_large_are_said_not_to_be_kept() {
    let scene = Scene::with(&Options {
        max_file_mb: 1,
        ..Options::default()
    });
    scene.write("large", vec![b'x'; 2 << 20]);
    scene.write("small", vec![b'x'; 1 << 20]);
    let args = json!({"command": "rm large small"});
    let result = scene.call("bash", args).await;
    let told = result.fields["undo"].as_str().unwrap();
    assert!(told.contains("what was in large before"), "{told}");
    assert!(!told.contains("small"), "{told}");
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_said_not_to_be_kept() {
    let scene = furnished();
    fs::set_permissions(scene.path("a"), fs::Permissions::from_mode(0o200)).unwrap();
    if fs::read(scene.path("a")).is_ok() {
        // For root there is no such file.
        return;
    }
    let result = scene.call("bash", json!({"command": "echo > a"})).await;
    let told = result.fields["undo"].as_str().unwrap();
    assert!(told.contains("what was in a before"), "{told}");
}

#[tokio::test]
async fn what_is_not_needed_any_more_is_not_kept() {
    let scene = furnished();
    scene.bash("echo >> a").await;
    scene.bash("true; : >> a").await;
    let state = scene.folder.path().join("state");
    let store = fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    let packs = |store: &Path| fs::read_dir(store.join("packs")).unwrap().count();
    drop(scene.undo());
    // A pack, and what is in it.
    assert_eq!(packs(&store), 2);
    let options = Options {
        max_days: 0,
        ..scene.options.clone()
    };
    let tools = crate::scene::manager(&scene.root(), &options);
    let scene = Scene { tools, ..scene };
    fs::remove_file(store.join("usage")).unwrap();
    scene.bash("echo >> b").await;
    scene.bash("echo >> b").await;
    // What is not needed is removed in the background after calls: that of the
    // last ones stays, and it is not known when the rest is gone. The removal
    // runs only now and then, unless the time of the last one is not known.
    while packs(&store) > 4 {
        drop(scene.undo());
        let _ = fs::remove_file(store.join("usage"));
        scene.bash("echo >> b").await;
    }
}

/// Where calls have another listener already, there can be no recorder.
#[test]
fn where_nothing_can_be_recorded_the_workspace_is_looked_at() {
    unrecorded_async(|| async {
        let scene = furnished();
        let before = scene.picture();
        for _ in 0..2 {
            scene.bash("echo changed > a; rm b; mv d d2").await;
            assert!(!is_recorded(&scene));
            scene.undo().last().unwrap();
            assert_eq!(scene.picture(), before);
        }
    });
}
