//! Dialects whose calls are JSON between tags of their own.

use std::sync::Arc;

use super::json_marks::JsonMarks;
use super::marked_json::MarkedJson;
use crate::dialects::{Dialect, Trigger, Writer};
use crate::parse::Reader;

/// A dialect whose calls are JSON between its own tags.
pub(crate) trait TaggedJson: Writer + std::fmt::Debug + Send + Sync {
    /// The dialect's name.
    fn name(&self) -> &'static str;
    /// The dialect's tags.
    fn marks(&self) -> &Arc<JsonMarks>;
    /// The dialects that are read beside it.
    fn beside(&self) -> &'static [&'static str];
}

impl<T: TaggedJson> Dialect for T {
    fn name(&self) -> &str {
        TaggedJson::name(self)
    }

    fn triggers(&self) -> Vec<Trigger> {
        let marks = self.marks();
        marks.triggers(|mark| Trigger::anywhere(mark))
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        Box::new(MarkedJson::new(Arc::clone(self.marks()), trigger))
    }

    fn closers(&self) -> Vec<String> {
        self.marks().close.clone()
    }

    fn also_reads(&self) -> Vec<String> {
        self.beside()
            .iter()
            .map(|name| (*name).to_owned())
            .collect()
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}
