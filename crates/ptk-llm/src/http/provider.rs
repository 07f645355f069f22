//! A server that is reached by HTTP, as a [`Provider`].

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use ptk_protocol::format::DefinitionStyle;
use tokio::time::Instant;

use super::answer::Answer;
use super::sending::HttpProvider;
use super::{learn, shown};
use crate::{Api, Capabilities, Deltas, Form, KnownModel, LlmError, Provider, Request};

impl HttpProvider {
    /// The names of the server's models, as [`Provider::models`] has them, or
    /// why they are not known.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, refuses the request or lists no models.
    pub async fn list_models(&self) -> Result<Vec<String>, LlmError> {
        learn::models(self).await
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    fn id(&self) -> Option<String> {
        Some(if self.is_hosted {
            self.name.clone()
        } else {
            format!("{}@{}", self.name, shown(&self.base))
        })
    }

    fn capabilities(&self, model: Option<&str>) -> Capabilities {
        let known = model.or(self.model.as_deref()).and_then(KnownModel::named);
        let native = known.and_then(|known| known.native_tools);
        Capabilities {
            native_tools: match native {
                // A single text has no field for tools.
                _ if self.capabilities.form == Form::Prompt => Some(false),
                None | Some(true) if self.is_hosted => Some(true),
                native => native,
            },
            // Other servers may be configured with a smaller one.
            context_window: known
                .filter(|_| self.is_hosted)
                .and_then(|known| known.context_window),
            dialect: known.and_then(|known| known.dialect),
            definitions: known.map_or_else(DefinitionStyle::default, |known| known.definitions),
            starts_in_reasoning: model
                .or(self.model.as_deref())
                .is_some_and(KnownModel::starts_in_reasoning),
            ..self.capabilities
        }
    }

    fn speaks(&self) -> Option<Api> {
        self.wire().speaks()
    }

    fn learn<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        let model = model.or(self.model.as_deref());
        match model {
            Some(model) if !self.is_hosted => {
                learn::ask(self, model, self.capabilities(Some(model))).boxed()
            }
            _ => std::future::ready(None).boxed(),
        }
    }

    fn models(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        learn::models(self).map(Result::ok).boxed()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let answer = async move {
            let until = Instant::now() + self.timeouts.whole;
            match self.sent(request, until).await {
                Ok(response) => Answer::new(self, request, response, until).deltas(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        };
        answer.flatten_stream().boxed()
    }
}
