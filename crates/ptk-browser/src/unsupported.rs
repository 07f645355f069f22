//! The browser on Windows: none is started. The pipes that control Chromium on
//! Unix are inherited by number, which the standard library does not do here.

/// In the place of a running Chromium.
pub(crate) mod chromium {
    use std::convert::Infallible;

    use crate::browser::Browser;
    use crate::connection::Connection;
    use crate::trouble::Trouble;

    /// A running browser. There is none.
    #[derive(Debug)]
    pub(crate) struct Chromium {
        pub(crate) connection: Connection,
        never: Infallible,
    }

    impl Chromium {
        /// Starts nothing.
        pub(crate) async fn start(browser: &Browser) -> Result<Self, Trouble> {
            browser.claim()?;
            Err(Trouble::Unsupported)
        }

        /// Closes the browser.
        pub(crate) async fn close(self) {
            match self.never {}
        }
    }
}

/// In the place of the folder of a profile.
pub(crate) mod profile {
    use std::path::Path;

    use crate::trouble::Trouble;

    /// Whether a browser would run as root.
    pub(crate) fn is_of_root() -> bool {
        false
    }

    /// Fails: no browser is to use the profile.
    pub(crate) fn claim(_profile: &Path) -> Result<(), Trouble> {
        Err(Trouble::Unsupported)
    }
}
