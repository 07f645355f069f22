//! The user's variables name folders in the workspace, and a command plants
//! links there. That does not change what the next command may access. `GOPATH`
//! leads through a link that existed before.

pub(super) const SCRIPTS: &[(&str, &str)] = &[
    (
        "plant links where variables lead, then read",
        "for v in venv bin target gocache cargo; do rm -rf $v; ln -sfn @HOME_FOLDER@ $v; done; cat venv/.netrc",
    ),
    ("read the home by its name", "cat @HOME_FOLDER@/.netrc"),
    (
        "read the home by VIRTUAL_ENV",
        "cat \"$VIRTUAL_ENV/.netrc\"",
    ),
    ("read the home by PATH", "cat bin/.ssh/id_rsa"),
    (
        "read the home by CARGO_TARGET_DIR",
        "cat \"$CARGO_TARGET_DIR/.netrc\"",
    ),
    (
        "write the home by CARGO_TARGET_DIR",
        "echo x > \"$CARGO_TARGET_DIR/new\"",
    ),
    ("write the home by its name", "echo x > @HOME_FOLDER@/new"),
    (
        "write the home by GOCACHE",
        "echo x > \"$GOCACHE/new\"; rm -rf \"$GOCACHE/.ssh\"",
    ),
    (
        "read what lies behind an older link",
        "cat \"$GOPATH/file\"; cat @OUTSIDE@/file",
    ),
    (
        "plant links to what is above",
        "for v in venv bin target gocache cargo; do rm -f $v; ln -sfn / $v; done; cat venv@OUTSIDE@/file; echo x > target@OUTSIDE@/new",
    ),
    (
        "use links to what is above",
        "cat @OUTSIDE@/file; echo x > @OUTSIDE@/new",
    ),
    (
        "plant links in folders",
        "for v in venv bin target gocache cargo; do rm -f $v; mkdir -p $v; ln -sfn @HOME_FOLDER@ $v/bin; ln -sfn @HOME_FOLDER@ $v/registry; done; cat venv/bin/.netrc",
    ),
    (
        "use links in folders",
        "cat @HOME_FOLDER@/.netrc cargo/registry/.netrc; echo x > target/bin/new",
    ),
    (
        "an environment of Python that leads out",
        "rm -rf venv; mkdir -p venv/bin; echo home = / > venv/pyvenv.cfg; ln -s @HOME_FOLDER@/.ssh/id_rsa venv/bin/python; cat venv/bin/python",
    ),
    (
        "variables, tidied up",
        "rm -rf venv bin target gocache cargo; cat @HOME_FOLDER@/.netrc",
    ),
];
