//! The trait of models, and their capabilities.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use ptk_protocol::format::DefinitionStyle;

use crate::{Api, Delta, LlmError, LlmErrorKind, Request};

/// A streaming reply. Dropping it ends the request.
pub type Deltas<'a> = BoxStream<'a, Result<Delta, LlmError>>;

/// A model, wherever it runs.
///
/// A provider sends one request and passes on what comes back. It keeps nothing
/// of a conversation, tries nothing again and runs no tools: that is for the
/// caller. The one exception is a model behind a web page, which keeps the
/// conversation itself: its provider remembers what the page has seen, and
/// sends only what is new. It too can be asked anything at any time.
///
/// ```
/// use futures_util::{StreamExt as _, stream};
/// use ptk_llm::{Delta, Deltas, FinishReason, Provider, Request};
///
/// /// Says the number of messages.
/// #[derive(Debug)]
/// struct Counting;
///
/// impl Provider for Counting {
///     fn name(&self) -> &str {
///         "counting"
///     }
///
///     fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
///         let text = Delta::Text(request.messages.len().to_string());
///         stream::iter([Ok(text), Ok(Delta::Finish(FinishReason::Stop))]).boxed()
///     }
/// }
/// ```
pub trait Provider: Send + Sync + Debug {
    /// The name under which it is known, such as `openai`.
    fn name(&self) -> &str;

    /// The model that is asked where a request names none.
    fn model(&self) -> Option<&str> {
        None
    }

    /// The identity of the provider: its name and, where there may be several
    /// of that name, its address. `None` if findings about it do not hold for
    /// the next time.
    fn id(&self) -> Option<String> {
        Some(self.name().to_owned())
    }

    /// The capabilities of the model of this name; `None` means its own.
    fn capabilities(&self, _model: Option<&str>) -> Capabilities {
        Capabilities::default()
    }

    /// The API for which it takes requests as clients wrote them
    /// ([`Request::verbatim`]).
    fn speaks(&self) -> Option<Api> {
        None
    }

    /// The capabilities that the server itself reports for the model, if any.
    /// That takes a moment, and is requested once.
    fn learn<'a>(&'a self, _model: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        std::future::ready(None).boxed()
    }

    /// The names of the available models; `None` if they cannot be listed.
    fn models(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        std::future::ready(None).boxed()
    }

    /// Sends a request. Nothing is sent before the stream is polled. The last
    /// delta of a whole reply is [`Delta::Finish`]; nothing follows an error.
    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a>;
}

impl<T: Provider + ?Sized> Provider for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
    }

    fn id(&self) -> Option<String> {
        (**self).id()
    }

    fn capabilities(&self, model: Option<&str>) -> Capabilities {
        (**self).capabilities(model)
    }

    fn speaks(&self) -> Option<Api> {
        (**self).speaks()
    }

    fn learn<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        (**self).learn(model)
    }

    fn models(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        (**self).models()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        (**self).stream(request)
    }
}

impl LlmError {
    /// Creates an error of this kind in the answer to a request.
    #[must_use]
    pub fn of(provider: &dyn Provider, request: &Request, kind: LlmErrorKind) -> Self {
        let model = request.model.as_deref().or_else(|| provider.model());
        Self::new(provider.name(), model, kind)
    }
}

/// The capabilities of a model. By default it is one that only supports text,
/// in a chat, of which nothing else is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it takes tool definitions and calls tools by an API of its own;
    /// `None` if that is not known.
    pub native_tools: Option<bool>,
    /// The size of its context window, input and output together, in tokens.
    pub context_window: Option<u32>,
    /// How its output can be constrained.
    pub constraint: Constraint,
    /// The form in which it takes a conversation.
    pub form: Form,
    /// The form of calls in text that it was trained on, where that is known.
    pub dialect: Option<&'static str>,
    /// How tools are best described to it in text.
    pub definitions: DefinitionStyle,
    /// Whether it is known to be too small to call tools at all.
    pub is_too_small: bool,
    /// Whether its replies usually start inside reasoning, which its template
    /// opens.
    pub starts_in_reasoning: bool,
    /// Whether messages may carry images. Which models understand them, only
    /// their servers know.
    pub takes_images: bool,
}

impl Capabilities {
    /// The capabilities of a model that takes one text and returns one.
    #[must_use]
    pub fn of_prompt() -> Self {
        Self {
            native_tools: Some(false),
            form: Form::Prompt,
            ..Self::default()
        }
    }
}

/// How the output of a model can be constrained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Not at all, or not known.
    #[default]
    None,
    /// By [`ResponseFormat::Schema`](crate::ResponseFormat::Schema).
    Schema,
    /// By that, and by
    /// [`ResponseFormat::Grammar`](crate::ResponseFormat::Grammar).
    Grammar,
    /// By those, and by
    /// [`ResponseFormat::StructuralTag`](crate::ResponseFormat::StructuralTag).
    StructuralTag,
}

impl Constraint {
    /// The constraint to try after a server refused this one: a grammar in the
    /// place of a structural tag, and none in the place of the others.
    #[must_use]
    pub const fn weaker(self) -> Self {
        match self {
            Self::StructuralTag => Self::Grammar,
            Self::Grammar | Self::Schema | Self::None => Self::None,
        }
    }
}

/// The form in which a model takes a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// Messages, each with its role.
    #[default]
    Chat,
    /// One text that it continues.
    Prompt,
}
