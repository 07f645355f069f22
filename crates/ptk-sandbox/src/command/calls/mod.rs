//! Which system calls a program may make, by seccomp: those that are known to
//! be needed, except those that lead out of the sandbox.

mod allowed;

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls refused with `EPERM`, so that programs that make them report why they
/// fail: looking into other processes, mounts and namespaces, what the kernel
/// offers to those who change it, and ways around this very filter.
const REFUSED: [i64; 50] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_fanotify_init,
];
/// Flags of `clone` that make a namespace.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;
/// Terminal requests that type in the place of the user.
const TYPE_INTO_TERMINAL: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The families of sockets that programs commonly use.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// The kinds of sockets that may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// All that programs commonly use: what they reach is decided elsewhere.
    Common,
    /// None. Pairs of connected ones are allowed, as they do not lead out.
    None,
}

/// Restricts this process and all that it becomes and starts.
pub(super) fn restrict(sockets: Sockets) -> Result<(), String> {
    let why = |error: &dyn std::fmt::Display| format!("seccomp failed: {error}");
    let allowed: Rules = allowed::all().map(|call| (call, Vec::new())).collect();
    let refused = rules(sockets).map_err(|error| why(&error))?;
    // Where both refuse, the one that is installed last says how.
    for filter in [
        program(allowed, errno(libc::ENOSYS), SeccompAction::Allow),
        program(refused, SeccompAction::Allow, errno(libc::EPERM)),
    ] {
        let filter = filter.map_err(|error| why(&error))?;
        apply_filter(&filter).map_err(|error| why(&error))?;
    }
    Ok(())
}

fn errno(number: i32) -> SeccompAction {
    SeccompAction::Errno(number.unsigned_abs())
}

/// A filter with one action for the calls that the rules name, and one for all
/// others. A program of another architecture is killed at its first call.
fn program(
    rules: Rules,
    others: SeccompAction,
    named: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, others, named, architecture)?.try_into()
}

fn rules(sockets: Sockets) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED.map(|call| (call, Vec::new())).into();
    let flags = (0..u64::BITS).map(|bit| 1 << bit);
    let namespaces = flags.filter(|flag| NAMESPACES & flag != 0);
    let namespaces = namespaces.map(|flag| one_of(0, SeccompCmpOp::MaskedEq(flag), flag));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let typing = TYPE_INTO_TERMINAL.into_iter();
    let typing = typing.map(|command| one_of(1, SeccompCmpOp::Eq, command));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_mknodat, devices(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, devices(1)?);
    rules.insert(libc::SYS_socket, strangers(sockets)?);
    Ok(rules)
}

/// A rule with one condition.
fn one_of(argument: u8, operation: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)?;
    SeccompRule::new(vec![condition])
}

/// Rules that match files for devices, where the argument is the kind of file.
fn devices(argument: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let kinds = [libc::S_IFCHR, libc::S_IFBLK].into_iter();
    let is_kind = SeccompCmpOp::MaskedEq(libc::S_IFMT.into());
    kinds
        .map(|kind| one_of(argument, is_kind.clone(), kind.into()))
        .collect()
}

/// Rules that match sockets of all other families. Without a rule, all match.
fn strangers(sockets: Sockets) -> Result<Vec<SeccompRule>, BackendError> {
    let families = match sockets {
        Sockets::Common => FAMILIES.as_slice(),
        Sockets::None => return Ok(Vec::new()),
    };
    let others = families.iter().map(|family| {
        let family = u64::try_from(*family).unwrap_or_default();
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
    });
    let others = others.collect::<Result<_, _>>()?;
    Ok(vec![SeccompRule::new(others)?])
}
