//! How long commands take, by the clock and by CPU time.

use std::error::Error;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// By the clock, and by CPU time.
pub(crate) type Time = (Duration, Duration);

/// How long some work takes.
pub(crate) fn timed(
    work: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<Time, Box<dyn Error>> {
    let (clock, cpu) = (Instant::now(), cpu()?);
    work()?;
    Ok((clock.elapsed(), self::cpu()?.saturating_sub(cpu)))
}

/// The CPU time of this process and of all that it has waited for.
fn cpu() -> Result<Duration, Box<dyn Error>> {
    let mut all = 0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        all += usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    }
    Ok(Duration::from_micros(all.try_into()?))
}

/// The median of the times.
pub(crate) fn median(times: &mut [Time], of: impl Fn(&Time) -> Duration) -> Duration {
    times.sort_by_key(&of);
    times.get(times.len() / 2).map(of).unwrap_or_default()
}
