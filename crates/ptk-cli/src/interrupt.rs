//! Signals that end a run.

/// How a run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C: the user wants it to stop.
    Stop,
    /// The terminal is gone, or the machine shuts down.
    Leave,
}

/// Waits for signals, one after the other.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    signals: Option<Signals>,
}

#[cfg(unix)]
struct Signals {
    stop: tokio::signal::unix::Signal,
    end: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    gone: tokio::signal::unix::Signal,
}

impl Interrupts {
    /// Starts to listen for signals.
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = || {
            Ok::<_, std::io::Error>(Signals {
                stop: signal(SignalKind::interrupt())?,
                end: signal(SignalKind::terminate())?,
                quit: signal(SignalKind::quit())?,
                gone: signal(SignalKind::hangup())?,
            })
        };
        Self {
            signals: signals().ok(),
        }
    }

    /// Starts to listen for signals.
    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Waits for the next signal; for ever if signals cannot be received.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Interrupt {
        let Some(signals) = &mut self.signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = signals.stop.recv() => Interrupt::Stop,
            _ = signals.end.recv() => Interrupt::Leave,
            _ = signals.quit.recv() => Interrupt::Leave,
            _ = signals.gone.recv() => Interrupt::Leave,
        }
    }

    /// Waits for the next signal; for ever if signals cannot be received.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Interrupt {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Interrupt::Stop
    }
}
