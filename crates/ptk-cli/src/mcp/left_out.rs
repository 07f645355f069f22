//! No servers: this build has no MCP.

use std::sync::Arc;

use anyhow::{Result, bail};
use ptk::{Prompt, RunOptions};
use ptk_tools::ToolManager;
use ptk_tools::form::FormAsker;

use crate::args::SandboxArgs;
use crate::config::{Settings, Tools};

/// The servers of a run. There are none.
#[derive(Default)]
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
        _asker: Option<Arc<dyn FormAsker>>,
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

    /// Lists nothing.
    #[expect(
        clippy::unused_self,
        reason = "the same function lists some in other builds"
    )]
    pub(crate) const fn look_for_offers(&self) {}

    /// No prompts.
    #[expect(
        clippy::unused_self,
        reason = "the same function has some in other builds"
    )]
    pub(crate) const fn prompts(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// No resources.
    #[expect(
        clippy::unused_self,
        reason = "the same function has some in other builds"
    )]
    pub(crate) const fn resources(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Finds no prompt.
    #[expect(
        clippy::unused_async,
        reason = "the same function asks in other builds"
    )]
    pub(crate) async fn prompt(&self, command: &str, _rest: &str) -> Result<Prompt> {
        bail!("there is no prompt {command}: this ptk was built without MCP")
    }

    /// The prompt alone.
    #[expect(
        clippy::unused_async,
        reason = "the same function reads resources in other builds"
    )]
    pub(crate) async fn with_mentioned(&self, text: String) -> Result<Prompt> {
        Ok(Prompt::from(text))
    }

    /// Ends nothing.
    #[expect(
        clippy::unused_async,
        reason = "the same function ends some in other builds"
    )]
    pub(crate) async fn close(&self) {}
}
