//! The attempts. `@NAME@` stands for a path of the scene.

mod calls;
pub(super) mod credentials;
mod descriptors;
pub(super) mod persistence;
mod services;
mod terminals;
mod variables;

/// All scripts that commands run, by name.
pub(super) fn scripts() -> Vec<(String, String)> {
    let written = [
        SCRIPTS,
        descriptors::SCRIPTS,
        terminals::SCRIPTS,
        variables::SCRIPTS,
        services::SCRIPTS,
        calls::SCRIPTS,
        persistence::SCRIPTS,
    ];
    let written = written.into_iter().flatten();
    let mut all: Vec<_> = written
        .map(|(name, script)| ((*name).to_owned(), (*script).to_owned()))
        .collect();
    let files = credentials::FILES.iter();
    all.extend(files.map(|file| (format!("read ~/{file}"), format!("cat ~/{file}"))));
    let numbers = calls::NUMBERS.iter();
    all.extend(numbers.map(|(name, number)| (format!("call {name}"), calls::script(*number))));
    all
}

/// Attempts that only a mount namespace stops.
pub(super) const ON_ATTRIBUTES: &[&str] = &[
    "change the mode",
    "change the times",
    "change the rights of a terminal",
];

/// Attempts that always fail for an ordinary user.
pub(super) const OF_ROOT: &[&str] = &[
    "write through the root of the first process",
    "write through the folder of the first process",
    "write through the root of the test",
    "change the owner",
    "make a device",
    "write to the system",
    "write to the system's programs",
    "read the passwords",
    "a raw socket",
    "a packet socket",
    "an interface of its own",
    "sudo",
    "another user",
    "the view of another process",
    "mount",
    "a new root",
    "the settings of the kernel",
    "the state of the machine",
    "the log of the kernel",
    "the console",
    "the disks",
    "the memory of the machine",
    "a service in root's home",
    "files of root",
];

/// Attempts on things that only some machines have.
pub(super) const OF_MACHINE: &[&str] = &[
    "what is typed on the machine",
    "devices that reach further",
    "services that many machines have",
];

/// Attempts that continue a previous attempt.
pub(super) const GOING_ON: &[&str] = &[
    "find what was moved",
    "read the home by VIRTUAL_ENV",
    "read the home by PATH",
    "read the home by CARGO_TARGET_DIR",
    "write the home by CARGO_TARGET_DIR",
    "write the home by GOCACHE",
];

/// Attempts on the keeper, which exists only in the sandbox.
pub(super) const OF_KEEPER: &[&str] = &["kill the keeper", "stop the keeper", "PTK's own place"];

/// Attempts that need a terminal, which tests may not have.
pub(super) const OF_TERMINAL: &[&str] = &[
    "typing into the terminal",
    "typing into any terminal",
    "type into a terminal",
];

/// Attempts that only waste resources, or would harm the machine without a
/// sandbox.
pub(super) const HARMFUL: &[&str] = &[
    "kill all",
    "kill the test",
    "a fork bomb",
    "a flood of output",
    "a flood of files",
];

/// Attempts that take effect only some time after the command has ended.
pub(super) const LATER: &[&str] = &["kill a process", "a process that stays"];

/// The scripts of commands.
const SCRIPTS: &[(&str, &str)] = &[
    // Paths and links.
    ("write by an absolute path", "echo x > @OUTSIDE@/new"),
    ("write by ..", "echo x > ../outside/new"),
    ("append to a file", "echo x >> @OUTSIDE@/file"),
    ("write through a link", "echo x > link"),
    (
        "write through a link to a folder",
        "echo x > 'folder link/new'",
    ),
    (
        "write through a new link",
        "ln -s @OUTSIDE@ mine; echo x > mine/new",
    ),
    (
        "write through a link to the root",
        "ln -s / root; echo x > root/@OUTSIDE@/new",
    ),
    (
        "write through a hard link",
        "ln @OUTSIDE@/file hard && echo x > hard",
    ),
    (
        "write through /proc/self/cwd",
        "echo x > /proc/self/cwd/../outside/new",
    ),
    (
        "write through /proc/self/root",
        "echo x > /proc/self/root@OUTSIDE@/new",
    ),
    (
        "write through the root of the first process",
        "echo x > /proc/1/root@OUTSIDE@/new",
    ),
    (
        "write through the folder of the first process",
        "echo x > /proc/1/cwd/../outside/new",
    ),
    (
        "write through the root of the test",
        "echo x > /proc/@TEST@/root@OUTSIDE@/new",
    ),
    (
        "write through the root of a process",
        "echo x > /proc/@VICTIM@/root@OUTSIDE@/new",
    ),
    ("read by an absolute path", "cat @OUTSIDE@/file"),
    ("read by ..", "cat ../outside/file"),
    ("read through a link", "cat link"),
    ("read through a new link", "ln -s @OUTSIDE@/file l; cat l"),
    ("read a key of the user", "cat @HOME_FOLDER@/.ssh/id_rsa"),
    ("read a key by ~", "cat ~/.ssh/id_rsa ~/.netrc"),
    ("copy a key", "cp -r ~/.ssh copy; cat copy/*"),
    (
        "read with the shell alone",
        "while read -r line; do echo $line; done < @OUTSIDE@/file",
    ),
    ("read with dd", "dd if=@OUTSIDE@/file"),
    (
        "read with python",
        "python3 -c 'print(open(\"@OUTSIDE@/file\").read())'",
    ),
    ("remove a file", "rm -f @OUTSIDE@/file"),
    ("remove a folder", "rm -rf @OUTSIDE@"),
    ("remove the home", "rm -rf ~ ~/.ssh"),
    ("move a file in", "mv @OUTSIDE@/file stolen"),
    (
        "move a file out",
        "mv inside @OUTSIDE@/; cp attempt @OUTSIDE@/inside",
    ),
    (
        "change the mode",
        "chmod 777 @OUTSIDE@/file; chmod -R 000 @OUTSIDE@",
    ),
    (
        "change the owner",
        "chown 1234 @OUTSIDE@/file && echo got out",
    ),
    (
        "change the times",
        "touch -d 2001-01-01 @OUTSIDE@/file; touch -d 2001-01-01 /etc/passwd && echo got out; chmod 644 /etc/passwd && echo got out",
    ),
    ("truncate", "truncate -s 0 @OUTSIDE@/file"),
    ("make a folder", "mkdir @OUTSIDE@/folder"),
    (
        "make a device",
        "mknod disk b 8 0 && echo got out; mknod mem c 1 1 && echo got out",
    ),
    ("rename over", "echo x > mine; mv -f mine @OUTSIDE@/file"),
    (
        "exchange by rename",
        "python3 -c 'import os; os.rename(\"inside\", \"@OUTSIDE@/file\")'; echo inside > inside",
    ),
    ("move the workspace", "mv @WORKSPACE@ @ABOVE@/moved"),
    ("write to the system", "echo x > /etc/ptk-escape"),
    (
        "write to the system's programs",
        "echo x > /usr/bin/ptk-escape && echo got out; echo x > /usr/local/bin/ptk-escape && echo got out",
    ),
    ("read the passwords", "cat /etc/shadow && echo got out"),
    (
        "race a link",
        "(for i in $(seq 500); do ln -sfn inside race; ln -sfn @OUTSIDE@/file race; done) & for i in $(seq 100); do echo x >> race; cat race; done; wait; rm -f race",
    ),
    (
        "race a folder",
        "mkdir -p d; (for i in $(seq 300); do rm -rf s; ln -sfn @OUTSIDE@ s; rm -f s; mkdir -p s; done) & while kill -0 $!; do echo x > s/new; done 2>/dev/null; wait; rm -rf s d",
    ),
    // Archives.
    (
        "an archive with ..",
        "mkdir -p a; printf x > a/f; tar -cf t.tar --transform 's,.*,../outside/new,' a/f; tar -xPf t.tar",
    ),
    (
        "an archive with an absolute path",
        "printf x > f; tar -cPf t.tar --transform 's,.*,@OUTSIDE@/new,' f; tar -xPf t.tar",
    ),
    (
        "an archive with a link",
        "ln -sfn @OUTSIDE@ l2; tar -cf t.tar l2; rm l2; tar -xf t.tar; echo x > l2/new",
    ),
    (
        "an archive of what is outside",
        "tar -cf - @OUTSIDE@ | tr -d '\\0'",
    ),
    // Environment and other processes.
    (
        "secrets in the environment",
        "env; set; cat /proc/self/environ | tr '\\0' '\\n'",
    ),
    (
        "the environment of the keeper",
        "cat /proc/1/environ /proc/$PPID/environ | tr '\\0' '\\n'",
    ),
    (
        "the environment of a process",
        "cat /proc/@VICTIM@/environ | tr '\\0' '\\n'",
    ),
    (
        "the environment of all",
        "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
    ),
    (
        "the memory of a process",
        "grep -q sleep /proc/@VICTIM@/maps && echo got out; dd if=/proc/@VICTIM@/mem bs=1 count=9",
    ),
    ("kill a process", "kill -9 @VICTIM@"),
    ("kill all", "kill -9 -1"),
    ("kill the test", "kill -9 @TEST@"),
    ("kill the keeper", "kill -9 $PPID; kill -9 1"),
    ("stop the keeper", "kill -STOP $PPID; kill -STOP 1"),
    (
        "trace a process",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(101, 16, @VICTIM@, 0, 0)
'"#,
    ),
    (
        "read the memory of a process",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(310, @VICTIM@, 0, 0, 0, 0, 0)
'"#,
    ),
    (
        "take a file of a process",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(438, 0, 1, 0)
'"#,
    ),
    // The network.
    (
        "TCP",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\",@TCP_PORT@),2)'",
    ),
    ("TCP by the shell", "echo x > /dev/tcp/127.0.0.1/@TCP_PORT@"),
    (
        "TCP by another name",
        "python3 -c 'import socket; socket.create_connection((\"localhost\",@TCP_PORT@),2)'; curl -m 2 http://127.0.0.1:@TCP_PORT@/",
    ),
    (
        "UDP",
        "python3 -c 'import socket; socket.socket(2,2).sendto(b\"x\",(\"127.0.0.1\",@UDP_PORT@))'",
    ),
    ("UDP by the shell", "echo x > /dev/udp/127.0.0.1/@UDP_PORT@"),
    (
        "a socket in a folder",
        "python3 -c 'import socket; socket.socket(1).connect(\"@OUTSIDE@/socket\")'",
    ),
    (
        "a socket in no folder",
        "python3 -c 'import socket; socket.socket(1).connect(\"\\0@HIDDEN@\")'",
    ),
    (
        "a raw socket",
        r#"python3 -c 'import socket; socket.socket(2,3,1).sendto(b"x",("127.0.0.1",@TCP_PORT@))'; ping -c1 -W1 127.0.0.2 >/dev/null && ping -c1 -W1 10.0.0.1 && echo got out"#,
    ),
    (
        "a packet socket",
        r#"python3 -c 'import socket; socket.socket(17,3,768); print("got", "out")'"#,
    ),
    (
        "a socket to the host",
        r#"python3 -c 'import socket; socket.socket(40,1); print("got", "out")'"#,
    ),
    (
        "an interface of its own",
        "ip link add x type dummy; ip route add default dev lo",
    ),
    // Privileges and namespaces.
    (
        "sudo",
        "sudo -n true && echo got out; su -c true </dev/null && [ $(id -u) != 0 ] && echo got out; true",
    ),
    (
        "a program that is somebody else's",
        "cp /bin/cat own; chmod 6755 own; ./own @OUTSIDE@/file",
    ),
    (
        "another user",
        "setpriv --reuid=1 cat @OUTSIDE@/file; setpriv --reuid=0 cat @OUTSIDE@/file",
    ),
    (
        "a namespace of users",
        "unshare -Ur true && echo got out; unshare -Urm true && echo got out; unshare -n true && echo got out",
    ),
    (
        "the view of another process",
        "nsenter -t 1 -a true && echo got out; nsenter -t @VICTIM@ -m true && echo got out",
    ),
    (
        "unmount",
        "umount -l /tmp; umount -l ~; cat @OUTSIDE@/file ~/.ssh/id_rsa",
    ),
    (
        "mount",
        "mkdir -p m; mount --bind / m && echo got out; mount -t tmpfs p m && echo got out",
    ),
    (
        "a new root",
        "chroot / true && echo got out; chroot /proc/1/root true && echo got out",
    ),
    (
        "a clone with a namespace",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(56, 0x10000000 | 17, 0, 0, 0, 0); tried(56, 0x40000000 | 17, 0, 0, 0, 0); tried(435, 0, 88); tried(272, 0x10000000)
'"#,
    ),
    (
        "open by handle",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(303, -100, 0, 0, 0, 0); tried(304, -100, 0, 0)
'"#,
    ),
    (
        "io_uring",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(425, 8, 0); tried(426, 0, 0, 0, 0, 0, 0)
'"#,
    ),
    (
        "bpf and keys",
        r#"python3 -c '
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
def tried(*a):
    r = l.syscall(*a)
    if r != -1 or ctypes.get_errno() not in (1, 38, 3, 13): print("got", "out", r, ctypes.get_errno())
tried(321, 0, 0, 0); tried(250, 0, -3, 0, 0); tried(248, 0, 0, 0, 0, -3); tried(298, 0, 0, 0, 0, 0); tried(323, 0)
'"#,
    ),
    (
        "the settings of the kernel",
        "echo 1 > /proc/sys/kernel/sysrq && echo got out; echo core > /proc/sys/kernel/core_pattern && echo got out; echo b > /proc/sysrq-trigger && echo got out",
    ),
    (
        "the state of the machine",
        "echo x > /sys/power/state && echo got out; date -s 2000-01-01 && echo got out; hostname ptk-escape && echo got out",
    ),
    (
        "the log of the kernel",
        "dmesg -c > /dev/null && echo got out",
    ),
    // Too much of everything.
    (
        "a fork bomb",
        "printf 'import os\\nwhile True:\\n  try: os.fork()\\n  except OSError: pass\\n' > bomb.py; timeout 1 python3 bomb.py",
    ),
    (
        "a flood of output",
        "timeout 2 yes @OUTSIDE@ | head -c 300000000",
    ),
    (
        "a file without an end",
        "head -c 200M /dev/zero > big; [ $(stat -c %s big) -gt 104857600 ] && echo got out; rm -f big",
    ),
    (
        "a flood of files",
        "mkdir -p many; for i in $(seq 2000); do : > many/$i; done; rm -rf many",
    ),
    (
        "a process that stays",
        "setsid sh -c 'sleep 1; echo x > @OUTSIDE@/new' >/dev/null 2>&1 &",
    ),
    (
        "a flood of memory",
        "python3 -c 'x = bytearray(2 << 30); print(\"got\", \"out\")'",
    ),
    // The terminal.
    (
        "escape codes",
        "printf '\\033]0;title\\007\\033[2J\\033[31mred\\033]52;c;eA==\\007'",
    ),
    (
        "escape codes in names",
        "touch \"$(printf 'a\\033[2Jb')\"; ls; rm -f a*b",
    ),
    (
        "typing into the terminal",
        r#"python3 -c 'import fcntl,os; f=os.open("/dev/tty",2); fcntl.ioctl(f,0x5412,b"x"); print("got", "out")'; echo x > /dev/tty && echo got out"#,
    ),
    (
        "typing into any terminal",
        "for t in /dev/pts/[0-9]* /dev/tty[0-9]*; do printf '\\033[2Jx' > $t; done",
    ),
    // PTK itself.
    (
        "the helper without a sandbox",
        "cp @PTK@ p; (exec -a ptk-inner @PTK@ '{\"policy\":null,\"is_strict\":false,\"isolation\":\"wanted\",\"listening\":[]}' cat @OUTSIDE@/file) 3</dev/null",
    ),
    (
        "PTK without a sandbox",
        "@PTK@ tools call bash '{\"command\": \"cat @OUTSIDE@/file\"}' --approve auto --no-sandbox",
    ),
    (
        "PTK's own place",
        "ls -la /proc/1/fd /proc/$PPID/fd; echo 'end' > /proc/1/fd/0; cat /proc/1/fd/3",
    ),
];

/// The calls of other tools.
pub(super) const CALLS: &[(&str, &str, &str)] = &[
    (
        "read_file by ..",
        "read_file",
        r#"{"path": "../outside/file"}"#,
    ),
    (
        "read_file by an absolute path",
        "read_file",
        r#"{"path": "@OUTSIDE@/file"}"#,
    ),
    (
        "read_file through a link",
        "read_file",
        r#"{"path": "link"}"#,
    ),
    (
        "read_file through a link to a folder",
        "read_file",
        r#"{"path": "folder link/file"}"#,
    ),
    (
        "read_file through /proc",
        "read_file",
        r#"{"path": "/proc/self/root@OUTSIDE@/file"}"#,
    ),
    (
        "read_file by ~",
        "read_file",
        r#"{"path": "~/.ssh/id_rsa"}"#,
    ),
    (
        "read_file with a NUL",
        "read_file",
        r#"{"path": "inside\u0000/../../outside/file"}"#,
    ),
    (
        "read of several",
        "read",
        r#"{"file_paths": ["inside", "link", "@OUTSIDE@/file"]}"#,
    ),
    (
        "write_file by ..",
        "write_file",
        r#"{"path": "../outside/new", "content": "x"}"#,
    ),
    (
        "write_file through a link",
        "write_file",
        r#"{"path": "folder link/new", "content": "x"}"#,
    ),
    (
        "write_file over a link",
        "write_file",
        r#"{"path": "link", "content": "x"}"#,
    ),
    (
        "edit through a link",
        "edit",
        r#"{"path": "link", "edits": [{"old_string": "hush", "new_string": "x"}]}"#,
    ),
    (
        "list_files outside",
        "list_files",
        r#"{"path": "@HOME_FOLDER@"}"#,
    ),
    ("glob outside", "glob", r#"{"pattern": "../outside/*"}"#),
    (
        "grep outside",
        "grep",
        r#"{"pattern": "7f3a91", "path": "@ABOVE@"}"#,
    ),
    ("grep through links", "grep", r#"{"pattern": "7f3a91"}"#),
    (
        "bash in another folder",
        "bash",
        r#"{"command": "cat file", "working_dir": "@OUTSIDE@"}"#,
    ),
];
