//! A model behind a web page, reached through Chromium.
//!
//! Many models can be asked only on a page. A [`BrowserProvider`] opens that
//! page in a Chromium of the user's own profile, types the prompt, waits for
//! the answer to settle, and reads it back as the Markdown that the page made
//! HTML of, tool calls included. What a page looks like is data: a [`Page`]
//! says by CSS selectors where the input is, what sends it, and where answers
//! appear.
//!
//! ```no_run
//! use ptk_browser::{Browser, BrowserProvider, Page};
//! use ptk_llm::{Message, Request, complete};
//!
//! # async fn asked() -> Result<(), Box<dyn std::error::Error>> {
//! let page: Page = toml::from_str(
//!     r#"
//!     name = "corner"
//!     url = "https://chat.example.org/"
//!     input = "textarea"
//!     send = { key = "Enter" }
//!     answer = ".message.assistant"
//!     busy = ".typing"
//!     "#,
//! )?;
//! let browser = Browser::new("/home/ada/.local/share/ptk/browser");
//! let model = BrowserProvider::new(page, browser);
//! let request = Request::new([Message::user("Name a prime.")]);
//! println!("{}", complete(&model, &request).await?.text);
//! # Ok(())
//! # }
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `page` | what a page looks like: [`Page`], [`Send`], [`Times`] |
//! | `browser` | the user's Chromium: [`Browser`], its profile, [`Browser::open_window`] |
//! | `cookies` | logins from a file that the user names |
//! | `chromium` | the process: started, spoken to through a pipe, ended |
//! | `connection` | the DevTools protocol on that pipe |
//! | `tab` | the page in it, and the hand that works it (`hand.js`) |
//! | `tree`, `markdown/` | what an answer looks like, and the Markdown it came from |
//! | `conversation` | what the page has seen, and what is new to it |
//! | `driver`, `provider` | a request on its way, and the face |
//! | `trouble` | what can go wrong, and what to do |
//!
//! What holds:
//!
//! - A prompt is sent whole or not at all, and only once: whoever asks again
//!   after a failure gets the answer to the prompt that was sent. Only a page
//!   that has lost it is sent it again.
//! - A page is told only what it has not seen yet. Where the conversation is
//!   another one than the page's, a new one is opened there.
//! - Nothing is pasted into JavaScript: what the hand is given are arguments,
//!   as JSON, in a world of its own that the page cannot reach.
//! - Chromium is spoken to through a pipe that nobody else holds. It ends when
//!   the pipe does, however this process ends.
//! - Cookies are not logged, and are in no error and no debug output.

mod browser;
mod chromium;
mod connection;
mod conversation;
mod cookies;
mod driver;
mod markdown;
mod page;
mod provider;
mod tab;
mod tree;
mod trouble;

pub use browser::{Browser, WindowError};
pub use page::{BUILT_IN, Key, Page, Send, Times};
pub use provider::BrowserProvider;
