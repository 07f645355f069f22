//! Tools from servers of the Model Context Protocol, and PTK's tools as such a
//! server.

pub mod serve;
