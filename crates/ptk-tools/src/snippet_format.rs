//! Which results have code in the snippet format.

use serde::Deserialize;

/// Which results have code in the
/// [snippet format](ptk_protocol::snippet), with its file and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnippetFormat {
    /// Results of `search_code` and of the code index. Files are read as they
    /// are: their text is what an edit has to quote, and without marks there is
    /// less to copy by mistake. `grep` gives lines as grep does.
    #[default]
    Search,
    /// Results of `read_file`, `read` and `grep`, too.
    Always,
}
