//! `gemma4` and `functiongemma`: keys and values behind `call:`, with strings
//! between marks of their own.
//!
//! ```text
//! <|tool_call>call:read_file{path:<|"|>a.txt<|"|>}<tool_call|>
//! <start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>
//! ```

use super::engine::key_values::{CALL, KeyValueMarks, KeyValues};
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::Reader;

/// A dialect of Google's models that call tools without JSON.
#[derive(Debug, Clone, Copy)]
pub struct Gemma {
    name: &'static str,
    marks: KeyValueMarks,
}

impl Gemma {
    /// The dialect of Gemma 4.
    pub const GEMMA_4: Self = Self {
        name: "gemma4",
        marks: KeyValueMarks {
            open: "<|tool_call>",
            close: "<tool_call|>",
            string: r#"<|"|>"#,
        },
    };

    /// The dialect of `FunctionGemma`.
    pub const FUNCTION_GEMMA: Self = Self {
        name: "functiongemma",
        marks: KeyValueMarks {
            open: "<start_function_call>",
            close: "<end_function_call>",
            string: "<escape>",
        },
    };
}

impl Dialect for Gemma {
    fn name(&self) -> &str {
        self.name
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![
            Trigger::anywhere(self.marks.open),
            Trigger::at_line_start(CALL),
        ]
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        Box::new(KeyValues::new(self.marks, trigger == 0))
    }

    fn closers(&self) -> Vec<String> {
        vec![self.marks.close.to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Gemma {
    fn rules(&self) -> Vec<String> {
        let mark = self.marks.string;
        vec![format!(
            "Write each argument as name:value, commas between, strings as they are between {mark} and {mark}."
        )]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        self.marks.write(call)
    }

    fn takes_several(&self) -> bool {
        true
    }
}
