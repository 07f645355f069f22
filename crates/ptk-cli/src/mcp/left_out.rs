//! No servers: this build has no MCP.

use anyhow::Result;
use ptk::RunOptions;
use ptk_tools::ToolManager;

use crate::args::SandboxArgs;
use crate::config::{Settings, Tools};

/// The servers of a run. There are none.
#[derive(Debug, Default)]
pub(crate) struct Servers;

impl Servers {
    /// Connects to nothing.
    #[expect(
        clippy::unused_async,
        reason = "the same function connects in other builds"
    )]
    pub(crate) async fn connect(
        _settings: &Settings,
        _sandbox: &SandboxArgs,
        _wanted: Option<&[String]>,
    ) -> Result<Self> {
        Ok(Self)
    }

    /// Adds no tools.
    #[expect(
        clippy::unused_self,
        reason = "the same function adds some in other builds"
    )]
    pub(crate) const fn add_to(&self, _tools: &mut Tools) {}

    /// Notes about nothing.
    #[expect(
        clippy::unused_self,
        reason = "the same function has some in other builds"
    )]
    pub(crate) const fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes nothing.
    #[expect(
        clippy::unused_async,
        reason = "the same function asks in other builds"
    )]
    pub(crate) async fn refresh(&self, _manager: &ToolManager, _options: &mut RunOptions) {}

    /// Ends nothing.
    #[expect(
        clippy::unused_async,
        reason = "the same function ends some in other builds"
    )]
    pub(crate) async fn close(&self) {}
}
