//! The scene of an attempt: the targets, and whether they were reached.

mod attempts;
mod machine;

mod places;
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use machine::Machine;
use places::Places;
use terminal::Terminal;

/// The secret that must not be printed.
const SECRET: &str = "hush-7f3a91";

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Runs a program as an ordinary user where no namespaces can be created.
const WITHOUT_NAMESPACES: &str = r#"
import ctypes, os, sys
ready, go = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert ctypes.CDLL(None).unshare(0x10000000) == 0
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os.setgid(0)
    os.setuid(0)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(ready[0], 1)
for kind in "uid", "gid":
    open(f"/proc/{child}/{kind}_map", "w").write("0 0 70000")
os.write(go[1], b"x")
os.waitpid(child, 0)
"#;

/// Opens descriptors that a parent process may have open.
const INHERITED: &str = r#"exec 7<"$0/file" 8>>"$0/file" 9<"$0"; exec "$@""#;

/// Variables that name folders of the workspace, where commands may write.
const VARIABLES: [(&str, &str); 4] = [
    ("VIRTUAL_ENV", "venv"),
    ("CARGO_TARGET_DIR", "target"),
    ("GOCACHE", "gocache"),
    ("CARGO_HOME", "cargo"),
];

/// Low limits, so that they are reached soon.
const CONFIGURATION: &str = r#"
[sandbox]
unprotected = "allow"
processes = 200
memory_mib = 512
file_mib = 100
"#;

/// The message where there are no namespaces.
const WITHOUT: &str = "without attributes of other files \
    (the system refuses a namespace of mounts: No space left on device (os error 28))";

/// The escape by a file that other programs run later.
const RUNS_LATER: &str = "it wrote what runs later";

/// The user that makes the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The user of the test.
    Same,
    /// An ordinary user.
    Nobody,
    /// An ordinary user of a system without namespaces.
    Bare,
}

pub(crate) struct Scene {
    who: Who,
    /// The user id, if it is not that of the test.
    user: Option<u32>,
    /// The folder that contains all others.
    folder: TempDir,
    workspace: PathBuf,
    outside: PathBuf,
    home: PathBuf,
    ptk: PathBuf,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    services: Vec<UnixListener>,
    packets: UnixDatagram,
    terminal: Terminal,
    elsewhere: Places,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Scene {
    pub(crate) fn new(who: Who) -> Self {
        let user = (who != Who::Same).then_some(65_534);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let [workspace, outside, home] =
            ["workspace", "outside", "home"].map(|name| root.join(name));
        for path in [
            &workspace,
            &outside,
            &home.join(".ssh"),
            &root.join("config/ptk"),
        ] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(root.join("config/ptk/ptk.toml"), CONFIGURATION).unwrap();
        let secret = format!("{SECRET}\n");
        for name in attempts::credentials::FILES {
            let file = home.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, attempts::credentials::content(name, SECRET)).unwrap();
        }
        fs::write(outside.join("file"), &secret).unwrap();
        for (name, content) in attempts::persistence::THERE {
            let file = workspace.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        fs::write(workspace.join("inside"), "inside\n").unwrap();
        fs::hard_link(outside.join("file"), root.join("other name")).unwrap();
        symlink(outside.join("file"), workspace.join("link")).unwrap();
        symlink(&outside, workspace.join("folder link")).unwrap();
        symlink(&outside, root.join("older link")).unwrap();
        // The executable may be where other users cannot read it.
        let ptk = root.join("ptk");
        // Copied by another process, because a process that has it open for
        // writing keeps all others from running it.
        let copied = Command::new("cp")
            .arg(assert_cmd::cargo::cargo_bin!("ptk"))
            .arg(&ptk)
            .status();
        assert!(copied.unwrap().success());
        let terminal = Terminal::new(user, SECRET);
        let elsewhere = Places::new(&outside, &secret);
        let name = SocketAddr::from_abstract_name(name(&root)).unwrap();
        let sockets = [outside.join("socket"), workspace.join("service.socket")];
        let sockets = sockets.into_iter().chain(elsewhere.sockets());
        let mut services: Vec<_> = sockets
            .map(|path| UnixListener::bind(path).unwrap())
            .collect();
        services.push(UnixListener::bind_addr(&name).unwrap());
        let scene = Self {
            who,
            user,
            victim: sleeper(user, &terminal),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            services,
            packets: UnixDatagram::bind(outside.join("packets")).unwrap(),
            terminal,
            elsewhere,
            folder,
            workspace,
            outside,
            home,
            ptk,
        };
        scene.tcp.set_nonblocking(true).unwrap();
        scene.udp.set_nonblocking(true).unwrap();
        scene.packets.set_nonblocking(true).unwrap();
        for service in &scene.services {
            service.set_nonblocking(true).unwrap();
        }
        scene.give_away();
        scene
    }

    /// Gives everything to the attempting user, writable by all, so that only
    /// the sandbox protects it.
    fn give_away(&self) {
        let mut all = vec![self.folder.path().to_owned()];
        all.extend(self.elsewhere.folders());
        while let Some(path) = all.pop() {
            if path.is_symlink() {
                continue;
            }
            let mode = if path.is_dir() || path.ends_with("ptk") {
                0o777
            } else {
                0o666
            };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            std::os::unix::fs::lchown(&path, self.user, self.user).unwrap();
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            all.extend(below.map(|entry| entry.path()));
        }
    }

    /// The names that an attempt may use, with their values.
    fn places(&self) -> Vec<(&'static str, String)> {
        let show = |path: &Path| path.display().to_string();
        let elsewhere = self.elsewhere.named();
        let elsewhere = elsewhere.map(|(name, path)| (name, show(path)));
        let own = [
            ("TERMINAL", show(&self.terminal.path)),
            ("OUTSIDE", show(&self.outside)),
            ("HOME_FOLDER", show(&self.home)),
            ("WORKSPACE", show(&self.workspace)),
            ("ABOVE", show(self.folder.path())),
            ("VICTIM", self.victim.id().to_string()),
            ("TEST", std::process::id().to_string()),
            (
                "TCP_PORT",
                self.tcp.local_addr().unwrap().port().to_string(),
            ),
            (
                "UDP_PORT",
                self.udp.local_addr().unwrap().port().to_string(),
            ),
            ("HIDDEN", name(self.folder.path())),
            ("PTK", show(&self.ptk)),
        ];
        own.into_iter().chain(elsewhere).collect()
    }

    fn filled(&self, text: &str) -> String {
        let places = self.places().into_iter();
        places.fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("@{name}@"), &value)
        })
    }

    fn run(&self, tool: &str, args: &Value) -> Value {
        self.run_with("config", tool, args)
    }

    fn run_with(&self, config: &str, tool: &str, args: &Value) -> Value {
        let mut command = self.with_variables();
        if self.who == Who::Bare {
            command.args(["python3", "-c", WITHOUT_NAMESPACES]);
        }
        command
            .arg(&self.ptk)
            .args(["tools", "call", tool, &args.to_string()])
            .args(["--approve", "auto", "--json"])
            .env("HOME", &self.home)
            .env("PTK_STATE", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join(config))
            .env("OPENAI_API_KEY", SECRET)
            .stdin(Stdio::null());
        if let (Who::Nobody, Some(user)) = (self.who, self.user) {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|_| panic!("{tool} {args}: {output:?}"))
    }

    /// Runs the program that is its next argument, with everything that it may
    /// inherit.
    fn with_variables(&self) -> Command {
        let mut command = Command::new("bash");
        command
            .args(["-c", INHERITED])
            .arg(&self.outside)
            .current_dir(&self.workspace)
            .env("GOPATH", self.folder.path().join("older link"));
        for (name, folder) in VARIABLES {
            command.env(name, self.workspace.join(folder));
        }
        let path = std::env::var("PATH").unwrap();
        let own = self.workspace.join("bin");
        command.env("PATH", format!("{path}:{}", own.display()));
        command
    }

    /// A snapshot of everything outside, byte for byte.
    fn seen(&self) -> Seen {
        let mut seen = BTreeMap::new();
        let mut all = vec![self.outside.clone(), self.home.clone()];
        all.extend(self.elsewhere.folders());
        all.push(self.folder.path().join("other name"));
        while let Some(path) = all.pop() {
            let Ok(meta) = fs::symlink_metadata(&path) else {
                continue;
            };
            let content = meta.is_file().then(|| {
                let mut content = Vec::new();
                let mut file = fs::File::open(&path).unwrap();
                file.read_to_end(&mut content).unwrap();
                (meta.mtime(), content)
            });
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            all.extend(below.map(|entry| entry.path()));
            seen.insert(path, (meta.mode(), meta.uid(), content));
        }
        seen
    }

    pub(crate) fn try_all(mut self) {
        let before = self.seen();
        let (mut count, mut escapes) = (0, Vec::new());
        let result = self.run_with("none", "bash", &json!({"command": "echo got out"}));
        let is_refused = result["error_type"] == "permission_error";
        assert_eq!(is_refused, self.who == Who::Bare, "{result}");
        for (name, script) in attempts::scripts() {
            if self.who == Who::Bare && attempts::ON_ATTRIBUTES.contains(&&*name) {
                continue;
            }
            fs::write(self.workspace.join("attempt"), self.filled(&script)).unwrap();
            let result = self.run("bash", &json!({"command": "bash ./attempt", "timeout": 20}));
            let expected = match self.who {
                Who::Same | Who::Nobody => "full",
                Who::Bare => WITHOUT,
            };
            assert_eq!(result["sandbox"], expected, "{name}: {result}");
            escapes.extend(self.check(&name, &result, &before));
            count += 1;
        }
        for (name, tool, args) in attempts::CALLS {
            let args = serde_json::from_str(&self.filled(args)).unwrap();
            let result = self.run(tool, &args);
            escapes.extend(self.check(name, &result, &before));
            count += 1;
        }
        assert!(escapes.is_empty(), "{}", escapes.join("\n"));
        assert!(count >= 200, "{count} attempts");
    }

    /// Makes the attempts on PTK's own keys, in a workspace that holds them.
    pub(crate) fn try_keys(mut self) {
        self.put_keys();
        let before = self.seen();
        let keys = self.workspace.join(attempts::credentials::KEYS);
        let config = format!("workspace/{}", attempts::credentials::CONFIG);
        let mut escapes = Vec::new();
        let scripts = attempts::credentials::ON_KEYS.iter();
        let scripts = scripts.map(|(name, script)| {
            let script = self.filled(script);
            (
                *name,
                "bash",
                Some(script),
                json!({"command": "bash ./attempt"}),
            )
        });
        let calls = attempts::credentials::CALLS_ON_KEYS.iter();
        let calls = calls.map(|(tool, args)| {
            let args = serde_json::from_str(&self.filled(args)).unwrap();
            (*tool, *tool, None, args)
        });
        for (name, tool, script, args) in scripts.chain(calls).collect::<Vec<_>>() {
            let is_script = script.is_some();
            if let Some(script) = script {
                fs::write(self.workspace.join("attempt"), script).unwrap();
            }
            let result = self.run_with(&config, tool, &args);
            assert!(
                !is_script || result["sandbox"] == "full",
                "{name}: {result}"
            );
            escapes.extend(self.check(name, &result, &before));
            let content = fs::read_to_string(&keys).ok();
            if content.is_none_or(|content| !content.contains(SECRET)) {
                escapes.push(format!("{name}: it changed the keys: {result}"));
            }
        }
        assert!(escapes.is_empty(), "{}", escapes.join("\n"));
    }

    /// Puts PTK's own keys into the workspace.
    fn put_keys(&self) {
        let keys = self.workspace.join(attempts::credentials::KEYS);
        let folder = keys.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("ptk.toml"), CONFIGURATION).unwrap();
        fs::write(&keys, json!({"openai": SECRET}).to_string()).unwrap();
        self.give_away();
    }

    /// Lets a program make random attempts for this long.
    pub(crate) fn fuzz(mut self, seconds: u64, rounds: u64) {
        let mut before = self.seen();
        let machine = Machine::look();
        fs::write(self.workspace.join("fuzz.py"), include_str!("fuzz.py")).unwrap();
        let places = [
            &self.outside,
            &self.home,
            &self.workspace,
            &self.terminal.path,
        ];
        let places = places.map(|path| format!("'{}'", path.display())).join(" ");
        let command = format!("python3 fuzz.py 7 {seconds} {rounds} {places}");
        let result = self.run(
            "bash",
            &json!({"command": command, "timeout": seconds + 60}),
        );
        let told = texts(&result);
        assert!(told.contains("rounds: "), "{result}");
        println!("{told}");
        if self.who == Who::Bare {
            // Without namespaces, modes, owners and times of other files are
            // not protected, nor is what runs later from a malicious program.
            assert_eq!(contents(&self.seen()), contents(&before), "{result}");
            before = self.seen();
        }
        let escape = self.escape(&told, &before);
        let escape = escape.filter(|how| self.who != Who::Bare || *how != RUNS_LATER);
        assert_eq!(escape, None, "{result}");
        assert_eq!(machine.changed(&Machine::look()), [] as [PathBuf; 0]);
        // The keeper itself may still be exiting.
        let folder = self.workspace.display().to_string();
        while !machine::processes_of(&folder).is_empty() {
            std::thread::yield_now();
        }
    }

    /// Fills shared memory in every possible way. Returns whether that
    /// succeeded.
    pub(crate) fn fill_shared_memory(&self) -> bool {
        let ways = [
            "import mmap; m = mmap.mmap(-1, 1 << 30); [m.write(bytes(1 << 24)) for _ in range(64)]",
            // No file may have more than 100 MiB.
            "import os; [os.write(os.memfd_create('x'), bytes(1 << 26)) for _ in range(16)]",
        ];
        ways.iter().any(|way| {
            let command = format!("python3 -c \"{way}; print('filled')\"");
            let result = self.run("bash", &json!({"command": command}));
            texts(&result).contains("filled")
        })
    }

    fn check(&mut self, name: &str, result: &Value, before: &Seen) -> Option<String> {
        let how = self.escape(&texts(result), before)?;
        Some(format!("{name}: {how}: {result}"))
    }

    /// A path in the workspace, where the owner may look again: a program may
    /// change modes, and only root does not need them.
    fn opened(&self, name: &str) -> PathBuf {
        let path = self.workspace.join(name);
        let above: Vec<&Path> = path.ancestors().collect();
        for part in above.into_iter().rev() {
            let is_closed = part.starts_with(&self.workspace)
                && part.symlink_metadata().is_ok_and(|it| {
                    let needed = if it.is_dir() { 0o500 } else { 0o400 };
                    !it.is_symlink() && it.permissions().mode() & needed != needed
                });
            if is_closed {
                fs::set_permissions(part, fs::Permissions::from_mode(0o700)).unwrap();
            }
        }
        path
    }

    /// Whether something new would be run later.
    fn runs_later(&self) -> bool {
        let content = |name: &str| fs::read_to_string(self.opened(name)).ok();
        let there = attempts::persistence::THERE.iter();
        let missing = attempts::persistence::MISSING.iter();
        there
            .into_iter()
            .any(|(name, known)| content(name).as_deref() != Some(known))
            || missing
                .into_iter()
                .any(|name| self.opened(name).symlink_metadata().is_ok())
    }

    /// How an attempt escaped, if it did.
    fn escape(&mut self, told: &str, before: &Seen) -> Option<&'static str> {
        let is_dead = self.victim.try_wait().unwrap().is_some();
        let is_served = self.services.iter().any(|it| it.accept().is_ok())
            || self.packets.recv(&mut [0; 9]).is_ok();
        [
            (self.seen() != *before, "it changed something"),
            (told.contains(SECRET), "it told a secret"),
            (told.contains("got out"), "it said so"),
            (self.tcp.accept().is_ok(), "it connected by TCP"),
            (self.udp.recv(&mut [0; 9]).is_ok(), "it sent by UDP"),
            (is_served, "it connected to a service"),
            (self.terminal.is_painted(), "it wrote to a terminal"),
            (is_dead, "it killed a process"),
            (!self.workspace.is_dir(), "it moved the workspace"),
            (told.contains('\u{1b}'), "it wrote to the terminal"),
            (
                Path::new("/etc/ptk-escape").exists(),
                "it wrote to the system",
            ),
            (self.runs_later(), RUNS_LATER),
        ]
        .into_iter()
        .find_map(|(is_out, how)| is_out.then_some(how))
    }

    /// Runs a script without PTK; returns its output, and whether the process
    /// that ran it exited normally.
    fn run_free(&self, script: &str) -> (String, bool) {
        let attempt = self.workspace.join("attempt");
        fs::write(&attempt, self.filled(script)).unwrap();
        let mut command = self.with_variables();
        command
            .args(["timeout", "20", "bash", "./attempt"])
            .env("HOME", &self.home)
            .env("PTK_STATE", self.folder.path().join("state"))
            .env("OPENAI_API_KEY", SECRET)
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        (told, output.status.code().is_some())
    }
}

/// Makes the attempts without a sandbox, each in a scene of its own, and as an
/// ordinary user. An attempt that fails there proves nothing.
pub(crate) fn try_free() {
    let mut held = Vec::new();
    let left_out = [
        attempts::OF_ROOT,
        attempts::OF_KEEPER,
        attempts::OF_TERMINAL,
        attempts::OF_MACHINE,
        attempts::GOING_ON,
        attempts::HARMFUL,
    ]
    .concat();
    let on_keys = attempts::credentials::ON_KEYS.iter();
    let on_keys = on_keys.map(|(name, script)| ((*name).to_owned(), (*script).to_owned()));
    for (name, script) in attempts::scripts().into_iter().chain(on_keys) {
        if left_out.contains(&&*name) || name.starts_with("call ") {
            continue;
        }
        let mut scene = Scene::new(Who::Nobody);
        if name.contains("keys") {
            scene.put_keys();
        }
        let before = scene.seen();
        let (told, is_whole) = scene.run_free(&script);
        let mut escape = scene.escape(&told, &before);
        if attempts::LATER.contains(&&*name) {
            while escape.is_none() {
                std::thread::yield_now();
                escape = scene.escape(&told, &before);
            }
        }
        if !is_whole {
            escape = Some("it killed whoever ran it");
        }
        match escape {
            Some(how) => println!("{name}: {how}"),
            None => held.push(format!("{name}: {told}")),
        }
    }
    assert!(held.is_empty(), "{}", held.join("\n"));
}

/// A snapshot of everything outside: mode, owner, and for files the time and
/// the content.
type Seen = BTreeMap<PathBuf, (u32, u32, Option<(i64, Vec<u8>)>)>;

/// The contents of the files alone.
fn contents(seen: &Seen) -> Vec<(&Path, Option<&[u8]>)> {
    let files = seen.iter().map(|(path, (_, _, content))| {
        let content = content.as_ref().map(|(_, content)| content.as_slice());
        (path.as_path(), content)
    });
    files.collect()
}

/// All texts in a result, unescaped.
fn texts(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(all) => all.values().map(texts).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// A name for an abstract socket.
fn name(root: &Path) -> String {
    let folder = root.file_name().unwrap().to_string_lossy();
    format!("ptk-{folder}")
}

/// Starts a process to be killed or inspected, with a secret of its own, and a
/// terminal.
fn sleeper(user: Option<u32>, terminal: &Terminal) -> Child {
    let mut command = Command::new("sleep");
    let terminal = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&terminal.path);
    command
        .arg("100000")
        .env("SECRET", SECRET)
        .stdin(terminal.unwrap());
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.spawn().unwrap()
}
