//! Random command lines.

/// Real lines, to begin with. Every word is the name of a stub.
const SEEDS: [&str; 40] = [
    "cargo test",
    "cd src && cargo test 2>&1 | head",
    "git commit -m \"a b; c $x\"",
    "git commit -m 'a\nb; c'",
    "timeout 5 make && ls",
    "grep \"\\b a\" b | head > c",
    "a; b & c && d || e | f",
    "! grep -q a b",
    "CI=1 x=2 cargo test",
    "# a\ncargo test # b; c\n\nls\n",
    "cargo test \\\n  a \\\n  | head",
    "a > b 2>/dev/null < c",
    "a >>b 2>&1 >&2",
    "(cd src && a; b)",
    "{ a; b; } > c",
    "if a; then b; elif c; then d; else e; fi",
    "while fail; do b; done",
    "until a; do b; done",
    "for x in a 'b c' \"$y\"; do echo $x; ls ${x}; done",
    "for x in a b\ndo\n  ls\ndone",
    "cat <<'EOF'\nls; a $x `b` \\\nEOF\nls",
    "cat <<\"EOF\" > c\na\nEOF\nb",
    "cat <<EOF\na 'b' \"c\"\nEOF\nd",
    "cat <<-EOF\n\ta\n\tEOF\nb",
    "cat <<E; b\na\nE\nc",
    "a <<EOF | b\nc\nEOF\nd",
    "a && cat <<EOF &&\nb\nEOF\nc",
    "(a <<EOF\nb\nEOF\n) | c",
    "for x in a b; do cat <<EOF\nc\nEOF\ndone",
    "bash -c 'a; b \"c\"'",
    "sh -c 'a && b' c",
    "eval 'a; b'",
    "bash <<EOF\na\nb c\nEOF\nd",
    "sh <<'EOF'\na 'b; c'\nEOF",
    "[ -f a ] && test -n b && c",
    "set -eu; a; set +e; fail; b",
    "a \"é\" 'Á Ё' \"漢\" b\\ c \\; d",
    "find a -exec ls {} \\; ! b",
    "a HEAD~1 b^ c#d e@f g:h",
    "a 'b'\"c\"\\d'' \"\" e",
];

/// What lines are made and changed with.
const FRAGMENTS: [&str; 149] = [
    "'",
    "\"",
    "\\",
    "\\\n",
    " \\\n",
    "\n",
    "\n\n",
    " ",
    "\t",
    ";",
    " ; ",
    "&",
    " & ",
    "|",
    " | ",
    "&&",
    " && ",
    "||",
    " || ",
    "(",
    ")",
    "( ",
    " )",
    "{",
    "}",
    "{ ",
    "; }",
    "<<EOF",
    "<<EOF\n",
    "<<'EOF'\n",
    "<<\"EOF\"\n",
    "<<-EOF\n",
    "<< EOF\n",
    "<<\"E\"OF\n",
    "<<E\\OF\n",
    "<<E\\\nOF\n",
    "\nEOF\n",
    "EOF",
    "\n\tEOF\n",
    "EOF\n",
    " EOF",
    "EOF ",
    "$x",
    "${x}",
    "\"$y\"",
    "$",
    "$'",
    "$\"",
    "`",
    "$(",
    "$((",
    "))",
    "[",
    "]",
    "[ ",
    " ]",
    "[[",
    "]]",
    "!",
    "! ",
    "#",
    " #",
    " # a",
    "~",
    "=",
    "a=",
    "x=1 ",
    "+=",
    "*",
    "?",
    "^",
    "%",
    "@",
    ",",
    ":",
    "-",
    "--",
    ">",
    "> ",
    ">>",
    "<",
    "< ",
    "2>",
    "2>&1",
    " 2>&1",
    ">&2",
    ">/dev/null",
    "&>",
    ">|",
    "<>",
    "<<<",
    "10>",
    "1 >",
    "{x}>",
    "if ",
    "then ",
    "; then ",
    "fi",
    "; fi",
    "else ",
    "; else ",
    "elif ",
    "while ",
    "until ",
    "; do ",
    "do\n",
    "done",
    "; done",
    "for x in ",
    "for ",
    " in ",
    "case ",
    "esac",
    ";;",
    ";&",
    "time ",
    "coproc ",
    "function ",
    "a() ",
    "select ",
    "eval ",
    "bash -c ",
    "sh -c ",
    "exec ",
    "set -e ",
    "set -- ",
    "alias a=b\n",
    "\r",
    "\u{a0}",
    "é",
    "Á",
    "Ё",
    "漢",
    "\u{7f}",
    "\u{1}",
    "\\a",
    "\\$",
    "\\`",
    "\\\"",
    "\\'",
    "\\ ",
    "''",
    "\"\"",
    "{}",
    "!(a)",
    "a{b,c}",
    "{1..3}",
    "echo ",
    "command ",
];

/// Words, all of them names of stubs or of builtins that do no harm.
pub(crate) const WORDS: [&str; 60] = [
    "a", "b", "c", "d", "e", "f", "x", "y", "E", "OF", "EOF", "A", "git", "cargo", "test", "ls",
    "make", "head", "cat", "grep", "find", "commit", "timeout", "nice", "env", "xargs", "time",
    "coproc", "select", "function", "if", "then", "else", "elif", "fi", "do", "done", "for", "in",
    "while", "until", "case", "esac", "echo", "cd", "src", "true", "fail", "ok", "HEAD", "status",
    "1", "2", "5", "10", "-n", "-m", "-f", "--", "CI",
];

/// A generator with lines to vary.
pub(crate) struct Generator {
    state: u64,
    kept: Vec<String>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed,
            kept: Vec::new(),
        }
    }

    /// The next number (splitmix64).
    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).unwrap()
    }

    fn one(&mut self, of: &[&str]) -> String {
        let at = self.below(of.len());
        of[at].to_owned()
    }

    /// Remembers a line that is worth varying.
    pub(crate) fn keep(&mut self, line: &str) {
        if line.len() > 300 {
            return;
        }
        if self.kept.len() < 2000 {
            self.kept.push(line.to_owned());
        } else {
            let at = self.below(2000);
            line.clone_into(&mut self.kept[at]);
        }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = match self.below(10) {
            0..=2 => self.list(3),
            3 | 4 if !self.kept.is_empty() => {
                let at = self.below(self.kept.len());
                self.kept[at].clone()
            }
            5 => {
                let parts = 1 + self.below(8);
                (0..parts).map(|_| self.part()).collect()
            }
            _ => self.one(&SEEDS),
        };
        for _ in 0..self.below(5) {
            line = self.changed(&line);
        }
        line
    }

    fn part(&mut self) -> String {
        match self.below(3) {
            0 => self.one(&WORDS),
            1 => " ".to_owned(),
            _ => self.one(&FRAGMENTS),
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let mut list = self.command(depth);
        for _ in 0..self.below(4) {
            let joint = [
                "; ", "\n", " && ", " || ", " | ", " & ", ";", "&&", "|", " |\n", " &&\n ",
            ];
            list.push_str(&self.one(&joint));
            list.push_str(&self.command(depth));
        }
        list
    }

    fn command(&mut self, depth: usize) -> String {
        let kind = if depth == 0 { 9 } else { self.below(16) };
        match kind {
            0 => format!("({})", self.list(depth - 1)),
            1 => format!("{{ {}; }}", self.list(depth - 1)),
            2 => format!(
                "if {}; then {}; fi",
                self.list(depth - 1),
                self.list(depth - 1)
            ),
            3 => format!("while fail; do {}; done", self.list(depth - 1)),
            4 => format!(
                "for x in {} {}; do {}; done",
                self.word(),
                self.word(),
                self.list(depth - 1)
            ),
            5 => format!("! {}", self.command(depth - 1)),
            6 => {
                let inner = self.list(depth - 1).replace('\'', "'\\''");
                let shell = self.one(&["bash -c", "sh -c", "eval", "timeout 5"]);
                format!("{shell} '{inner}'")
            }
            7 => {
                let (program, body) = (self.one(&WORDS), self.list(depth - 1));
                let (open, close) = match self.below(4) {
                    0 => ("<<EOF", "EOF"),
                    1 => ("<<'E'", "E"),
                    2 => ("<<-\"OF\"", "\t\tOF"),
                    _ => ("<< E", "E"),
                };
                format!("{program} {open}\n{body}\n{close}\n{}", self.command(0))
            }
            _ => self.simple(),
        }
    }

    fn simple(&mut self) -> String {
        let mut parts = Vec::new();
        if self.below(8) == 0 {
            parts.push(format!("CI={}", self.one(&WORDS)));
        }
        for _ in 0..=self.below(4) {
            parts.push(self.word());
        }
        if self.below(5) == 0 {
            let sign = self.one(&[">", ">>", "2>", "<", ">", "2>&1 >", "> /dev/null 2>"]);
            let space = self.one(&["", " "]);
            parts.push(format!("{sign}{space}{}", self.one(&WORDS)));
        }
        let gap = self.one(&[" ", " ", " ", "  ", "\t", " \\\n", " \\\n  "]);
        parts.join(&gap)
    }

    fn word(&mut self) -> String {
        let word = self.one(&WORDS);
        let (other, more) = (self.one(&WORDS), self.one(&FRAGMENTS));
        match self.below(16) {
            0 => format!("'{word} {more}'"),
            1 => format!("\"{word} {more}\""),
            2 => format!("'{word}'{other}"),
            3 => format!("{word}\"{other}\""),
            4 => format!("{word}\\ {other}"),
            5 => format!("\"$x {word}\""),
            6 => format!("{word}{more}"),
            7 => format!("\\{word}"),
            _ => word,
        }
    }

    /// The line with something put in, left out or moved.
    fn changed(&mut self, line: &str) -> String {
        let chars: Vec<char> = line.chars().collect();
        let at = self.below(chars.len() + 1);
        let end = (at + 1 + self.below(4)).min(chars.len());
        let text = |range: &[char]| range.iter().collect::<String>();
        let (before, middle) = (text(&chars[..at]), text(&chars[at.min(end)..end]));
        let after = text(&chars[end.max(at)..]);
        match self.below(8) {
            0 => format!("{before}{after}"),
            1 => format!("{before}{middle}{middle}{after}"),
            2 => format!("{before}{}{after}", self.part()),
            3 => format!("{before}'{middle}'{after}"),
            4 => format!("{before}\"{middle}\"{after}"),
            5 => format!("{after}{middle}{before}"),
            _ => format!("{before}{}{middle}{after}", self.part()),
        }
    }
}
