//! Results of calls that only read, kept until something changes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ptk_permission::Signature;
use ptk_protocol::ToolResult;
use ptk_sandbox::Stamp;

use crate::repeats::stamps;
use crate::{Around, Effects, Middleware, Next, Passing};

/// A layer that answers a call that only reads with the result of the same
/// call before, as long as nothing was changed since. Opt-in:
/// what other programs change beside the files that the call names is not
/// seen.
///
/// ```
/// # use ptk_sandbox::Workspace;
/// use ptk_tools::{Cache, ToolManager};
///
/// # let workspace = Workspace::open(std::env::temp_dir())?;
/// let tools = ToolManager::builder(workspace).layer(Cache::new(500)).build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Cache {
    capacity: usize,
    kept: Mutex<CachedResults>,
}

#[derive(Debug, Default)]
struct CachedResults {
    results: HashMap<Signature, Entry>,
    /// The oldest first.
    order: VecDeque<Signature>,
}

#[derive(Debug, Clone)]
struct Entry {
    result: ToolResult,
    mutations: u64,
    files: Vec<Option<Stamp>>,
}

impl Cache {
    /// A cache that keeps so many results; the oldest goes first.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            kept: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedResults> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, signature: Signature, entry: Entry) {
        let mut kept = self.lock();
        if kept.results.insert(signature.clone(), entry).is_none() {
            kept.order.push_back(signature);
        }
        while kept.order.len() > self.capacity {
            if let Some(oldest) = kept.order.pop_front() {
                kept.results.remove(&oldest);
            }
        }
    }
}

impl Middleware for Cache {
    fn handle<'a>(&'a self, call: Passing<'a>, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        if call.tool.effects() != Effects::READ {
            return next.run(call);
        }
        let signature = Signature::new(&call.tool.spec().name, &call.args);
        let mutations = call.context.services().activity.mutations();
        let reads = call.tool.plan(call.context, &call.args);
        let files = stamps(&reads.unwrap_or_default().reads);
        Box::pin(async move {
            let kept = self.lock().results.get(&signature).cloned();
            if let Some(kept) = kept
                && kept.mutations == mutations
                && kept.files == files
            {
                return kept.result;
            }
            let result = next.run(call).await;
            if result.success {
                let entry = Entry {
                    result: result.clone(),
                    mutations,
                    files,
                };
                self.keep(signature, entry);
            }
            result
        })
    }

    fn around(&self) -> Around {
        Around::Run
    }

    fn answers_repeats(&self) -> bool {
        true
    }
}
