//! Open descriptors of the process that started `ptk`: 7 is a file with a
//! secret, 8 the same for writing, 9 its folder.

pub(super) const SCRIPTS: &[(&str, &str)] = &[
    ("read an inherited file", "head <&7"),
    ("read an inherited file by /proc", "cat /proc/self/fd/7"),
    ("read an inherited file by /dev", "cat /dev/fd/7"),
    ("write to an inherited file", "echo x >&8"),
    (
        "cut an inherited file short",
        "python3 -c 'import os; os.ftruncate(8, 0)'",
    ),
    (
        "lock an inherited file",
        "python3 -c 'import fcntl; fcntl.flock(8, 2); print(\"got\", \"out\")'",
    ),
    ("read below an inherited folder", "cat /proc/self/fd/9/file"),
    (
        "write below an inherited folder",
        "echo x > /proc/self/fd/9/new",
    ),
    (
        "enter an inherited folder",
        "cd /proc/self/fd/9 && cat file",
    ),
    (
        "open relative to an inherited folder",
        "python3 -c 'import os; print(os.read(os.open(\"file\", 0, dir_fd=9), 99))'",
    ),
    (
        "change an inherited folder",
        "python3 -c 'import os; os.fchmod(9, 0)'",
    ),
    (
        "any descriptor at all",
        r#"python3 -c '
import os
for n in range(3, 65536):
    try: os.fstat(n)
    except OSError: continue
    print("got", "out", n)
'"#,
    ),
    (
        "change whatever is open",
        r#"python3 -c '
import fcntl, os
for n in range(3, 4096):
    for change in (lambda: fcntl.flock(n, 8), lambda: os.ftruncate(n, 0), lambda: os.write(n, b"x"), lambda: print(os.pread(n, 99, 0))):
        try: change()
        except OSError: pass
'"#,
    ),
    (
        "the descriptors of the keeper",
        "for f in /proc/1/fd/* /proc/$PPID/fd/*; do cat $f; echo x > $f && echo got out; done",
    ),
];
