//! Errors for clients, normalised across APIs.

use std::borrow::Cow;
use std::time::Duration;

use hyper::StatusCode;
use ptk_llm::{LlmError, LlmErrorKind};
use ptk_model::TeachError;
use serde_json::{Value, json};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// The code of the error, for programs.
    pub(crate) code: Cow<'static, str>,
    /// The field of the request that is wrong, where one is.
    pub(crate) param: Option<String>,
    /// The message: what is wrong and what to do.
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// The reply of the model, where there is nothing else.
    pub(crate) words: Option<String>,
}

impl Failure {
    pub(crate) fn new(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            code: code.into(),
            param: None,
            message: message.into(),
            retry_after: None,
            words: None,
        }
    }

    /// An error of the request.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            param: Some(param.into()),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_value", message)
        }
    }

    /// An error of a model that did not fulfil the contract.
    pub(crate) fn unkept(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, code, message)
    }

    pub(crate) fn with_words(mut self, words: &str) -> Self {
        self.words = Some(words.to_owned());
        self
    }

    /// The type of error in OpenAI's format.
    pub(crate) fn openai_type(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    /// The type of error in Anthropic's format.
    pub(crate) fn anthropic_type(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    /// The error in the format of OpenAI's APIs.
    pub(crate) fn openai(&self) -> Value {
        let mut error = json!({
            "message": self.message,
            "type": self.openai_type(),
            "param": self.param,
            "code": self.code,
        });
        self.add_words(&mut error);
        json!({ "error": error })
    }

    /// The error in the format of Anthropic's API.
    pub(crate) fn anthropic(&self) -> Value {
        let mut error = json!({
            "type": self.anthropic_type(),
            "message": self.message,
            "code": self.code,
            "details": {"error_code": self.code},
        });
        self.add_words(&mut error);
        json!({"type": "error", "error": error})
    }

    /// The error in Ollama's format.
    pub(crate) fn ollama(&self) -> Value {
        json!({"error": self.message, "code": self.code})
    }

    /// Adds the reply of the model, so that it is not lost.
    fn add_words(&self, error: &mut Value) {
        if let (Some(words), Value::Object(error)) = (&self.words, error) {
            let told = json!({"code": self.code, "text": words});
            error.insert("ptk".to_owned(), told);
        }
    }
}

impl From<TeachError> for Failure {
    fn from(error: TeachError) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "dialect",
            error.to_string(),
        )
    }
}

impl From<LlmError> for Failure {
    fn from(error: LlmError) -> Self {
        use LlmErrorKind as Kind;
        let (status, code) = match error.kind {
            Kind::RateLimited => (429, "rate_limit_exceeded"),
            Kind::Unpaid => (402, "insufficient_quota"),
            Kind::NotFound => (404, "model_not_found"),
            Kind::TooLong => (400, "context_length_exceeded"),
            Kind::Rejected => (400, "upstream_rejected"),
            Kind::NoTools => (400, "tools_not_supported"),
            Kind::TimedOut => (504, "upstream_timeout"),
            Kind::Filtered => (502, "content_filter"),
            // The gateway's own key, not the client's.
            Kind::Unauthorized | Kind::NoKey => (502, "upstream_refused_key"),
            Kind::Failing => (
                error.status.filter(|it| *it >= 500).unwrap_or(502),
                "upstream_failed",
            ),
            Kind::Cut => (502, "upstream_cut_off"),
            Kind::Unreachable | Kind::Untrusted | Kind::NotEncrypted | Kind::NotStarted => {
                (503, "upstream_unreachable")
            }
            _ => (502, "upstream_unreadable"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
        Self {
            retry_after: error.retry_after,
            ..Self::new(status, code, error.to_string())
        }
    }
}
