//! Detects the language of a file, by its name or by its first line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A language that files are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// JavaScript, with or without JSX.
    JavaScript,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C.
    C,
    /// C++.
    #[serde(rename = "c++")]
    Cpp,
    /// C#.
    #[serde(rename = "c#")]
    CSharp,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Bash, and whatever else a shell reads.
    Bash,
    /// Markdown.
    Markdown,
    /// Anything else.
    Text,
}

/// The properties of a language. To add one, add a row, and its rules in
/// `chunk`.
struct Row {
    language: Language,
    name: &'static str,
    /// Other common names of the language.
    aliases: &'static [&'static str],
    extensions: &'static [&'static str],
    /// Names of files in this language.
    names: &'static [&'static str],
    /// Interpreters for it, as named in a `#!` line.
    interpreters: &'static [&'static str],
}

const LANGUAGES: [Row; 15] = [
    Row {
        language: Language::Rust,
        name: "rust",
        aliases: &["rs"],
        extensions: &["rs"],
        names: &[],
        interpreters: &["rust-script"],
    },
    Row {
        language: Language::Python,
        name: "python",
        aliases: &["py"],
        extensions: &["py", "pyi", "pyw"],
        names: &["SConstruct", "SConscript", "wscript"],
        interpreters: &["python", "python2", "python3", "pypy", "pypy3"],
    },
    Row {
        language: Language::TypeScript,
        name: "typescript",
        aliases: &["ts"],
        extensions: &["ts", "mts", "cts"],
        names: &[],
        interpreters: &["ts-node", "deno", "tsx"],
    },
    Row {
        language: Language::Tsx,
        name: "tsx",
        aliases: &[],
        extensions: &["tsx"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::JavaScript,
        name: "javascript",
        aliases: &["js", "jsx"],
        extensions: &["js", "jsx", "mjs", "cjs"],
        names: &["Jakefile"],
        interpreters: &["node", "nodejs", "bun"],
    },
    Row {
        language: Language::Go,
        name: "go",
        aliases: &["golang"],
        extensions: &["go"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::Java,
        name: "java",
        aliases: &[],
        extensions: &["java"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::C,
        name: "c",
        aliases: &["h"],
        extensions: &["c", "h"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::Cpp,
        name: "c++",
        aliases: &["cpp", "cxx"],
        extensions: &[
            "cc", "cpp", "cxx", "hpp", "hh", "hxx", "ipp", "inl", "cu", "cuh",
        ],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::CSharp,
        name: "c#",
        aliases: &["csharp", "cs"],
        extensions: &["cs", "csx"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::Ruby,
        name: "ruby",
        aliases: &["rb"],
        extensions: &["rb", "rake", "gemspec", "ru"],
        names: &[
            "Rakefile",
            "Gemfile",
            "Guardfile",
            "Vagrantfile",
            "Brewfile",
        ],
        interpreters: &["ruby", "jruby"],
    },
    Row {
        language: Language::Php,
        name: "php",
        aliases: &[],
        extensions: &["php", "phtml", "php5"],
        names: &[],
        interpreters: &["php"],
    },
    Row {
        language: Language::Bash,
        name: "bash",
        aliases: &["sh", "shell", "zsh"],
        extensions: &["sh", "bash", "zsh", "ksh", "bats"],
        names: &[".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD"],
        interpreters: &["sh", "bash", "dash", "zsh", "ksh", "ash"],
    },
    Row {
        language: Language::Markdown,
        name: "markdown",
        aliases: &["md"],
        extensions: &["md", "markdown", "mdx"],
        names: &[],
        interpreters: &[],
    },
    Row {
        language: Language::Text,
        name: "text",
        aliases: &["txt", "plain"],
        extensions: &[],
        names: &[],
        interpreters: &[],
    },
];

impl Language {
    /// All supported languages.
    pub fn all() -> impl Iterator<Item = Self> {
        LANGUAGES.iter().map(|row| row.language)
    }

    /// The language of a file: by its name, or else by the interpreter in its
    /// first line.
    ///
    /// ```
    /// use ptk_search::Language;
    ///
    /// assert_eq!(Language::of("src/lib.rs", ""), Language::Rust);
    /// assert_eq!(Language::of("bin/deploy", "#!/usr/bin/env python3\n"), Language::Python);
    /// assert_eq!(Language::of("notes", "Bread, milk"), Language::Text);
    /// ```
    #[must_use]
    pub fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let extension = name
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase());
        let by_name = |row: &&Row| {
            row.names.contains(&name)
                || extension
                    .as_deref()
                    .is_some_and(|extension| row.extensions.contains(&extension))
        };
        let row = LANGUAGES.iter().find(by_name).or_else(|| {
            let program = interpreter(text)?;
            LANGUAGES
                .iter()
                .find(|row| row.interpreters.contains(&program))
        });
        row.map_or(Self::Text, |row| row.language)
    }

    /// The name of the language.
    #[must_use]
    pub fn name(self) -> &'static str {
        LANGUAGES
            .iter()
            .find(|row| row.language == self)
            .map_or("text", |row| row.name)
    }
}

/// The interpreter in a first line like `#!/usr/bin/env -S python3 -u`.
fn interpreter(text: &str) -> Option<&str> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let first = words.next()?;
    if first != "env" {
        return Some(first);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for an unknown language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("No language is called `{name}`. Known are: {}", known())]
pub struct UnknownLanguage {
    /// The unknown name.
    pub name: String,
}

fn known() -> String {
    let names: Vec<&str> = LANGUAGES.iter().map(|row| row.name).collect();
    names.join(", ")
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_lowercase();
        LANGUAGES
            .iter()
            .find(|row| row.name == lower || row.aliases.contains(&lower.as_str()))
            .map(|row| row.language)
            .ok_or_else(|| UnknownLanguage {
                name: name.to_owned(),
            })
    }
}
