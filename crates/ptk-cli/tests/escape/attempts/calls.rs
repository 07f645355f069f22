//! System calls that could be used to escape, or that do not exist yet.

/// System calls by name, with their numbers on x86-64.
pub(super) const NUMBERS: &[(&str, u64)] = &[
    ("ptrace", 101),
    ("syslog", 103),
    ("uselib", 134),
    ("ustat", 136),
    ("modify_ldt", 154),
    ("pivot_root", 155),
    ("chroot", 161),
    ("acct", 163),
    ("mount", 165),
    ("umount2", 166),
    ("swapon", 167),
    ("reboot", 169),
    ("sethostname", 170),
    ("iopl", 172),
    ("ioperm", 173),
    ("init_module", 175),
    ("delete_module", 176),
    ("quotactl", 179),
    ("lookup_dcookie", 212),
    ("kexec_load", 246),
    ("add_key", 248),
    ("request_key", 249),
    ("keyctl", 250),
    ("migrate_pages", 256),
    ("unshare", 272),
    ("move_pages", 279),
    ("perf_event_open", 298),
    ("fanotify_init", 300),
    ("name_to_handle_at", 303),
    ("open_by_handle_at", 304),
    ("setns", 308),
    ("process_vm_readv", 310),
    ("process_vm_writev", 311),
    ("kcmp", 312),
    ("finit_module", 313),
    ("kexec_file_load", 320),
    ("bpf", 321),
    ("userfaultfd", 323),
    ("io_uring_setup", 425),
    ("io_uring_enter", 426),
    ("io_uring_register", 427),
    ("open_tree", 428),
    ("move_mount", 429),
    ("fsopen", 430),
    ("fsconfig", 431),
    ("fsmount", 432),
    ("fspick", 433),
    ("clone3", 435),
    ("pidfd_getfd", 438),
    ("process_madvise", 440),
    ("mount_setattr", 442),
    ("quotactl_fd", 443),
    ("memfd_secret", 447),
    ("statmount", 457),
    ("listmount", 458),
    ("lsm_set_self_attr", 460),
    ("setxattrat", 463),
    ("open_tree_attr", 467),
    ("a call of a future kernel", 480),
    ("a call that there never was", 9999),
    ("getpid of x32", 0x4000_0000 + 39),
    ("open of x32", 0x4000_0000 + 2),
    ("execve of x32", 0x4000_0000 + 520),
    ("a negative number", u64::MAX),
];

/// Makes a call with meaningless arguments. A filtered call is always rejected:
/// any other error shows that the kernel has looked at the arguments.
pub(super) fn script(number: u64) -> String {
    format!(
        r#"python3 -c '
import ctypes
l = ctypes.CDLL(None, use_errno=True)
r = l.syscall(ctypes.c_long({}), 0, 0, 0, 0, 0, 0)
if r != -1 or ctypes.get_errno() not in (1, 38): print("got", "out", r, ctypes.get_errno())
'"#,
        number.cast_signed()
    )
}

pub(super) const SCRIPTS: &[(&str, &str)] = &[(
    "a call of a 32-bit program",
    r#"python3 -c '
import ctypes, mmap
# mov eax, 20 (getpid); int 0x80; ret
code = b"\xb8\x14\0\0\0\xcd\x80\xc3"
m = mmap.mmap(-1, 4096, prot=7); m.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(m))
if ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0: print("got", "out")
'"#,
)];
