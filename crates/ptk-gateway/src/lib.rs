//! The gateway: programs send tools to an API that they already speak, and get
//! real tool calls back, whatever the model behind it.
//!
//! A model that only supports text is taught the tools, its reply is parsed
//! while it streams, and its calls are passed on in the format of the client's
//! API. What violates the contract of a request is corrected by one further
//! request, or reported plainly; it is never lost, and never passed on as if it
//! were right.
//!
//! ```
//! use ptk_model::Model;
//! use ptk_llm::Script;
//! use ptk_gateway::Gateway;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let gateway = Gateway::builder()
//!     .any([Model::new(Script::new(["Hello."]))])
//!     .build()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! gateway.serve(listener, async { /* until this ends */ }).await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `gateway` | what is served: [`Gateway`], [`Limits`] |
//! | `server`, `ticket`, `flow` | connections, the handling of a request, answers that are written while they come in |
//! | `connections`, `bodies`, `workers` | how many connections, bytes and threads all requests together may take |
//! | `access` | which clients may send requests, and how many: [`Keys`] |
//! | `api` | the HTTP APIs, a file each: requests into `ChatRequest`, `ResponseEvent`s into responses |
//! | `chat_request`, `fields`, `offer` | the request, normalised across APIs, and tools that are parsed once |
//! | `exchange` | one answer: asking, parsing, keeping the contract, correcting, searching for tools |
//! | `response`, `failure` | the response, event by event, or the error instead |
//! | `hosted` | tools that are run here, for clients without: [`HostedTools`] |
//! | `route` | models by name |
//! | `capture`, `metrics`, `log` | what is kept, counted and logged of requests |

mod access;
mod api;
mod bodies;
mod capture;
mod chat_request;
mod connections;
mod exchange;
mod failure;
mod fields;
mod flow;
mod gateway;
mod hosted;
mod limits;
mod log;
mod metrics;
mod offer;
mod response;
mod route;
mod server;
mod ticket;
mod workers;

pub use access::Keys;
pub use gateway::{BuildError, Gateway, GatewayBuilder};
pub use hosted::{HostedError, HostedTools, ToolConversation, ToolRunner};
pub use limits::Limits;
pub use log::{Ended, Log};
