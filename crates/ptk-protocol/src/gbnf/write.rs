//! Writes a grammar as llama.cpp reads it.

use std::fmt::{self, Display, Formatter, Write};

use super::{Class, Gbnf, Part, Rule};

/// Writes the grammar as text, a line for each rule.
impl Display for Gbnf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.rules
            .iter()
            .try_for_each(|rule| write_rule(f, &self.rules, &rule.name, &rule.part))
    }
}

/// Writes a rule on a line of its own.
pub(super) fn write_rule(
    f: &mut impl Write,
    rules: &[Rule],
    name: &str,
    part: &Part,
) -> fmt::Result {
    write!(f, "{name} ::= ")?;
    write_part(f, rules, part, Around::Rule)?;
    f.write_char('\n')
}

/// The part around another part, which decides whether it needs brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Around {
    Rule,
    Choice,
    Sequence,
    Repeat,
}

fn write_part(f: &mut impl Write, rules: &[Rule], part: &Part, around: Around) -> fmt::Result {
    let is_compound = match part {
        Part::Choice(_) => around > Around::Rule,
        Part::Sequence(_) => around > Around::Choice,
        Part::Literal(_) | Part::Repeat { .. } => around == Around::Repeat,
        Part::Class(_) | Part::Rule(_) => false,
    };
    if is_compound {
        f.write_str("( ")?;
        write_part(f, rules, part, Around::Rule)?;
        return f.write_str(" )");
    }
    match part {
        Part::Literal(text) => {
            f.write_char('"')?;
            let mut rest = text.chars();
            while let Some(c) = rest.next() {
                write_char(f, c, &['"', '\\'], rest.clone().next())?;
            }
            f.write_char('"')
        }
        Part::Class(class) => write_class(f, class),
        Part::Rule(index) => f.write_str(rules.get(*index).map_or("", |rule| &rule.name)),
        Part::Sequence(parts) => write_all(f, rules, parts, " ", Around::Sequence),
        Part::Choice(parts) => write_all(f, rules, parts, " | ", Around::Choice),
        Part::Repeat { part, least, most } => {
            write_part(f, rules, part, Around::Repeat)?;
            match (least, most) {
                (0, Some(1)) => f.write_char('?'),
                (0, None) => f.write_char('*'),
                (1, None) => f.write_char('+'),
                (least, None) => write!(f, "{{{least},}}"),
                (least, Some(most)) if least == most => write!(f, "{{{least}}}"),
                (least, Some(most)) => write!(f, "{{{least},{most}}}"),
            }
        }
    }
}

fn write_all(
    f: &mut impl Write,
    rules: &[Rule],
    parts: &[Part],
    join: &str,
    around: Around,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_str(join)?;
        }
        write_part(f, rules, part, around)?;
    }
    Ok(())
}

fn write_class(f: &mut impl Write, class: &Class) -> fmt::Result {
    f.write_str(if class.is_negated { "[^" } else { "[" })?;
    let special = &['\\', ']', '[', '^', '-'];
    let mut ranges = class.ranges.iter().peekable();
    while let Some((from, to)) = ranges.next() {
        let next = ranges.peek().map(|(from, _)| *from);
        if from == to {
            write_char(f, *from, special, next)?;
        } else {
            write_char(f, *from, special, None)?;
            f.write_char('-')?;
            write_char(f, *to, special, next)?;
        }
    }
    f.write_char(']')
}

/// Writes a character, escaped by its number where it has a meaning of its own
/// or would be invisible.
fn write_char(f: &mut impl Write, c: char, special: &[char], next: Option<char>) -> fmt::Result {
    // XGrammar takes all digits behind `\x` for the number, llama.cpp two.
    let is_number_next = next.is_some_and(|next| next.is_ascii_hexdigit());
    match c {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '"' | '\\' | '[' | ']' if special.contains(&c) => write!(f, "\\{c}"),
        c if special.contains(&c) || c.is_control() => {
            if is_number_next {
                write!(f, "\\u{:04X}", u32::from(c))
            } else {
                write!(f, "\\x{:02X}", u32::from(c))
            }
        }
        '\u{feff}' | '\u{2028}' | '\u{2029}' => {
            write!(f, "\\u{:04X}", u32::from(c))
        }
        c => f.write_char(c),
    }
}
