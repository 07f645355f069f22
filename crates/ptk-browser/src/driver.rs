//! The thread that drives a page: one request after the other, from the prompt
//! to the settled answer.

use std::thread;
use std::time::Duration;

use ptk_llm::{Delta, FinishReason, MAX_REPLY, Request};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::Browser;
use crate::chromium::Chromium;
use crate::conversation::{Conversation, Plan};
use crate::markdown::{self, BETWEEN};
use crate::page::{Page, Send};
use crate::tab::{Button, Look, Tab, TabError};
use crate::tree;
use crate::trouble::Trouble;

/// How many deltas of an answer are buffered for the caller.
const WAITING: usize = 16;
/// The poll interval for a page that changes all the time.
const PACE: Duration = Duration::from_millis(50);
/// The poll interval for a page that does not report changes.
const TICK: Duration = Duration::from_millis(250);

/// The longest time that anything is waited for.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A delta of an answer, or an error.
type Told = Result<Delta, Trouble>;

/// A request, and the channel for its answer.
#[derive(Debug)]
pub(crate) struct Job {
    request: Request,
    tell: mpsc::Sender<Told>,
}

impl Job {
    pub(crate) fn new(request: Request) -> (Self, mpsc::Receiver<Told>) {
        let (tell, told) = mpsc::channel(WAITING);
        (Self { request, tell }, told)
    }
}

/// The thread that drives the browser. Dropping it waits until the browser has
/// exited.
#[derive(Debug)]
pub(crate) struct Driver {
    jobs: Option<mpsc::UnboundedSender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Driver {
    /// Starts the thread; `None` if that fails.
    pub(crate) fn start(page: Page, browser: Browser) -> Option<Self> {
        let (jobs, queue) = mpsc::unbounded_channel();
        // A runtime of its own: it outlives single requests, and the last
        // reference may be dropped outside any runtime.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.ok()?;
        let driving = Driving {
            page,
            browser,
            open: None,
            conversation: Conversation::default(),
        };
        let thread = thread::Builder::new().name("ptk-browser".to_owned());
        let thread = thread
            .spawn(move || runtime.block_on(driving.drive(queue)))
            .ok()?;
        Some(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    pub(crate) fn submit(&self, job: Job) -> bool {
        self.jobs
            .as_ref()
            .is_some_and(|jobs| jobs.send(job).is_ok())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A running browser and its open page.
#[derive(Debug)]
struct Open {
    chromium: Chromium,
    tab: Tab,
}

struct Driving {
    page: Page,
    browser: Browser,
    open: Option<Open>,
    conversation: Conversation,
}

/// The receiver of the answer was dropped.
struct Dropped;

impl Driving {
    async fn drive(mut self, mut queue: mpsc::UnboundedReceiver<Job>) {
        while let Some(job) = queue.recv().await {
            let served = tokio::select! {
                served = self.serve(&job) => Ok(served),
                () = job.tell.closed() => Err(Dropped),
            };
            match served {
                Ok(Ok(())) => {
                    let _ = job.tell.send(Ok(Delta::Finish(FinishReason::Stop))).await;
                }
                Ok(Err(trouble)) => {
                    self.settle(&trouble).await;
                    tracing::debug!(%trouble, page = self.page.name, "a page gave no answer");
                    let _ = job.tell.send(Err(trouble)).await;
                }
                Err(Dropped) => self.stop().await,
            }
        }
        self.close().await;
    }

    /// Closes the browser or forgets the conversation, depending on the error.
    async fn settle(&mut self, trouble: &Trouble) {
        match trouble {
            Trouble::Ended { .. } => self.close().await,
            Trouble::Reloaded | Trouble::LoggedOut { .. } => self.conversation.forget(),
            _ => {}
        }
    }

    /// Stops the answer on the page. The state of the page is unknown after
    /// that.
    async fn stop(&mut self) {
        self.conversation.forget();
        if let (Some(open), Some(stop)) = (&self.open, &self.page.stop) {
            let by = Instant::now() + TICK;
            let _ = timeout_at(by, open.tab.press(stop)).await;
        }
    }

    async fn close(&mut self) {
        self.conversation.forget();
        if let Some(open) = self.open.take() {
            drop(open.tab);
            open.chromium.close().await;
        }
    }

    async fn serve(&mut self, job: &Job) -> Result<(), Trouble> {
        self.notice_changes().await;
        let plan = self
            .conversation
            .plan(&job.request, &self.page.instructions);
        match plan.ok_or(Trouble::Nothing)? {
            Plan::Repeat(answer) => self.pass_on(&answer, job).await,
            Plan::Listen => self.listen(job).await,
            Plan::GoOn(prompt) => {
                self.check_length(&prompt)?;
                self.ask(&prompt, job).await
            }
            Plan::Begin(prompt) => {
                self.check_length(&prompt)?;
                self.begin().await?;
                self.ask(&prompt, job).await
            }
        }
    }

    /// Forgets the conversation if the page was reloaded since the last
    /// request; closes a browser that no longer answers, so that it is started
    /// again.
    async fn notice_changes(&mut self) {
        let Some(open) = &self.open else { return };
        match open.tab.is_same().await {
            Ok(true) => {}
            Ok(false) => self.conversation.forget(),
            Err(_) => self.close().await,
        }
    }

    fn check_length(&self, prompt: &str) -> Result<(), Trouble> {
        let length = prompt.chars().count();
        match self.page.max_prompt {
            Some(most) if length > most => Err(Trouble::TooLong { length, most }),
            _ => Ok(()),
        }
    }

    /// The open tab, or an error if there is none.
    fn tab(&self) -> Result<&Tab, Trouble> {
        let none = || Trouble::Ended {
            why: "it was never there".to_owned(),
        };
        self.open.as_ref().map(|open| &open.tab).ok_or_else(none)
    }

    /// Begins a new conversation, in a browser that is started if need be.
    async fn begin(&mut self) -> Result<(), Trouble> {
        self.conversation.forget();
        if let Some(open) = &self.open {
            let pressed = match &self.page.new_conversation {
                Some(button) => open.tab.press(button).await.ok(),
                None => None,
            };
            if pressed == Some(Button::Pressed) {
                return self.wait_until_ready().await;
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            none => none.insert(start(&self.browser).await?),
        };
        open.tab.visit(&self.page.url).await?;
        self.wait_until_ready().await
    }

    /// Waits until the page accepts input.
    async fn wait_until_ready(&mut self) -> Result<(), Trouble> {
        let by = after(Instant::now(), self.page.times.load);
        loop {
            match self.readiness(by).await {
                // The page was redirected; check the new document.
                Err(TabError::Lost) => {}
                Err(TabError::Trouble(trouble)) => return Err(trouble),
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(Trouble::NotFound {
                        key: "input",
                        selector: self.page.input.clone(),
                        sent: ", and nothing was sent",
                    });
                }
            }
        }
    }

    /// Waits until the page has loaded; `false` if it has no input in time.
    async fn readiness(&mut self, by: Instant) -> Result<bool, TabError> {
        let page = &self.page;
        let Some(open) = &mut self.open else {
            return Err(TabError::Lost);
        };
        open.tab.reach_in().await?;
        open.tab.check(page).await?;
        loop {
            let ready = open.tab.ready(page).await?;
            if ready.is_login {
                return Err(logged_out(page).into());
            }
            if ready.is_loaded && ready.has_input {
                return Ok(true);
            }
            if Instant::now() >= by {
                return Ok(false);
            }
            wait(&open.tab, ready.version, by).await?;
        }
    }

    /// Types a prompt, sends it, and reads the answer.
    async fn ask(&mut self, prompt: &str, job: &Job) -> Result<(), Trouble> {
        let (tab, page) = (self.tab()?, &self.page);
        tab.take_dialog();
        tab.remember(page).await?;
        let taken = tab.fill(page, prompt).await?;
        let Some(taken) = taken else {
            let look = tab.look(page).await?;
            if look.is_login {
                return Err(logged_out(page));
            }
            return Err(Trouble::NotFound {
                key: "input",
                selector: page.input.clone(),
                sent: ", and nothing was sent",
            });
        };
        if !is_same_text(prompt, &taken) {
            tab.fill(page, "").await?;
            return Err(Trouble::TakenInPart {
                length: prompt.chars().count(),
                taken: taken.chars().count(),
            });
        }
        self.send().await?;
        self.conversation.asked(&job.request);
        self.listen(job).await
    }

    async fn send(&self) -> Result<(), Trouble> {
        let (tab, page) = (self.tab()?, &self.page);
        let button = match &page.send {
            Send::Key(key) => return Ok(tab.strike(page, *key).await?),
            Send::Button(button) => button,
        };
        let by = after(Instant::now(), page.times.load);
        loop {
            let look = tab.look(page).await?;
            if tab.press(button).await? == Button::Pressed {
                return Ok(());
            }
            if Instant::now() >= by {
                tab.fill(page, "").await?;
                return Err(Trouble::NotFound {
                    key: "send",
                    selector: button.clone(),
                    sent: " that can be pressed, and nothing was sent",
                });
            }
            wait(tab, look.version, by).await?;
        }
    }

    /// Reads the answer until it settles, and passes on the part that is final.
    async fn listen(&mut self, job: &Job) -> Result<(), Trouble> {
        let (tab, page) = (self.tab()?, &self.page);
        let begun = Instant::now();
        let mut telling = Telling::default();
        let mut still = Still::default();
        let blocks = loop {
            let look = tab.look(page).await?;
            if look.is_login {
                return Err(logged_out(page));
            }
            let (version, is_busy) = (look.version, look.is_busy);
            check_times(tab, page, &look, begun)?;
            let blocks = look.items.map(|items| markdown::blocks(&tree::grow(items)));
            let blocks = blocks.unwrap_or_default();
            let settles = still.until(&blocks, is_busy, page.times.still);
            if settles.is_some_and(|at| Instant::now() >= at) {
                break blocks;
            }
            if let Some((_, sure)) = blocks.split_last() {
                telling.tell(&sure.join(BETWEEN), job).await?;
            }
            let by = after(begun, page.times.answer);
            wait(tab, version, settles.unwrap_or(by)).await?;
        };
        let answer = blocks.join(BETWEEN);
        if answer.len() > MAX_REPLY {
            return Err(Trouble::TooMuch);
        }
        self.conversation.answered(answer.clone());
        telling.finish(&answer, job).await?;
        self.conversation.told();
        Ok(())
    }

    /// Passes on an answer that was read earlier.
    async fn pass_on(&mut self, answer: &str, job: &Job) -> Result<(), Trouble> {
        Telling::default().finish(answer, job).await?;
        self.conversation.told();
        Ok(())
    }
}

async fn start(browser: &Browser) -> Result<Open, Trouble> {
    let chromium = Chromium::start(browser).await?;
    match Tab::open(&chromium.connection).await {
        Ok(tab) => Ok(Open { chromium, tab }),
        Err(error) => {
            chromium.close().await;
            Err(error.into())
        }
    }
}

fn logged_out(page: &Page) -> Trouble {
    Trouble::LoggedOut {
        name: page.name.clone(),
    }
}

/// The given time plus a wait, which is capped at a day.
fn after(time: Instant, wait: Duration) -> Instant {
    time + wait.min(DAY)
}

/// Waits for a change of the page, for a short time at most.
async fn wait(tab: &Tab, version: u64, by: Instant) -> Result<(), TabError> {
    let now = Instant::now();
    tokio::select! {
        changed = tab.changed(version) => {
            changed?;
            // Limits the rate if the page changes all the time.
            sleep_until(by.min(now + PACE)).await;
        }
        () = sleep(by.saturating_duration_since(now).min(TICK)) => {}
    }
    Ok(())
}

/// Returns a timeout error if the page has taken longer than it may.
fn check_times(tab: &Tab, page: &Page, look: &Look, begun: Instant) -> Result<(), Trouble> {
    let said = || match tab.take_dialog() {
        Some(said) => format!("; the page said: {said}"),
        None => String::new(),
    };
    let took = begun.elapsed();
    if took >= page.times.answer {
        return Err(Trouble::NotWhole {
            within: page.times.answer,
            said: said(),
        });
    }
    if look.items.is_some() || look.is_busy || took < page.times.first {
        return Ok(());
    }
    if look.held > 0 {
        return Err(Trouble::NotTaken { said: said() });
    }
    if !look.has_answers {
        return Err(Trouble::NotFound {
            key: "answer",
            selector: page.answer.clone(),
            sent: ", though the prompt was sent; it will not be sent again",
        });
    }
    Err(Trouble::NoAnswer {
        within: page.times.first,
        said: said(),
    })
}

/// Whether an input holds the whole of a text. Whitespace is ignored, because
/// editable elements break lines in their own way.
fn is_same_text(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let text = text.replace('\u{a0}', " ");
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    words(one) == words(other)
}

/// How long an answer has been unchanged.
#[derive(Debug, Default)]
struct Still {
    last: Vec<String>,
    since: Option<Instant>,
}

impl Still {
    /// When the answer will have been still for long enough, if nothing
    /// changes.
    fn until(&mut self, blocks: &[String], is_busy: bool, still: Duration) -> Option<Instant> {
        if blocks.is_empty() || is_busy {
            self.since = None;
            return None;
        }
        if self.last != blocks {
            self.last = blocks.to_vec();
            self.since = None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        Some(after(since, still))
    }
}

/// The part of an answer that was passed on.
#[derive(Debug, Default)]
struct Telling {
    told: String,
    /// Whether the page no longer shows what was passed on.
    is_astray: bool,
}

impl Telling {
    /// Passes on the part of the final text that is new.
    async fn tell(&mut self, sure: &str, job: &Job) -> Result<(), Trouble> {
        if self.is_astray {
            return Ok(());
        }
        match sure.strip_prefix(self.told.as_str()) {
            Some("") => Ok(()),
            Some(new) => {
                let new = new.to_owned();
                self.told.push_str(&new);
                // The receiver may have been dropped; `drive` notices that.
                let _ = job.tell.send(Ok(Delta::Text(new))).await;
                Ok(())
            }
            // The page may be re-rendering.
            None if self.told.starts_with(sure) => Ok(()),
            None => {
                self.is_astray = true;
                Ok(())
            }
        }
    }

    /// Passes on the rest. Text that was passed on cannot be withdrawn, so it
    /// is an error if the answer no longer begins with it.
    async fn finish(mut self, answer: &str, job: &Job) -> Result<(), Trouble> {
        if !answer.starts_with(&self.told) {
            return Err(Trouble::Rewritten);
        }
        self.is_astray = false;
        self.tell(answer, job).await
    }
}
