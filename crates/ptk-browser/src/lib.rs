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
//! | `profile` | the folder of a profile: closed to others, used by one process |
//! | `chromium` | the process: started, controlled through a pipe, ended |
//! | `connection` | the DevTools protocol on that pipe |
//! | `tab` | the open page, and the script that operates it (`hand.js`) |
//! | `tree`, `markdown/` | what an answer looks like, and the Markdown it came from |
//! | `conversation` | what the page has seen, and what is new to it |
//! | `driver`, `provider` | requests on the page, and [`BrowserProvider`] |
//! | `trouble` | errors, each with what to do about it |
//! | `unsupported` | Windows, where no browser is started |
//!
//! Guarantees:
//!
//! - A prompt is sent whole or not at all, and only once: a request that is
//!   retried after a failure gets the answer to the prompt that was sent. It is
//!   sent again only if the page has lost it.
//! - A page is sent only the messages that it has not seen yet. If the request
//!   belongs to another conversation, a new one is started on the page.
//! - No text is inserted into JavaScript source: the script gets its arguments
//!   as JSON, and runs in an isolated world that the page cannot access.
//! - Chromium is controlled through a pipe that no other process holds. It
//!   exits when the pipe closes, however this process ends.
//! - Cookies are never logged, and appear in no error and no debug output.

#![cfg_attr(
    windows,
    expect(dead_code, reason = "no browser is started on Windows")
)]

mod browser;
#[cfg(unix)]
mod chromium;
mod connection;
mod conversation;
mod cookies;
mod driver;
mod markdown;
mod page;
#[cfg(unix)]
mod profile;
mod provider;
mod tab;
mod tree;
mod trouble;
#[cfg(windows)]
mod unsupported;

#[cfg(windows)]
use unsupported::{chromium, profile};

pub use browser::{Browser, WindowError};
pub use page::{BUILT_IN, Key, Page, Send, Times};
pub use provider::BrowserProvider;
