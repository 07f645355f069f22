//! Syntax highlighting.

use std::sync::OnceLock;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;
use syntect::easy::HighlightLines;
use syntect::highlighting::{FontStyle, Theme};
use syntect::parsing::SyntaxSet;
use syntect::util::LinesWithEndings;
use two_face::theme::EmbeddedThemeName;

use super::style;
use crate::view::clean;

/// The most bytes of a code block that are highlighted; the rest is plain.
const MAX_BYTES: usize = 200_000;
/// The longest line that is highlighted, in bytes.
const MAX_LINE: usize = 2000;

/// A highlighted line of code.
type Row = Vec<Span<'static>>;

struct Colours {
    syntaxes: SyntaxSet,
    theme: Theme,
}

fn colours() -> &'static Colours {
    static COLOURS: OnceLock<Colours> = OnceLock::new();
    COLOURS.get_or_init(|| Colours {
        syntaxes: two_face::syntax::extra_newlines(),
        theme: two_face::theme::extra()
            .get(EmbeddedThemeName::Ansi)
            .clone(),
    })
}

/// Loads the syntax definitions in advance.
pub(crate) fn prepare() {
    colours();
}

/// Highlights code that may still grow: finished lines are not parsed again.
#[derive(Default)]
pub(crate) struct Coloured {
    language: String,
    /// The whole lines that were highlighted.
    text: String,
    rows: Vec<Row>,
    highlighter: Option<HighlightLines<'static>>,
}

impl std::fmt::Debug for Coloured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Coloured")
            .field("language", &self.language)
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl Coloured {
    /// The highlighted lines of this code.
    pub(crate) fn rows(&mut self, language: &str, code: &str) -> Vec<Row> {
        if self.language != language || !code.starts_with(&self.text) {
            *self = Self {
                language: language.to_owned(),
                highlighter: highlighter(language),
                ..Self::default()
            };
        }
        if self.text.is_empty() && self.highlighter.is_none() {
            self.highlighter = highlighter(language);
        }
        let new = code.get(self.text.len()..).unwrap_or_default();
        let mut last = None;
        for line in LinesWithEndings::from(new) {
            if line.ends_with('\n') {
                let row = self.row(line);
                self.rows.push(row);
                self.text.push_str(line);
            } else {
                last = Some(plain(line));
            }
        }
        let mut rows = self.rows.clone();
        rows.extend(last);
        rows
    }

    fn row(&mut self, line: &str) -> Row {
        let is_short = self.text.len() < MAX_BYTES && line.len() < MAX_LINE;
        let highlighter = self.highlighter.as_mut().filter(|_| is_short);
        let parts = highlighter.and_then(|it| it.highlight_line(line, &colours().syntaxes).ok());
        let Some(parts) = parts else {
            return plain(line);
        };
        let spans = parts.into_iter().map(|(style, text)| {
            let text = clean::visible(text.trim_end_matches(['\n', '\r']));
            Span::styled(text, of(style))
        });
        spans.filter(|span| !span.content.is_empty()).collect()
    }
}

/// The highlighter for a language, by its name or a file's name.
fn highlighter(language: &str) -> Option<HighlightLines<'static>> {
    let word = language.split([',', ' ', '{']).next().unwrap_or_default();
    if word.is_empty() {
        return None;
    }
    let colours = colours();
    let known = colours.syntaxes.find_syntax_by_token(word)?;
    Some(HighlightLines::new(known, &colours.theme))
}

fn plain(line: &str) -> Row {
    let text = clean::visible(line.trim_end_matches(['\n', '\r']));
    vec![Span::styled(text, style::CODE)]
}

/// The style in the terminal's own colours, as the theme names them.
fn of(style: syntect::highlighting::Style) -> Style {
    let colour = style.foreground;
    let mut shown = match (colour.a, colour.r) {
        (0, 0) => Style::new().fg(Color::Black),
        (0, 1) => Style::new().fg(Color::Red),
        (0, 2) => Style::new().fg(Color::Green),
        (0, 3) => Style::new().fg(Color::Yellow),
        (0, 4) => Style::new().fg(Color::Blue),
        (0, 5) => Style::new().fg(Color::Magenta),
        (0, 6) => Style::new().fg(Color::Cyan),
        (0, 7) => Style::new().fg(Color::Gray),
        (0, index) => Style::new().fg(Color::Indexed(index)),
        _ => Style::new(),
    };
    for (font, modifier) in [
        (FontStyle::BOLD, Modifier::BOLD),
        (FontStyle::ITALIC, Modifier::ITALIC),
        (FontStyle::UNDERLINE, Modifier::UNDERLINED),
    ] {
        if style.font_style.contains(font) {
            shown = shown.add_modifier(modifier);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &[Row]) -> String {
        let line = |row: &Row| row.iter().map(|span| span.content.as_ref()).collect();
        let lines: Vec<String> = rows.iter().map(line).collect();
        lines.join("\n")
    }

    #[test]
    fn code_is_coloured_and_nothing_of_it_is_lost() {
        let code = "fn main() {\n    let a = \"b\"; // c\n}\n";
        let rows = Coloured::default().rows("rust", code);
        assert_eq!(text(&rows), code.trim_end());
        let styles: Vec<Style> = rows.iter().flatten().map(|span| span.style).collect();
        assert!(styles.iter().any(|style| style.fg.is_some()), "{styles:?}");
        assert_eq!(
            text(&Coloured::default().rows("nonsense", code)),
            code.trim_end()
        );
    }

    #[test]
    fn code_that_grows_is_coloured_as_if_it_had_come_at_once() {
        let code = "/* a\n b */ let x = 'é';\nlet y = \"\n\";\n";
        let whole = Coloured::default().rows("rust", code);
        let mut growing = Coloured::default();
        for end in (0..=code.len()).filter(|end| code.is_char_boundary(*end)) {
            growing.rows("rust", code.get(..end).unwrap());
        }
        assert_eq!(growing.rows("rust", code), whole);
        assert_eq!(
            growing.rows("rust", "let z;\n"),
            Coloured::default().rows("rust", "let z;\n")
        );
    }
}
