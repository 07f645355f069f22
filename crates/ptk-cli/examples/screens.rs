//! Draws the screenshots of the documentation: `ptk chat` in a terminal.
//!
//! ```sh
//! cargo build -p ptk-cli
//! cargo run -p ptk-cli --example screens -- target/debug/ptk docs/screens
//! ```

#[path = "../benches/support/terminal.rs"]
mod terminal;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use vt100::{Cell, Color};

use terminal::{Size, Terminal};

const SIZE: Size = Size {
    rows: NonZero::new(28).unwrap(),
    columns: NonZero::new(92).unwrap(),
};
/// The size of a cell, in the units of the picture.
const WIDTH: usize = 9;
const HEIGHT: usize = 19;
const MARGIN: usize = 14;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The sixteen colours.
const COLOURS: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
    "#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(ptk), Some(out)) = (args.next(), args.next()) else {
        return Err("usage: screens PTK FOLDER".into());
    };
    fs::create_dir_all(&out)?;
    let home = tempfile::tempdir()?;
    furnish(home.path())?;
    let mut chat = Terminal::new(command(&ptk.canonicalize()?, home.path()), SIZE)?;
    chat.shows("Ask something.")?;
    chat.types("Which version is in package.json, and does the code agree?\r")?;
    chat.shows("ready")?;
    chat.shows("agree")?;
    save(&chat, &out.join("answer.svg"))?;
    chat.types("Then mend it.\r")?;
    chat.shows("[y] once")?;
    save(&chat, &out.join("question.svg"))?;
    // A question that was switched to with Tab can be answered at once.
    chat.types("\t")?;
    chat.shows("to answer")?;
    chat.types("\ty")?;
    chat.shows("Both say 1.4.2")?;
    chat.types("\u{f}")?;
    chat.shows("new_string")?;
    save(&chat, &out.join("opened.svg"))?;
    Ok(())
}

fn furnish(home: &Path) -> Result<(), Box<dyn Error>> {
    let space = home.join("demo");
    fs::create_dir_all(space.join("src"))?;
    fs::write(
        space.join("package.json"),
        "{\n  \"name\": \"demo\",\n  \"version\": \"1.4.2\"\n}\n",
    )?;
    fs::write(
        space.join("src/version.ts"),
        "export const VERSION = \"1.4.1\";\n",
    )?;
    let call = |tool: &str, args: serde_json::Value, why: &str| {
        let call = json!({"tool": tool, "args": args, "reasoning": why});
        format!("<PTK_CALL>{call}</PTK_CALL>")
    };
    let look = [
        "I'll look at both.".to_owned(),
        call(
            "read_file",
            json!({"path": "package.json"}),
            "It holds the version.",
        ),
        call(
            "grep",
            json!({"pattern": "VERSION"}),
            "The code may hold one, too.",
        ),
    ];
    let answer = "They do **not** agree:\n\n\
        | File | Version |\n|---|--:|\n| `package.json` | 1.4.2 |\n| `src/version.ts` | 1.4.1 |\n\n\
        The constant was not raised:\n\n```ts\nexport const VERSION = \"1.4.1\"; // one behind\n```";
    let edit = json!({
        "path": "src/version.ts",
        "edits": [{"old_string": "1.4.1", "new_string": "1.4.2"}],
    });
    let replies = json!([
        look.join("\n"),
        answer,
        call(
            "edit",
            edit,
            "The constant has to say what package.json says."
        ),
        "Both say 1.4.2 now.",
    ]);
    Ok(fs::write(home.join("script.json"), replies.to_string())?)
}

fn command(ptk: &Path, home: &Path) -> Command {
    let mut command = Command::new(ptk);
    let script = format!("script:{}", home.join("script.json").display());
    command
        .args(["chat", "--provider", &script])
        .current_dir(home.join("demo"))
        .env("HOME", home)
        .env("PTK_STATE", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR");
    command
}

/// Writes the screen as a picture.
fn save(terminal: &Terminal, path: &Path) -> Result<(), Box<dyn Error>> {
    let screen = terminal.screen.screen();
    let (rows, columns) = (
        usize::from(SIZE.rows.get()),
        usize::from(SIZE.columns.get()),
    );
    let (width, height) = (columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" \
         font-size=\"15\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..SIZE.rows.get() {
        for column in 0..SIZE.columns.get() {
            if let Some(cell) = screen.cell(row, column) {
                draw(cell, usize::from(row), usize::from(column), &mut svg)?;
            }
        }
    }
    svg.push_str("</svg>\n");
    Ok(fs::write(path, svg)?)
}

fn draw(cell: &Cell, row: usize, column: usize, svg: &mut String) -> Result<(), Box<dyn Error>> {
    let (x, y) = (MARGIN + column * WIDTH, MARGIN + row * HEIGHT);
    let (mut front, mut back) = (cell.fgcolor(), cell.bgcolor());
    if cell.inverse() {
        (front, back) = (back, front);
    }
    let is_swapped = cell.inverse();
    let wide = if cell.is_wide() { 2 * WIDTH } else { WIDTH };
    let back = colour(back, if is_swapped { FOREGROUND } else { BACKGROUND });
    if back != BACKGROUND {
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{HEIGHT}\" fill=\"{back}\"/>"
        )?;
    }
    let text = cell.contents();
    if text.trim().is_empty() {
        return Ok(());
    }
    let front = colour(front, if is_swapped { BACKGROUND } else { FOREGROUND });
    let mut style = String::new();
    if cell.bold() {
        style.push_str(" font-weight=\"bold\"");
    }
    if cell.italic() {
        style.push_str(" font-style=\"italic\"");
    }
    if cell.dim() {
        style.push_str(" opacity=\"0.6\"");
    }
    if cell.underline() {
        style.push_str(" text-decoration=\"underline\"");
    }
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let base = y + HEIGHT - 5;
    writeln!(
        svg,
        "<text x=\"{x}\" y=\"{base}\" fill=\"{front}\"{style}>{text}</text>"
    )?;
    Ok(())
}

fn colour(colour: Color, default: &str) -> String {
    match colour {
        Color::Default => default.to_owned(),
        Color::Idx(index) => COLOURS
            .get(usize::from(index))
            .map_or_else(|| default.to_owned(), |it| (*it).to_owned()),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}
