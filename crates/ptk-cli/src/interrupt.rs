//! Signals by which somebody wants a run to end.

/// How it is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// Ctrl-C: whoever watches wants it to stop.
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
    /// From now on signals are waited for.
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

    /// From now on signals are waited for.
    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// The next one. Without signals there is nothing to wait for.
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

    /// The next one. Without signals there is nothing to wait for.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Interrupt {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Interrupt::Stop
    }
}
