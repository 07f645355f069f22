//! The crates that the quality is measured with.

/// The crates whose results are reported.
pub(crate) const REPORTED: [&str; 20] = [
    "axum",
    "bytes",
    "clap_builder",
    "futures-util",
    "hashbrown",
    "http",
    "hyper",
    "indexmap",
    "itertools",
    "memchr",
    "rand",
    "rayon",
    "regex-automata",
    "reqwest",
    "rusqlite",
    "rustls",
    "serde_json",
    "syn",
    "time",
    "tokio",
];
/// The crates that settings were tuned with.
pub(crate) const TUNED_ON: [&str; 10] = [
    "aho-corasick",
    "bstr",
    "h2",
    "num-bigint",
    "ratatui-core",
    "regex-syntax",
    "tower",
    "tracing-subscriber",
    "url",
    "uuid",
];
