//! CPU time of a piece of work, and sizes to measure it at. Wall time would
//! also count what else the machine was doing.

#![allow(dead_code, reason = "no benchmark needs all of it")]

use std::time::Duration;

use cpu_time::ProcessTime;

/// How long short work is repeated, so that the clock's resolution does not
/// matter.
const SAMPLE: Duration = Duration::from_millis(20);
/// How many samples are taken; the best one counts, as the others were
/// disturbed.
const SAMPLES: usize = 15;
/// Sampling stops once it has taken this long.
const BUDGET: Duration = Duration::from_secs(2);
/// Work that would take more seconds than this is not measured.
const PATIENCE: f64 = 20.0;

/// The sizes of inputs, in bytes, and their names.
pub(crate) const SIZES: [(usize, &str); 6] = [
    (2_000, "2 KB"),
    (20_000, "20 KB"),
    (200_000, "200 KB"),
    (1_000_000, "1 MB"),
    (2_000_000, "2 MB"),
    (10_000_000, "10 MB"),
];

/// CPU seconds of one run.
pub(crate) fn seconds(work: &mut dyn FnMut()) -> f64 {
    let once = run(work, 1);
    let repeats = (SAMPLE.as_secs_f64() / once.max(1e-9)).clamp(1.0, 1e6);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was clamped"
    )]
    let repeats = repeats as u32;
    let mut best = once;
    let mut spent = once;
    for _ in 0..SAMPLES {
        let each = run(work, repeats);
        best = best.min(each);
        spent += each * f64::from(repeats);
        if spent > BUDGET.as_secs_f64() {
            break;
        }
    }
    best
}

fn run(work: &mut dyn FnMut(), repeats: u32) -> f64 {
    let start = ProcessTime::now();
    for _ in 0..repeats {
        work();
    }
    start.elapsed().as_secs_f64() / f64::from(repeats)
}

/// Millions of bytes a second.
#[allow(clippy::cast_precision_loss, reason = "a speed is no exact number")]
pub(crate) fn speed(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / seconds / 1e6
}

/// Predicts how long the next larger input takes, from the last two, so that
/// work whose cost grows with the square does not hold up the rest.
#[derive(Debug, Default)]
pub(crate) struct Foresight {
    last: Option<(f64, f64)>,
    growth: f64,
}

impl Foresight {
    /// Whether an input of so many bytes is worth the wait.
    pub(crate) fn allows(&self, bytes: usize) -> bool {
        self.last.is_none_or(|(size, seconds)| {
            seconds * (as_float(bytes) / size).powf(self.growth.max(1.0)) < PATIENCE
        })
    }

    /// Records how long an input of so many bytes took.
    pub(crate) fn learn(&mut self, bytes: usize, seconds: f64) {
        let bytes = as_float(bytes);
        if let Some((size, before)) = self.last {
            self.growth = (seconds / before).ln() / (bytes / size).ln();
        }
        self.last = Some((bytes, seconds));
    }
}

#[allow(clippy::cast_precision_loss, reason = "a size of some megabytes")]
fn as_float(bytes: usize) -> f64 {
    bytes as f64
}

/// A speed, rounded to a sensible number of digits.
pub(crate) fn rounded(speed: f64) -> String {
    match speed {
        s if s < 1.0 => format!("{s:.2}"),
        s if s < 10.0 => format!("{s:.1}"),
        s => format!("{s:.0}"),
    }
}
