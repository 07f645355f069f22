//! Who may say yes to a call that changes something.

use futures_util::future::BoxFuture;
use ptk_protocol::Arguments;

use crate::{Effects, Plan};

/// What is asked before a call with effects runs.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRequest<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, checked.
    pub args: &'a Arguments,
    /// What it may do.
    pub effects: Effects,
    /// What it is about to touch.
    pub plan: &'a Plan,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow,
    /// It may not; the reason reaches the model.
    Deny(String),
}

/// Somebody, or something, that decides.
pub trait Approver: Send + Sync {
    /// Decides. Whoever asks a person waits here.
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision>;
}

impl<T: Approver + ?Sized> Approver for Box<T> {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        (**self).decide(request)
    }
}

/// Says yes to everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAll;

impl Approver for AllowAll {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Allow))
    }
}

/// Says no to everything that changes something, because nobody can be asked
/// or because that is what was wanted.
#[derive(Debug, Clone)]
pub struct DenyAll {
    reason: String,
}

impl DenyAll {
    /// With the reason that the model is told.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl Default for DenyAll {
    fn default() -> Self {
        Self::new("calls that change something are not allowed here")
    }
}

impl Approver for DenyAll {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::ready(Decision::Deny(self.reason.clone())))
    }
}
