//! Rendering of tables.

use super::element::Whitespace;
use super::inline;
use crate::tree::Element;

/// Renders a table, with its first row as the header.
pub(super) fn write(table: &Element) -> String {
    let mut rows = Vec::new();
    gather(table, &mut rows);
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = || {
            row.elements()
                .filter(|cell| matches!(cell.tag(), "td" | "th"))
        };
        lines.push(line(cells().map(text)));
        if number == 0 {
            lines.push(line(cells().map(|cell| rule(cell).to_owned())));
        }
    }
    lines.join("\n")
}

fn gather<'t>(element: &'t Element, rows: &mut Vec<&'t Element>) {
    for child in element.elements() {
        match child.tag() {
            "tr" => rows.push(child),
            "thead" | "tbody" | "tfoot" => gather(child, rows),
            _ => {}
        }
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

fn text(cell: &Element) -> String {
    let text = inline::line(&cell.children, Whitespace::of(cell));
    text.replace('\n', " ").replace('|', "\\|")
}

fn rule(cell: &Element) -> &'static str {
    let style = cell.attribute("style").unwrap_or_default().replace(' ', "");
    let align = cell.attribute("align").unwrap_or_default();
    let is = |side: &str| align == side || style.contains(&format!("text-align:{side}"));
    if is("center") {
        ":-:"
    } else if is("right") {
        "--:"
    } else if is("left") {
        ":--"
    } else {
        "---"
    }
}
