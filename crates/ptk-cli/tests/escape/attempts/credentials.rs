//! Files in which developer tools keep tokens and keys. Each of them contains a
//! secret.

pub(in crate::escape) const FILES: &[&str] = &[
    ".ssh/id_rsa",
    ".netrc",
    ".git-credentials",
    ".gitconfig",
    ".config/git/credentials",
    ".config/git/config",
    ".config/gh/hosts.yml",
    ".config/gcloud/credentials.db",
    ".config/ptk/keys.json",
    ".config/uv/uv.toml",
    ".config/pip/pip.conf",
    ".config/containers/auth.json",
    ".local/share/uv/credentials/host",
    ".local/share/keyrings/login.keyring",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
    ".nuget/NuGet/NuGet.Config",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".gem/credentials",
    ".bundle/config",
    ".terraform.d/credentials.tfrc.json",
    ".gnupg/private-keys-v1.d/key",
    ".password-store/mail.gpg",
    ".bash_history",
    ".mozilla/firefox/profile/logins.json",
    ".deno/credentials",
    ".rustup/token",
];

/// The folder in the workspace that `XDG_CONFIG_HOME` names when the attempts
/// on PTK's own keys are made, and the key file in it.
pub(in crate::escape) const CONFIG: &str = "settings";
pub(in crate::escape) const KEYS: &str = "settings/ptk/keys.json";

/// Attempts on PTK's own keys, where the folder that holds them is in the
/// workspace.
pub(in crate::escape) const ON_KEYS: &[(&str, &str)] = &[
    ("read the keys", "cat settings/ptk/keys.json"),
    (
        "read the keys by their path",
        "cat @WORKSPACE@/settings/ptk/keys.json",
    ),
    (
        "read the keys through a link",
        "ln -s settings/ptk keys; cat keys/*",
    ),
    (
        "read the keys by another name",
        "ln settings/ptk/keys.json other-name; cat other-name",
    ),
    ("copy the keys", "cp -r settings copy; cat copy/ptk/*"),
    ("an archive of the keys", "tar -cf - settings | tr -d '\\0'"),
    (
        "read all keys with python",
        "python3 -c 'import pathlib; [print(p.read_text()) for p in pathlib.Path(\".\").rglob(\"*.json\")]'",
    ),
    (
        "move the keys",
        "mv settings/ptk/keys.json moved; cat moved",
    ),
    (
        "move the folder of the keys",
        "mv settings/ptk settings/moved; cat settings/moved/*",
    ),
    (
        "move the folders of the keys",
        "mv settings moved; cat moved/ptk/*",
    ),
    (
        "find what was moved",
        "cat moved/ptk/* settings/*/keys.json",
    ),
];

/// The same with other tools.
pub(in crate::escape) const CALLS_ON_KEYS: &[(&str, &str)] = &[
    ("read_file", r#"{"path": "settings/ptk/keys.json"}"#),
    (
        "read_file",
        r#"{"path": "@WORKSPACE@/settings/ptk/keys.json"}"#,
    ),
    ("read_file", r#"{"path": "keys/keys.json"}"#),
    ("read", r#"{"file_paths": ["settings/ptk/keys.json"]}"#),
    ("grep", r#"{"pattern": "7f3a91", "hidden": true}"#),
    (
        "grep",
        r#"{"pattern": "7f3a91", "path": "settings/ptk/keys.json"}"#,
    ),
    (
        "edit",
        r#"{"path": "settings/ptk/keys.json", "edits": [{"old_string": "hush", "new_string": "x"}]}"#,
    ),
    (
        "write_file",
        r#"{"path": "settings/ptk/keys.json", "content": "x"}"#,
    ),
    ("bash", r#"{"command": "cat settings/ptk/keys.json"}"#),
];

/// The content of a file in its tool's format, with the secret in it.
pub(in crate::escape) fn content(file: &str, secret: &str) -> String {
    match file {
        ".gitconfig" | ".config/git/config" => format!(
            "[user]\n\tname = Ada\n[url \"https://{secret}@host/\"]\n\tinsteadOf = https://host/\n"
        ),
        ".cargo/config.toml" => {
            format!("[build]\njobs = 1\n[registries.mine]\ntoken = \"{secret}\"\n")
        }
        _ => format!("{secret}\n"),
    }
}
