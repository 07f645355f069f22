//! A code search index of a workspace, by words and by meaning.
//!
//! Files → chunks → index → search. [`walk`] finds the files that the ignore
//! rules let through and reads their text, [`chunk`] cuts each along its
//! definitions, [`index`](Index) keeps the chunks on disk and up to date, and a
//! [`Searcher`] finds them.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use ptk_sandbox::Workspace;
//! use ptk_search::{Index, Query};
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path().join("project");
//! # let cache = folder.path().join("cache");
//! # std::fs::create_dir(&root)?;
//! std::fs::write(
//!     root.join("json.py"),
//!     "def parse_json(text):\n    return loads(text)\n\n\ndef write_json(value):\n    return dumps(value)\n",
//! )?;
//!
//! let index = Index::new(cache, Workspace::open(&root)?);
//! let report = index.update(&AtomicBool::new(false), &mut |_| {})?;
//! assert_eq!(report.files, 1);
//!
//! let hits = index.searcher()?.search(&Query::new("where is JSON parsed? parseJson"))?;
//! assert_eq!(hits[0].id, "json.py#1:2");
//! assert_eq!(hits[0].symbol.as_deref(), Some("parse_json"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything blocks; asynchronous callers use a thread for it.
//!
//! | Module | Its one concern |
//! |---|---|
//! | [`walk`] | the files of a workspace, and their text |
//! | [`language`] | the language of a file |
//! | [`chunk`] | a file in pieces that can be found |
//! | [`words`] | text in words, code and prose alike |
//! | `lexical` | the index by words, and the ranking |
//! | [`index`](Index) | the index on disk: commits, updates, who may write |
//! | `filter` | which chunks a search considers |
//! | [`search`] | queries and results |
//! | [`embed`] | texts as vectors |
//! | [`dense`] | vectors on disk, and the nearest among them |
//! | [`fuse`] | merges several lists of results |
//! | [`context`] | the results that fit a token budget |
//! | [`live`] | an index that is updated as its workspace changes |
//! | [`tool`] | the search as a tool for models |
//! | [`watch`] | notices changes of files |

pub mod chunk;
pub mod context;
pub mod dense;
mod document;
pub mod embed;
mod filter;
pub mod fuse;
pub mod index;
pub mod language;
mod lexical;
pub mod live;
pub mod search;
pub mod tool;
pub mod walk;
pub mod watch;
pub mod words;

pub use index::{Index, IndexError, Progress, Rebuilt, Report};
pub use language::Language;
pub use lexical::{embedding_key, embedding_text};
pub use live::{Live, LiveError};
pub use search::{Filter, Hit, Meaning, Query, SearchError, Searcher, State, Which};
pub use tool::RequestCodeContext;
