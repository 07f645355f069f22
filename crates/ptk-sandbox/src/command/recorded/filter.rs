//! Which calls the recorder receives: those that change what is at a path. A
//! change to a file that is open for writing was considered when it was opened.

use std::io;
use std::os::fd::OwnedFd;

use ptk_seccomp::Instruction;

/// Flags of a file that is opened to be changed.
pub(super) const WRITES: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
/// Flags of one that is not, whatever the others are: it is not a file but a
/// location, or a file without a name.
pub(super) const HARMLESS: i32 = libc::O_PATH | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// Calls that open a file, and which argument has the flags.
#[cfg(target_arch = "x86_64")]
const OPENING: [(i64, u32); 2] = [(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: [(i64, u32); 1] = [(libc::SYS_openat, 2)];

/// `fchmodat2`, of Linux 6.6. It has this number everywhere.
pub(super) const FCHMODAT2: i64 = 452;

/// Calls that the recorder receives whatever their arguments are.
const CHANGING: [i64; 12] = [
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_truncate,
    libc::SYS_openat2,
    libc::SYS_bind,
];
/// Older calls of the same kind, on machines that have them.
#[cfg(target_arch = "x86_64")]
const OLDER: [i64; 10] = [
    libc::SYS_renameat,
    libc::SYS_creat,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_symlink,
    libc::SYS_link,
    libc::SYS_chmod,
];
#[cfg(target_arch = "aarch64")]
const OLDER: [i64; 1] = [libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLDER: [i64; 0] = [];

/// How the kernel names the machine whose calls are known here.
const MACHINE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};
/// From here on numbers are those of another kind of program, which has the
/// same calls again.
const OTHER_KIND: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0x4000_0000)
} else {
    None
};

/// Offsets of the fields that a filter decides by.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Installs the filter for this process and all that it starts.
pub(super) fn install() -> io::Result<OwnedFd> {
    let machine = MACHINE.ok_or(io::ErrorKind::Unsupported)?;
    ptk_seccomp::listen(&program(machine))
}

fn program(machine: u32) -> Vec<Instruction> {
    let ask = answer(libc::SECCOMP_RET_USER_NOTIF);
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    let unknown = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).unwrap_or(1);
    let mut program = vec![
        load(ARCHITECTURE),
        jump(libc::BPF_JEQ, machine, 1, 0),
        answer(unknown),
        load(NUMBER),
    ];
    if let Some(first) = OTHER_KIND {
        program.extend([jump(libc::BPF_JGE, first, 0, 1), answer(unknown)]);
    }
    for (call, argument) in OPENING {
        program.extend([
            jump(libc::BPF_JEQ, low(call), 0, 5),
            // Its lower half.
            load(ARGUMENTS + 8 * argument),
            jump(libc::BPF_JSET, HARMLESS.cast_unsigned(), 2, 0),
            jump(libc::BPF_JSET, WRITES.cast_unsigned(), 0, 1),
            ask,
            allow,
        ]);
    }
    for call in CHANGING.into_iter().chain(OLDER) {
        program.extend([jump(libc::BPF_JEQ, low(call), 0, 1), ask]);
    }
    program.push(allow);
    program
}

fn low(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

fn load(offset: u32) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn jump(condition: u32, value: u32, if_so: u8, else_: u8) -> Instruction {
    let code = libc::BPF_JMP | condition | libc::BPF_K;
    instruction(code, value, if_so, else_)
}

fn answer(action: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

fn instruction(code: u32, value: u32, if_so: u8, else_: u8) -> Instruction {
    Instruction {
        code: u16::try_from(code).unwrap_or_default(),
        jt: if_so,
        jf: else_,
        k: value,
    }
}
