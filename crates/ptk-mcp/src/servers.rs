//! All servers of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use ptk_tools::form::FormAsker;

use serde_json::{Map, Value};

use crate::offers;
use crate::server::Server;
use crate::stdio::ServerSandbox;
use crate::{
    McpError, OfferedPart, OfferedPrompt, OfferedResource, Offers, Quarantined, ServerDeclaration,
    ServerInfo, ServerTool, TokenStore,
};

/// How servers are connected to.
#[derive(Clone)]
pub struct Options {
    /// What programs of servers run in.
    pub sandbox: ServerSandbox,
    /// Asks the user what servers want to know. Without it, their questions stay
    /// unanswered.
    pub asker: Option<Arc<dyn FormAsker>>,
    /// Where the tokens of logins are kept.
    pub tokens: Option<Arc<dyn TokenStore>>,
}

/// The servers of a run. They end with it.
#[derive(Default)]
pub struct McpServers {
    servers: Vec<Arc<Server>>,
}

/// What became of a server.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// The server, by the user's name for it.
    pub name: String,
    /// What it says of itself, if it is connected.
    pub info: Option<ServerInfo>,
    /// Why it is not connected.
    pub error: Option<McpError>,
    /// How many of its tools can be used.
    pub tools: usize,
    /// Those that cannot.
    pub quarantined: Vec<Quarantined>,
}

impl McpServers {
    /// Connects to all servers that are not disabled, at the same time. A
    /// server that fails does not keep the others from being used.
    pub async fn connect(
        declarations: BTreeMap<String, ServerDeclaration>,
        options: &Options,
    ) -> (Self, Vec<ServerStatus>) {
        let enabled = declarations.into_iter().filter(|(_, it)| !it.disabled);
        let servers =
            enabled.map(|(name, declared)| Arc::new(Server::new(name, declared, options.clone())));
        let servers = Self {
            servers: servers.collect(),
        };
        let statuses = join_all(servers.servers.iter().map(status)).await;
        (servers, statuses)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The tools of all servers, in the order of the servers' names.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<ServerTool>> {
        let servers = self.servers.iter();
        let tools = servers.flat_map(|server| {
            let listing = server.listing();
            let tools = listing.tools.iter().cloned();
            tools
                .map(|listed| Arc::new(ServerTool::new(Arc::clone(server), listed)))
                .collect::<Vec<_>>()
        });
        tools.collect()
    }

    /// Lists the tools of those servers again that say they have changed, and
    /// returns whether some have.
    pub async fn refresh(&self) -> bool {
        let refreshed = self.servers.iter().map(|server| server.refresh());
        join_all(refreshed).await.contains(&true)
    }

    /// The prompts and resources of all servers that are connected, in the order
    /// of the servers' names.
    pub async fn offers(&self) -> Offers {
        let listed = join_all(self.servers.iter().map(|server| server.offers())).await;
        let mut all = Offers::default();
        for offers in listed {
            all.prompts.extend(offers.prompts);
            all.resources.extend(offers.resources);
        }
        all
    }

    /// Gets a prompt of a server, with what it has to be told.
    ///
    /// # Errors
    ///
    /// The server is gone, or refuses.
    pub async fn prompt(
        &self,
        prompt: &OfferedPrompt,
        arguments: Map<String, Value>,
    ) -> Result<Vec<OfferedPart>, McpError> {
        let connection = self.server(&prompt.server)?.connect().await?;
        offers::prompt(&connection, prompt, arguments).await
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    ///
    /// The server is gone, or refuses.
    pub async fn resource(&self, resource: &OfferedResource) -> Result<Vec<OfferedPart>, McpError> {
        let connection = self.server(&resource.server)?.connect().await?;
        offers::resource(&connection, &resource.uri).await
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, McpError> {
        let server = self.servers.iter().find(|server| server.name == name);
        server.ok_or_else(|| McpError::Protocol("there is no such server".to_owned()))
    }

    /// Ends all servers.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

async fn status(server: &Arc<Server>) -> ServerStatus {
    let error = server.connect().await.err();
    let listing = server.listing();
    server.offered();
    ServerStatus {
        name: server.name.clone(),
        info: server.info().await,
        error,
        tools: listing.tools.len(),
        quarantined: listing.quarantined.clone(),
    }
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.servers.iter().map(|server| &server.name);
        f.debug_list().entries(names).finish()
    }
}
