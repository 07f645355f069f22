"""Tries at random to change something outside of the sandbox.

fuzz.py SEED SECONDS ROUNDS: for so many seconds, or so many rounds if these are
over first. Each round is a process of its own, so that none ends the others.
"""

import ctypes
import errno
import glob
import os
import random
import signal
import socket
import sys
import time

SEED, SECONDS, ROUNDS = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
PLACES = sys.argv[4:]
# Calls that only wait, or end the round before it has done anything.
LEFT_OUT = {7, 15, 23, 34, 35, 60, 61, 127, 130, 202, 219, 230, 231, 232, 247, 270, 271, 281, 449, 455}
# Calls that start a process, which would go on with the same random choices,
# and those that signal, which would end it.
STARTS = {56, 57, 58, 435}
SIGNALS = {62, 129, 200, 234, 297, 424}
libc = ctypes.CDLL(None, use_errno=True)


def some_path(r):
    base = r.choice(PLACES + ["/", "/etc", "/usr/bin", "/proc/1", "/proc/self", "/proc/sys/kernel", "/sys/fs/cgroup",
                              "/dev", "/var", "/run", "/root", "/home", "/boot", "/opt", "/srv", "."])
    found = glob.glob(os.path.join(glob.escape(base), r.choice(["*", "*/*", ".*"])))
    path = r.choice(found) if found and r.random() < 0.7 else os.path.join(base, r.choice(["new", "file", "..", "../x"]))
    if r.random() < 0.2:
        path = r.choice(["/proc/self/root", "/proc/1/root", "/proc/self/cwd/..", "/proc/thread-self/root"]) + "/" + path
    return path


def change_a_file(r):
    path, other = some_path(r), some_path(r)
    r.choice([
        lambda: os.write(os.open(path, r.choice([1, 2, 0o101, 0o1001, 0o2002, 0o20000000 | 2]), 0o666), b"fuzz"),
        lambda: os.unlink(path), lambda: os.rmdir(path), lambda: os.rename(path, other),
        lambda: os.rename("mine", other), lambda: os.link(path, "linked"), lambda: os.symlink(path, other),
        lambda: os.chmod(path, r.randrange(0o7777)), lambda: os.chown(path, r.randrange(9), -1),
        lambda: os.utime(path, (1, 1)), lambda: os.truncate(path, 0), lambda: os.mkdir(path),
        lambda: os.mkfifo(path), lambda: os.mknod(path, r.choice([0o020666, 0o060666]), r.randrange(1 << 16)),
        lambda: os.setxattr(path, "user.fuzz", b"x"), lambda: os.chroot(path),
        lambda: os.sendfile(os.open(path, 1), os.open("mine", 0), 0, 9),
    ])()


def reach_a_process(r):
    # Not those of its own: they would end it.
    pid = r.choice([1, r.randrange(1000, 99999)])
    r.choice([
        lambda: os.kill(pid, r.choice([9, 15, 19])), lambda: os.killpg(r.randrange(1000, 99999), 9),
        lambda: os.write(os.open("/proc/%d/mem" % pid, 1), b"x"), lambda: open("/proc/%d/oom_score_adj" % pid, "w").write("1000"),
        lambda: os.setpriority(0, pid, 19), lambda: libc.ptrace(16, pid, 0, 0),
        lambda: os.write(os.open("/proc/%d/fd/%d" % (pid, r.randrange(9)), 1), b"x"),
    ])()


def reach_a_service(r):
    if r.random() < 0.5:
        s = socket.socket(r.choice([2, 10]), r.choice([1, 2]))
        s.settimeout(0.05)
        s.connect((r.choice(["127.0.0.1", "localhost", "10.0.0.1", "169.254.169.254"]), r.randrange(1, 65536)))
        s.send(b"fuzz")
    else:
        s = socket.socket(1, r.choice([1, 2, 5]))
        s.settimeout(0.05)
        s.connect(some_path(r))
        s.send(b"fuzz")


def call_anything(r):
    number = r.choice([n for n in range(0, 475) if n not in LEFT_OUT | STARTS | SIGNALS])
    path = ctypes.create_string_buffer(some_path(r).encode(), 4096)
    words = [0, 1, -1, 3, 4096, 0x1000000, r.getrandbits(31), r.getrandbits(63), ctypes.addressof(path), ctypes.addressof(path)]
    libc.syscall(ctypes.c_long(number), *[ctypes.c_long(r.choice(words)) for _ in range(6)])


def round_of(seed):
    r = random.Random(seed)
    signal.alarm(2)
    for _ in range(20):
        try:
            r.choice([change_a_file, change_a_file, reach_a_process, reach_a_service, call_anything, call_anything])(r)
        except (OSError, ValueError, OverflowError):
            pass


open("mine", "w").write("fuzz")
until, number = time.monotonic() + SECONDS, 0
while number < ROUNDS and time.monotonic() < until:
    number += 1
    child = os.fork()
    if child == 0:
        try:
            # What a call does to the output is of no interest.
            null = os.open("/dev/null", 2)
            os.dup2(null, 1)
            os.dup2(null, 2)
            round_of(SEED + number)
        finally:
            os._exit(0)
    try:
        os.waitpid(child, 0)
    except OSError as error:
        if error.errno != errno.ECHILD:
            raise
print("rounds:", number)
