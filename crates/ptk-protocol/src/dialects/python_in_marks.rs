//! `lfm2` and `olmo3`: calls in Python's form between marks.
//!
//! ```text
//! <|tool_call_start|>[read_file(path="a.txt"), get_time()]<|tool_call_end|>
//! <function_calls>read_file(path="a.txt")
//! get_time()</function_calls>
//! ```

use super::engine::python::write_python;
use super::engine::python_calls::{PythonCalls, PythonMarks};
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::Reader;

/// A dialect that writes Python between marks.
#[derive(Debug, Clone, Copy)]
pub struct PythonInMarks {
    name: &'static str,
    marks: PythonMarks,
    /// Whether the calls are a list; otherwise each has a line of its own.
    is_list: bool,
    /// Another form between the same marks.
    other_form: Option<&'static str>,
}

impl PythonInMarks {
    /// The dialect of Liquid's LFM2, which also writes JSON between the same
    /// marks.
    pub const LFM2: Self = Self {
        name: "lfm2",
        marks: PythonMarks {
            open: "<|tool_call_start|>",
            close: &["<|tool_call_end|>"],
            may_stay_open: false,
        },
        is_list: true,
        other_form: Some("lfm2-json"),
    };

    /// The dialect of AI2's `OLMo` 3.
    pub const OLMO_3: Self = Self {
        name: "olmo3",
        marks: PythonMarks {
            open: "<function_calls>",
            close: &["</function_calls>"],
            may_stay_open: false,
        },
        is_list: false,
        other_form: None,
    };
}

impl Dialect for PythonInMarks {
    fn name(&self) -> &str {
        self.name
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::anywhere(self.marks.open)]
    }

    fn reader(&self, _trigger: usize) -> Box<dyn Reader> {
        Box::new(PythonCalls::new(self.marks))
    }

    fn other_forms(&self) -> Vec<String> {
        self.other_form.into_iter().map(str::to_owned).collect()
    }

    fn closers(&self) -> Vec<String> {
        let close = self.marks.close.iter();
        close.map(|mark| (*mark).to_owned()).collect()
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for PythonInMarks {
    fn rules(&self) -> Vec<String> {
        let form = if self.is_list {
            "Write the calls as a Python list between the marks, every argument by name."
        } else {
            "Write one call a line between the tags, in Python's form, every argument by name."
        };
        vec![form.to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(write_python).collect();
        let (open, close) = (self.marks.open, self.marks.close.concat());
        if self.is_list {
            format!("{open}[{}]{close}", calls.join(", "))
        } else {
            format!("{open}{}{close}", calls.join("\n"))
        }
    }

    fn takes_several(&self) -> bool {
        true
    }
}
