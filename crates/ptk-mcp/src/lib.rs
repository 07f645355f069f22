//! Tools from servers of the Model Context Protocol, and PTK's tools as such a
//! server.
//!
//! A [`ServerDeclaration`] says how a server is reached: a command that runs in
//! the sandbox, or an address. [`McpServers`] connects all of them at once.
//! Their tools are [`Tool`](ptk_tools::Tool)s like any other and pass the whole
//! pipeline: validated, approved, bounded, recorded. What a server says about
//! its tools is not trusted: descriptions are cleaned, schemas are checked, and
//! annotations decide nothing.
//!
//! ```
//! use ptk_mcp::ServerDeclaration;
//!
//! let declared: ServerDeclaration = serde_json::from_str(
//!     r#"{"command": ["uvx", "mcp-server-time"], "network": true}"#,
//! )?;
//! assert_eq!(declared.summary(), "runs uvx mcp-server-time");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `declaration`, `project_file`, `variables` | how a server is configured, also in `.mcp.json` |
//! | `servers` | all servers of a run: connected, listed, refreshed |
//! | `server` | one server, connected again when it ends |
//! | `connection`, `stdio`, `http`, `handler` | a live connection, its transports, and what a server may ask of PTK |
//! | `oauth`, `tokens` | logging in to servers, and their tokens |
//! | `exchange` | one call: its deadlines, progress, cancellation and questions |
//! | `listing`, `names`, `text` | which of a server's tools can be used, under which names, with which texts |
//! | `offers` | prompts and resources of servers |
//! | `tool`, `content` | a tool of a server, and what it answered |
//! | `error` | what can go wrong with a server |
//! | [`serve`] | PTK's tools as a server |

mod connection;
mod content;
mod declaration;
mod error;
mod exchange;
mod handler;
mod http;
mod listing;
mod names;
mod oauth;
mod offers;
mod project_file;
pub mod serve;
mod server;
mod servers;
mod stdio;
mod text;
mod tokens;
mod tool;
mod variables;

pub use declaration::{DeclarationError, ServerDeclaration, check_name};
pub use error::McpError;
pub use listing::Quarantined;
pub use oauth::{Login, login};
pub use offers::{OfferedPart, OfferedPrompt, OfferedResource, Offers, PromptArgument};
pub use project_file::{PROJECT_FILE, ProjectFileError, ProjectServers, parse_project_file};
pub use server::ServerInfo;
pub use servers::{McpServers, Options, ServerStatus};
pub use stdio::ServerSandbox;
pub use tokens::TokenStore;
pub use tool::ServerTool;
