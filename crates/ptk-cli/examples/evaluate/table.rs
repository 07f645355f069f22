//! Counts and prints the results.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::once;
use std::time::Duration;

use crate::judge::Verdict;
use crate::requests::Kind;
use crate::run::Run;

const HEADER: [&str; 11] = [
    "",
    "requests",
    "first call",
    "all calls",
    "answer",
    "done",
    "needless",
    "forged",
    "tokens in",
    "tokens out",
    "seconds",
];

/// The counts of each kind and of all requests.
#[derive(Debug, Default)]
pub(crate) struct Table {
    kinds: BTreeMap<Kind, Count>,
    all: Count,
    /// The number of runs without an answer, by error code.
    failures: BTreeMap<String, usize>,
    missed_events: u64,
}

#[derive(Debug, Default)]
struct Count {
    requests: usize,
    first_calls: usize,
    calls: usize,
    answers: usize,
    done: usize,
    needless_calls: usize,
    forged: usize,
    input_tokens: u64,
    output_tokens: u64,
    duration: Duration,
}

impl Table {
    /// Counts a run.
    pub(crate) fn add(&mut self, kind: Kind, verdict: &Verdict, run: &Run) {
        self.kinds.entry(kind).or_default().add(verdict, run);
        self.all.add(verdict, run);
        if let Some(failure) = &run.failure {
            let code = match failure.code.as_str() {
                "" => "another error",
                code => code,
            };
            *self.failures.entry(code.to_owned()).or_default() += 1;
        }
        self.missed_events += run.missed_events;
    }
}

impl Count {
    fn add(&mut self, verdict: &Verdict, run: &Run) {
        self.requests += 1;
        self.first_calls += usize::from(verdict.is_first_call_right);
        self.calls += usize::from(verdict.are_calls_right);
        self.answers += usize::from(verdict.is_answer_right);
        self.done += usize::from(verdict.is_done());
        self.needless_calls += verdict.needless_calls;
        self.forged += usize::from(verdict.is_result_forged);
        self.input_tokens += run.input_tokens;
        self.output_tokens += run.output_tokens;
        self.duration += run.duration;
    }

    fn row(&self, name: &str) -> [String; HEADER.len()] {
        [
            name.to_owned(),
            self.requests.to_string(),
            self.first_calls.to_string(),
            self.calls.to_string(),
            self.answers.to_string(),
            self.done.to_string(),
            self.needless_calls.to_string(),
            self.forged.to_string(),
            self.input_tokens.to_string(),
            self.output_tokens.to_string(),
            format!("{:.1}", self.duration.as_secs_f64()),
        ]
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds.iter();
        let rows: Vec<[String; HEADER.len()]> = once(HEADER.map(str::to_owned))
            .chain(kinds.map(|(kind, count)| count.row(kind.name())))
            .chain(once(self.all.row("all")))
            .collect();
        for row in &rows {
            for (column, cell) in row.iter().enumerate() {
                let cells = rows.iter().filter_map(|row| row.get(column));
                let width = cells.map(String::len).max().unwrap_or_default();
                if column == 0 {
                    write!(f, "{cell:<width$}")?;
                } else {
                    write!(f, "  {cell:>width$}")?;
                }
            }
            writeln!(f)?;
        }
        if !self.failures.is_empty() {
            let failures = self.failures.iter();
            let failures = failures.map(|(code, count)| format!("{count} × {code}"));
            let failures: Vec<String> = failures.collect();
            writeln!(f, "Without an answer: {}", failures.join(", "))?;
        }
        if self.missed_events > 0 {
            let missed = self.missed_events;
            writeln!(
                f,
                "{missed} events were not printed by ptk: counts may be too low"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Failure;

    #[test]
    fn every_kind_has_a_row_and_the_last_one_is_for_all() {
        let mut table = Table::default();
        let mut verdict = Verdict {
            is_first_call_right: true,
            are_calls_right: true,
            are_files_right: true,
            is_answer_right: true,
            needless_calls: 0,
            is_result_forged: false,
        };
        let mut run = Run {
            input_tokens: 900,
            output_tokens: 20,
            duration: Duration::from_millis(1500),
            ..Run::default()
        };
        table.add(Kind::Single, &verdict, &run);
        verdict.is_answer_right = false;
        verdict.needless_calls = 2;
        verdict.is_result_forged = true;
        run.failure = Some(Failure {
            code: "LLM_CALL_FAILED".to_owned(),
            message: String::new(),
        });
        table.add(Kind::None, &verdict, &run);
        let printed = table.to_string();
        let lines: Vec<Vec<&str>> = printed
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[1..4],
            [
                [
                    "single", "1", "1", "1", "1", "1", "0", "0", "900", "20", "1.5"
                ],
                [
                    "none", "1", "1", "1", "0", "0", "2", "1", "900", "20", "1.5"
                ],
                [
                    "all", "2", "2", "2", "1", "1", "2", "1", "1800", "40", "3.0"
                ],
            ]
        );
        assert!(printed.ends_with("Without an answer: 1 × LLM_CALL_FAILED\n"));
    }
}
