//! Answers from tables: the rows that are asked for, each value with the name
//! of its column.

use super::question::{Question, Term, parts};
use crate::guide::words::{fold, many};

/// How many rows are told.
const MOST_ROWS: usize = 20;

/// How many rows are looked through.
const MOST_LINES: usize = 5_000;

/// The answer from a table; none if the text is none, or if the question is
/// about nothing in it.
pub(super) fn answer(question: &Question, text: &str) -> Option<String> {
    let mut rows = text
        .lines()
        .take(MOST_LINES)
        .filter(|line| !line.trim().is_empty());
    let head = cells(rows.next()?)?;
    let rows: Vec<Vec<String>> = rows.filter_map(cells).collect();
    let fitting = rows.iter().filter(|row| row.len() == head.len()).count();
    if rows.len() < 2 || fitting * 10 < rows.len() * 9 || question.terms.is_empty() {
        return None;
    }
    let scores: Vec<f32> = rows
        .iter()
        .map(|row| row_score(question, row, &rows))
        .collect();
    let best = scores.iter().copied().fold(0.0_f32, f32::max);
    let columns: Vec<usize> = (0..head.len())
        .filter(|at| {
            head.get(*at)
                .is_some_and(|name| question.terms.iter().any(|term| fits(term, name) > 0.5))
        })
        .collect();
    if best <= 0.0 && columns.is_empty() {
        return question.is_count.then(|| format!("{} rows", rows.len()));
    }
    let is_all = best <= 0.0;
    let chosen: Vec<&Vec<String>> = rows
        .iter()
        .zip(&scores)
        .filter(|(_, score)| is_all || **score >= 0.95 * best)
        .map(|(row, _)| row)
        .collect();
    let told: Vec<String> = chosen
        .iter()
        .take(MOST_ROWS)
        .map(|row| told(&head, row, &columns, is_all))
        .collect();
    let mut told = told.join("\n");
    if question.is_count {
        told = format!("{}:\n{told}", chosen.len());
    }
    Some(told)
}

fn told(head: &[String], row: &[String], columns: &[usize], only_columns: bool) -> String {
    let named = head.iter().zip(row).enumerate();
    let named = named.filter(|(at, _)| !only_columns || *at == 0 || columns.contains(at));
    let told: Vec<String> = named
        .map(|(_, (name, value))| format!("{name}: {value}"))
        .collect();
    told.join(", ")
}

/// How much of what is asked for stands in a row, rare words counting more.
fn row_score(question: &Question, row: &[String], rows: &[Vec<String>]) -> f32 {
    let terms = question.terms.iter().map(|term| {
        let fit = row.iter().map(|cell| fits(term, cell)).fold(0.0, f32::max);
        if fit <= 0.0 {
            return 0.0;
        }
        let count = rows
            .iter()
            .filter(|row| row.iter().any(|cell| fits(term, cell) > 0.0))
            .count();
        fit * (1.0 + many(rows.len()) / many(count.max(1))).ln()
    });
    terms.sum()
}

fn fits(term: &Term, cell: &str) -> f32 {
    let stems = parts(&fold(cell));
    if stems.contains(&term.stem) {
        1.0
    } else if stems.iter().any(|stem| term.likes.contains(stem)) {
        0.6
    } else {
        0.0
    }
}

/// The cells of a row, with commas, semicolons or tabs between.
fn cells(line: &str) -> Option<Vec<String>> {
    let separator = ['\t', ';', ',']
        .into_iter()
        .find(|separator| line.contains(*separator))?;
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        if letter == '"' {
            is_quoted = !is_quoted;
        } else if letter == separator && !is_quoted {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(letter);
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}
