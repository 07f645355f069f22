//! The part of the shell's language that every shell reads alike.
//!
//! A rule lets a command line run only if PTK and the shell that runs it are
//! certain to see the same commands. The grammar of [`super::walk`] reads far
//! more than that, but no two shells agree on all of it, and neither does it.
//! So this module reads the text a second time, on its own and by an allow
//! list: words, quotes, pipes, lists, redirections, here-documents that hold no
//! expansions, `if`, `while` and `for`. Anything else makes the text uncertain,
//! which is never an error: it only means that a person has to look.
//!
//! `tests/shells` runs random texts of this language in bash and in dash and
//! compares what they execute with what was read here.

mod grammar;
mod lexer;

use super::{RedirectMode, ShellCommand};

/// How deep compound commands may be nested.
const MAX_DEPTH: u8 = 6;
/// How long a text may be, in bytes.
const MAX_LENGTH: usize = 64 * 1024;

/// A simple command of the common language. `None` stands for a word that
/// depends on a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlainCommand {
    assignments: Vec<String>,
    words: Vec<Option<String>>,
    redirects: Vec<(RedirectMode, Option<String>)>,
    documents: Vec<String>,
}

/// The commands of a text, or `None` if shells may read it differently.
pub(super) fn read(text: &str) -> Option<Vec<PlainCommand>> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    grammar::commands(&lexer::tokens(text)?)
}

/// Whether two readings of a text found the same commands. The order does not
/// matter, nor how often a command was found.
pub(super) fn agree(plain: &[PlainCommand], read: &[&ShellCommand]) -> bool {
    plain
        .iter()
        .all(|one| read.iter().any(|other| one.is_same(other)))
        && read
            .iter()
            .all(|other| plain.iter().any(|one| one.is_same(other)))
}

impl PlainCommand {
    fn is_same(&self, other: &ShellCommand) -> bool {
        let assignments = other.assignments.iter().map(|it| it.name.as_str());
        let documents = self.documents.iter().map(String::as_str);
        self.has_same_words(other)
            && self.has_same_redirects(other)
            && assignments.eq(self.assignments.iter().map(String::as_str))
            && documents.eq(other.documents.iter().map(String::as_str))
    }

    fn has_same_words(&self, other: &ShellCommand) -> bool {
        let is_open = other.words.iter().any(|word| word.literal().is_none());
        if self.words.iter().any(Option::is_none) || is_open {
            // A variable may become any number of words; the program is known.
            let program = self.words.first().map(Option::as_deref);
            return is_open
                && self.words.iter().any(Option::is_none)
                && program == other.words.first().map(super::Word::literal);
        }
        let words = self.words.iter().map(Option::as_deref);
        words.eq(other.words.iter().map(super::Word::literal))
    }

    fn has_same_redirects(&self, other: &ShellCommand) -> bool {
        self.redirects.len() == other.redirects.len()
            && self
                .redirects
                .iter()
                .zip(&other.redirects)
                .all(|((mode, target), redirect)| {
                    let known = redirect.target.literal();
                    *mode == redirect.mode && target.as_deref() == known
                })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::CommandLine;

    const CERTAIN: [&str; 34] = [
        "cargo test",
        "cd src && cargo test 2>&1 | head -20",
        "git commit -m \"message with spaces\"",
        "git commit -m 'two\nlines: $x `y` \\'",
        "timeout 60 make",
        "grep \"\\bword\\b\" src/main.rs",
        "grep -n 'it\\(s\\)' \"a b\"'c'\\ d",
        "git diff HEAD~1 HEAD^ -- a#b",
        "a; b & c && d || e | f",
        "! grep -q x y",
        "RUST_LOG=debug CI= cargo test",
        "# first\ncargo test # then\n\nls\n",
        "cargo test \\\n  --workspace \\\n  | head",
        "cargo test > out.txt 2>/dev/null < in",
        "cargo test >>out.txt 2>&1 >&2",
        "(cd a && b)",
        "{ a; b; } > log",
        "if a; then b; elif c; then d; else e; fi",
        "while a; do b; done",
        "for x in a 'b c' \"$d\"; do echo $x ${x}; done",
        "for x in a\ndo\n  b\ndone",
        "a |\n b &&\n c",
        "cat <<'EOF'\nrm -rf / $x `y` \\\nEOF\nls",
        "cat <<\"EOF\" > a.txt\n$x\nEOF",
        "cat <<EOF\nplain text 'x' \"y\"\nEOF\n",
        "cat <<-EOF\n\ttext\n\tEOF\n",
        "cat <<A; b\nx\nA\nc",
        "bash -c 'cargo test'",
        "eval 'cargo test'",
        "bash <<EOF\ncargo test\nEOF",
        "[ -f a ] && test -n b",
        "set -euo pipefail; a",
        "echo \"naïve → §\" 'ñ'",
        "find . ! -name x -exec ls {} \\;",
    ];

    const UNCERTAIN: [&str; 67] = [
        "cat <<'E'OF\nx\nEOF",
        "cat <<E\\OF\nx\nEOF",
        "cat <<\"E\"OF\nx\nEOF",
        "cat <<EOF\n$x\nEOF",
        "cat <<EOF\na\\\nEOF\nEOF",
        "cat <<E\\\nOF\nx\nEOF",
        "cat <<EOF\nx",
        "cat <<EOF <<EOF\nx\nEOF\ny\nEOF",
        "cat <<< x",
        "echo $'a'",
        "echo $\"a\"",
        "echo \"$(a)\"",
        "echo `a`",
        "echo $((1))",
        "echo $1 $@ $?",
        "echo ${x:-y}",
        "echo a*",
        "echo a?",
        "echo [a]",
        "echo {a,b}",
        "echo a{b",
        "echo ~",
        "echo =~",
        "a=~/b c",
        "echo a\\\nb",
        "echo \\\n# a\nb",
        "a &\\\n& b",
        "echo a \\\n",
        "echo a\rb",
        "echo a\u{a0}b",
        "echo é",
        "echo 'a\u{7f}'",
        "echo 'a\u{1}'",
        "echo \"é\\a\"",
        "a &> b",
        "a >& b",
        "a |& b",
        "a >| b",
        "a <> b",
        "a 10> b",
        "a {x}> b",
        "a <(b)",
        "a 2>&-",
        "cat < /dev/tcp/x/1",
        "case a in b) c ;; esac",
        "a;; b",
        "f() { a; }",
        "function f { a; }",
        "time a",
        "coproc a",
        "[[ a ]]",
        "((a))",
        "a[1]=b",
        "a+=b",
        "a=(b)",
        "'if' a",
        "alias a=b",
        "set -o posix",
        "set -H",
        "%1",
        "$a b",
        "if a; then b; done",
        "bash -c 'echo $(a)'",
        "eval 'echo $((1))'",
        "sh -c $x",
        "bash -c \"a $x\"",
        "eval 'a; b'\"$x\"",
    ];

    #[test]
    fn everyday_lines_are_certain() {
        for line in CERTAIN {
            assert!(read(line).is_some(), "not plain: {line}");
            assert!(CommandLine::read(line).is_certain(), "{line}");
        }
    }

    #[test]
    fn what_shells_may_read_differently_is_not_certain() {
        for line in UNCERTAIN {
            assert!(!CommandLine::read(line).is_certain(), "{line}");
        }
    }
}
