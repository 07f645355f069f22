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
