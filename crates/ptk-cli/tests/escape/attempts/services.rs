//! Sockets of services in various places.

/// Connects to a path in every possible way.
macro_rules! connect {
    ($path:literal) => {
        concat!(
            "python3 -c '\nimport socket\nfor kind in 1, 2, 5:\n",
            "  try:\n    s = socket.socket(1, kind); s.connect(\"",
            $path,
            "\"); s.send(b\"x\"); print(\"got\", \"out\")\n",
            "  except OSError: pass\n'"
        )
    };
}

pub(super) const SCRIPTS: &[(&str, &str)] = &[
    ("a service in a folder", connect!("@OUTSIDE@/socket")),
    ("a service in the workspace", connect!("service.socket")),
    (
        "a service in the workspace, by its path",
        connect!("@WORKSPACE@/service.socket"),
    ),
    (
        "a service in the workspace, by another name",
        "ln service.socket other.socket; mv service.socket moved.socket; ls *.socket >/dev/null; python3 -c 'import socket; socket.socket(1).connect(\"other.socket\")'; python3 -c 'import socket; socket.socket(1).connect(\"moved.socket\")'; rm -f other.socket",
    ),
    ("a service in /var/lib", connect!("@VAR_LIB@/socket")),
    ("a service in /srv", connect!("@SRV@/socket")),
    ("a service in /opt", connect!("@OPT@/socket")),
    ("a service in root's home", connect!("@ROOT@/socket")),
    ("a service in /run", connect!("@RUN@/socket")),
    ("a service in /var/tmp", connect!("@VAR_TMP@/socket")),
    (
        "a service that takes packets",
        connect!("@OUTSIDE@/packets"),
    ),
    (
        "a service through a link",
        "ln -sfn @VAR_LIB@ s; python3 -c 'import socket; socket.socket(1).connect(\"s/socket\")'; rm -f s",
    ),
    (
        "services that many machines have",
        "for s in /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket /run/systemd/private /run/systemd/resolve/io.systemd.Resolve /run/user/*/bus /run/snapd.socket /run/mysqld/mysqld.sock /var/run/postgresql/.s.PGSQL.5432 /var/lib/lxd/unix.socket /var/lib/incus/unix.socket /run/libvirt/libvirt-sock; do [ -e $s ] && echo got out; done; true",
    ),
    (
        "what others keep",
        // The folders above the workspace are there, and hold nothing else.
        "for d in /home /srv /mnt /media /boot /lost+found /var/log /var/spool /var/mail /var/backups; do for e in $d/* $d/.[!.]*; do case \"$PWD/\" in \"$e\"/*) ;; *) [ -e \"$e\" ] && echo got out \"$e\";; esac; done; done; true",
    ),
    (
        "files of others in /var/lib",
        "cat @VAR_LIB@/file; echo x > @VAR_LIB@/file",
    ),
    (
        "files of others in /srv",
        "cat @SRV@/file; echo x > @SRV@/file",
    ),
    (
        "files of others in /run",
        "cat @RUN@/file; echo x > @RUN@/file",
    ),
    (
        "files of others in /var/tmp",
        "cat @VAR_TMP@/file; echo x > @VAR_TMP@/file",
    ),
    ("files of root", "cat @ROOT@/file; echo x > @ROOT@/file"),
];
