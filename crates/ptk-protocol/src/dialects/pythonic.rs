//! `pythonic`: `[read_file(path="a.txt"), get_time()]`, as Llama 4 and the
//! prompts of the Berkeley leaderboard have it.

use super::engine::python::write_python;
use super::engine::python_calls::{PythonCalls, PythonMarks};
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::Reader;

const LIST: PythonMarks = PythonMarks {
    open: "",
    close: &[],
    may_stay_open: true,
};
const MARKED: PythonMarks = PythonMarks {
    open: "<|python_start|>",
    close: &["<|python_end|>"],
    may_stay_open: true,
};

/// The dialect of a list of calls. Such a list can appear in prose by accident,
/// so without its mark it counts only on lines of its own and with a declared
/// tool's name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pythonic;

impl Dialect for Pythonic {
    fn name(&self) -> &'static str {
        "pythonic"
    }

    fn triggers(&self) -> Vec<Trigger> {
        vec![Trigger::at_line_start("["), Trigger::anywhere(MARKED.open)]
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        Box::new(PythonCalls::new(if trigger == 0 { LIST } else { MARKED }))
    }

    fn closers(&self) -> Vec<String> {
        MARKED.close.iter().map(|mark| (*mark).to_owned()).collect()
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Pythonic {
    fn rules(&self) -> Vec<String> {
        vec![
            "Write the calls as a Python list on a line of its own, every argument by name."
                .to_owned(),
        ]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        format!("[{}]", write_python(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(write_python).collect();
        format!("[{}]", calls.join(", "))
    }

    fn takes_several(&self) -> bool {
        true
    }
}
