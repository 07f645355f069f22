//! One client's requests.

use std::sync::Arc;

use hyper::http::request::Parts;
use ptk_tools::Conversation;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse,
    ResourcesCapability, ServerCapabilities, ServerConfig, Tool, ToolsCapability,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::call::Call;
use super::conversations::ClientIdentity;
use super::http::SESSION_ID;
use super::{Shared, implementation, resources};

/// The requests that this server answers. Where the parameters of one are not
/// those that it has, it arrives as one that is not known.
const METHODS: [&str; 5] = [
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// A client: a pair of streams, or a session over HTTP. A request over HTTP
/// without a session has one of its own.
pub(super) struct Connection {
    shared: Arc<Shared>,
    conversation: Conversation,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            conversation: Conversation::new(),
        }
    }

    /// Whom a request is from, and the conversation that it is part of.
    fn origin(&self, context: &RequestContext<RoleServer>) -> (ClientIdentity, Conversation) {
        let parts = context.extensions.get::<Parts>();
        let program = context.client_info();
        let client = ClientIdentity(program.map(|program| (program.name, program.version)));
        let has_session = parts.is_none_or(|parts| parts.headers.contains_key(SESSION_ID));
        let conversation = if has_session {
            self.conversation.clone()
        } else {
            self.shared.conversations.of(&client)
        };
        (client, conversation)
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        if self.shared.resources.is_some() {
            capabilities.resources = Some(ResourcesCapability::default());
        }
        let info = ServerConfig::new(capabilities).with_server_info(implementation());
        match &self.shared.instructions {
            Some(text) => info.with_instructions(text.clone()),
            None => info,
        }
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.catalogue.get(name).cloned()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "All tools are in one page; list them without a cursor",
                None,
            ));
        }
        Ok(ListToolsResult::with_all_items(self.shared.catalogue.all()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let catalogue = &self.shared.catalogue;
        if catalogue.get(&params.name).is_none() {
            let near = catalogue.nearest(&params.name);
            let near = near.map_or_else(
                || "tools/list lists them".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("Unknown tool: `{}`; {near}", params.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let calls = Arc::clone(&self.shared.calls);
        let Ok(_running) = calls.try_acquire_owned() else {
            return Err(ErrorData::internal_error(
                "The server runs as many calls as it may, or is about to end; try again later",
                None,
            ));
        };
        let (client, conversation) = self.origin(&context);
        // Where a turn of the client's model begins is not known, so a call that
        // is repeated may well be one of another turn.
        conversation.begin_turn();
        let call = Call {
            shared: &self.shared,
            client,
            conversation,
            context: &context,
            params,
        };
        call.run().await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let Some(source) = &self.shared.resources else {
            return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
        };
        let cursor = request.and_then(|page| page.cursor);
        resources::list(source.as_ref(), cursor.as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let Some(source) = &self.shared.resources else {
            return Err(ErrorData::method_not_found::<
                ListResourceTemplatesRequestMethod,
            >());
        };
        Ok(resources::templates(source.as_ref()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(source) = &self.shared.resources else {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        };
        let read = resources::read(source.as_ref(), &request.uri).await?;
        Ok(read.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let version = context.protocol_version();
        let has_sessions = version.is_none_or(|version| version.has_initialize());
        if METHODS.contains(&method.as_str()) || (method == "initialize" && has_sessions) {
            let message = format!("The parameters of {method} are missing or not valid");
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}
