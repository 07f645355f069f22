//! [`BrowserProvider`]: a provider whose model is behind a page.

use std::sync::{Mutex, PoisonError};

use futures_util::stream::{self, StreamExt as _};
use ptk_llm::{Deltas, LlmError, LlmErrorKind, Provider, Request};

use crate::driver::{Driver, Job};
use crate::trouble::Trouble;
use crate::{Browser, Page};

/// The prefix of a page's name in the name of its provider.
const KIND: &str = "browser:";

/// A model behind a page.
///
/// The browser starts with the first request and ends when this is dropped.
/// One request is served at a time. Dropping a reply stops it on the page,
/// where the page can be stopped.
///
/// It remembers what its page has seen, so a request that continues the
/// conversation sends only the new messages. Any other request starts a new
/// conversation.
#[derive(Debug)]
pub struct BrowserProvider {
    name: String,
    page: Page,
    browser: Browser,
    /// Set with the first request.
    driver: Mutex<Option<Driver>>,
}

impl BrowserProvider {
    /// Creates a provider for this page and browser. Nothing is started yet.
    #[must_use]
    pub fn new(page: Page, browser: Browser) -> Self {
        Self {
            name: format!("{KIND}{}", page.name),
            page,
            browser,
            driver: Mutex::new(None),
        }
    }

    /// Passes a request to the driver, which is started with the first one.
    fn submit(&self, job: Job) -> bool {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || Driver::start(self.page.clone(), self.browser.clone());
        if driver.is_none() {
            *driver = start();
        }
        driver.as_ref().is_some_and(|driver| driver.submit(job))
    }

    /// Converts an error of the browser into the provider's error.
    fn error(&self, request: &Request, trouble: &Trouble) -> LlmError {
        let error = LlmError::of(self, request, trouble.kind());
        error.message(trouble.to_string()).page(self.page.title())
    }
}

impl Provider for BrowserProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let begin = async move {
            let (job, told) = Job::new(request.clone());
            if self.submit(job) {
                let told =
                    stream::unfold(told, |mut told| async { Some((told.recv().await?, told)) });
                let told = told.map(|delta| delta.map_err(|trouble| self.error(request, &trouble)));
                return told.left_stream();
            }
            let gone = LlmError::of(self, request, LlmErrorKind::NotStarted);
            let gone = gone.message("the browser was not started: no thread could be");
            stream::iter([Err(gone.page(self.page.title()))]).right_stream()
        };
        stream::once(begin).flatten().boxed()
    }
}
