//! Adds up the hours and prints them.

use std::collections::BTreeMap;
use std::io;

use chrono::{DateTime, Datelike, Duration, Local, Weekday};

use crate::store::{Stint, Store};

/// The width of the column with the names of projects.
const NAME_WIDTH: usize = 24;

/// A day with more hours than this is marked with a star.
const LONG_DAY_HOURS: i64 = 10;

/// The hours of one project.
#[derive(Debug, Default, PartialEq)]
pub struct Total {
    pub project: String,
    pub minutes: i64,
}

impl Total {
    /// The time as people write it, such as "3:05".
    pub fn clock(&self) -> String {
        format!("{}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

/// Prints the report of today, or of the week.
pub fn print(store: &Store, week: bool) -> io::Result<()> {
    let now = Local::now();
    let since = if week {
        start_of_week(now, Weekday::Mon)
    } else {
        start_of_day(now)
    };
    let stints = store.load()?;
    let totals = totals(&stints, since);
    if totals.is_empty() {
        println!("Nothing was recorded.");
        return Ok(());
    }
    for total in &totals {
        println!("{:<NAME_WIDTH$} {:>7}", total.project, total.clock());
    }
    let sum = sum(&totals);
    let star = if sum.minutes > LONG_DAY_HOURS * 60 && !week {
        " *"
    } else {
        ""
    };
    println!("{:<NAME_WIDTH$} {:>7}{star}", sum.project, sum.clock());
    Ok(())
}

/// The hours of each project since then, the longest first.
pub fn totals(stints: &[Stint], since: DateTime<Local>) -> Vec<Total> {
    let mut minutes: BTreeMap<&str, i64> = BTreeMap::new();
    for stint in stints.iter().filter(|stint| stint.start >= since) {
        // To do: a stint that passes midnight counts for the first day only.
        let end = stint.end.unwrap_or_else(Local::now);
        *minutes.entry(&stint.project).or_default() += (end - stint.start).num_minutes();
    }
    let mut totals: Vec<Total> = minutes
        .into_iter()
        .map(|(project, minutes)| Total {
            project: project.to_owned(),
            minutes,
        })
        .collect();
    totals.sort_by_key(|total| -total.minutes);
    totals
}

/// All projects together.
fn sum(totals: &[Total]) -> Total {
    Total {
        project: "Total".to_owned(),
        minutes: totals.iter().map(|total| total.minutes).sum(),
    }
}

/// Midnight before the given time.
fn start_of_day(now: DateTime<Local>) -> DateTime<Local> {
    let time = now.time().signed_duration_since(chrono::NaiveTime::MIN);
    now - time
}

/// Midnight before the first day of the week.
fn start_of_week(now: DateTime<Local>, first: Weekday) -> DateTime<Local> {
    let days = now.weekday().days_since(first);
    start_of_day(now) - Duration::days(i64::from(days))
}
