//! Terminals and devices of the machine. A secret was typed in the terminal
//! `@TERMINAL@`.

pub(super) const SCRIPTS: &[(&str, &str)] = &[
    (
        "read what is typed elsewhere",
        "timeout 1 head -c 12 < @TERMINAL@",
    ),
    ("paint over a terminal", "printf painted > @TERMINAL@"),
    (
        "paint over all terminals",
        "for t in /dev/pts/[0-9]*; do printf painted > $t; done",
    ),
    (
        "read all terminals",
        "for t in /dev/pts/[0-9]*; do timeout 1 head -c 12 < $t; done",
    ),
    (
        "a terminal by a process that has it",
        "timeout 1 head -c 12 < /proc/@VICTIM@/fd/0; printf painted > /proc/@VICTIM@/fd/0",
    ),
    (
        "type into a terminal",
        r#"python3 -c '
import fcntl, os
for c in (0x5412, 0x541C):
    fcntl.ioctl(os.open("@TERMINAL@", 2), c, b"x")
    print("got", "out")
'"#,
    ),
    (
        "change the mode of a terminal",
        "stty -F @TERMINAL@ echo && echo got out",
    ),
    (
        "change the rights of a terminal",
        "chmod 777 @TERMINAL@ && echo got out",
    ),
    (
        "take a terminal for its own",
        "setsid -c true < @TERMINAL@ && echo got out",
    ),
    (
        "terminals by their master",
        r#"python3 -c '
import os
_, own = os.openpty()
for n in range(64):
    path = "/dev/pts/%d" % n
    try: os.open(path, os.O_RDWR | os.O_NOCTTY)
    except OSError: continue
    if path != os.ttyname(own): print("got", "out", path)
'"#,
    ),
    (
        "the console",
        "for d in /dev/console /dev/tty0 /dev/tty1 /dev/ttyS0 /dev/vcs /dev/vcsa1; do echo x > $d && echo got out; done",
    ),
    (
        "what is typed on the machine",
        "for d in /dev/input/event0 /dev/uinput /dev/hidraw0; do : < $d && echo got out; done",
    ),
    (
        "the disks",
        "for d in /dev/sda /dev/vda /dev/nvme0n1 /dev/dm-0 /dev/loop0 /dev/loop-control; do head -c 1 $d && echo got out; done",
    ),
    (
        "the memory of the machine",
        "for d in /dev/mem /dev/kmem /dev/port /proc/kcore; do head -c 1 $d && echo got out; done",
    ),
    (
        "devices that reach further",
        "for d in /dev/kmsg /dev/fuse /dev/kvm /dev/net/tun /dev/vsock /dev/vhost-vsock /dev/dri /dev/snd /dev/rtc0 /dev/watchdog; do : < $d && echo got out; done",
    ),
    ("shared memory of others", "cat /dev/shm/ptk-escape*"),
];
