//! What clients can read besides calling tools.

use futures_util::future::BoxFuture;
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

/// A resource in a list, or a template of the addresses of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceItem {
    /// The address, or a template of it as RFC 6570 has it.
    pub uri: String,
    /// A short name.
    pub name: String,
    /// What a person is shown instead of the name.
    pub title: Option<String>,
    /// What it contains.
    pub description: Option<String>,
    /// The media type of the text.
    pub mime_type: Option<String>,
}

/// Some of the resources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePage {
    /// The resources.
    pub items: Vec<ResourceItem>,
    /// What continues the list, if this is not its end.
    pub next: Option<String>,
}

/// The text of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceText {
    /// The text.
    pub text: String,
    /// Its media type.
    pub mime_type: String,
}

/// Why resources cannot be listed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// What was to continue a list does not come from one.
    #[error("this cursor does not come from a list of resources; list them without a cursor")]
    Cursor,
    /// There is no resource at this address.
    #[error("there is no resource {0}; resources/list lists them")]
    Unknown(String),
    /// The resources cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Where resources come from.
pub trait ResourceSource: Send + Sync {
    /// The templates of addresses that are not in the list, or not all.
    fn templates(&self) -> Vec<ResourceItem>;

    /// The first page of the list, or the one that `cursor` continues with.
    ///
    /// The error is [`ResourceError::Cursor`] for a cursor that does not come
    /// from a page.
    fn list<'a>(
        &'a self,
        cursor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<ResourcePage, ResourceError>>;

    /// The text at an address.
    ///
    /// The error is [`ResourceError::Unknown`] if there is none.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourceText, ResourceError>>;
}

/// A page of a source.
pub(super) async fn list(
    source: &dyn ResourceSource,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let page = source.list(cursor).await.map_err(error)?;
    let resources = page.items.into_iter().map(|item| {
        let mut resource = Resource::new(item.uri, item.name);
        resource.title = item.title;
        resource.description = item.description;
        resource.mime_type = item.mime_type;
        resource
    });
    let mut listed = ListResourcesResult::with_all_items(resources.collect());
    listed.next_cursor = page.next;
    Ok(listed)
}

/// The templates of a source.
pub(super) fn templates(source: &dyn ResourceSource) -> ListResourceTemplatesResult {
    let templates = source.templates().into_iter().map(|item| {
        let mut template = ResourceTemplate::new(item.uri, item.name);
        template.title = item.title;
        template.description = item.description;
        template.mime_type = item.mime_type;
        template
    });
    ListResourceTemplatesResult::with_all_items(templates.collect())
}

/// The text at an address of a source.
pub(super) async fn read(
    source: &dyn ResourceSource,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let read = source.read(uri).await.map_err(error)?;
    let contents = ResourceContents::text(read.text, uri).with_mime_type(read.mime_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The answer where a source has none.
pub(super) fn error(error: ResourceError) -> ErrorData {
    let message = error.to_string();
    match error {
        ResourceError::Cursor => ErrorData::invalid_params(message, None),
        ResourceError::Unknown(uri) => {
            ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
        }
        ResourceError::Unreadable(_) => ErrorData::internal_error(message, None),
    }
}
