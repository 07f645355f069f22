//! `glob`: files by their names, the newest first.

use ptk_protocol::ToolResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::files::{FileList, Find, Order};
use super::search::page::{defaults_of, next_call, preview_list};
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// Finds files by a glob.
#[derive(Debug, Clone, Copy, Default)]
pub struct Glob;

/// Arguments of [`Glob`].
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct GlobArgs {
    /// The glob, relative to `path`: "*" is any part of a name, "?" one character, "**/" any folders, "[a-z]" a class, "{a,b}" alternatives. For example "**/*.py" or "src/**/test_*.{js,ts}"
    pattern: String,
    /// The folder to look in, relative to the workspace, for example "src". Default: the workspace itself
    #[serde(default = "here")]
    path: String,
    /// How many files to give at most. Default: 50
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// How many files to pass over, to read on where the last page ended. Default: 0
    #[serde(default)]
    offset: usize,
}

fn here() -> String {
    ".".to_owned()
}

const fn limit() -> usize {
    50
}

impl TypedTool for Glob {
    type Args = GlobArgs;
    type Output = FileList;

    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Find files by a pattern of their paths, such as \"**/*.py\", \
        the most recently modified first. Files that .gitignore or .ignore leave out are not found, \
        nor are hidden ones unless the pattern names them, such as \".github/**\".";
    const EFFECTS: Effects = Effects::READ;
    const MAIN_PARAMETERS: Option<usize> = Some(2);

    fn plan(&self, _context: &CallContext, _args: &GlobArgs) -> Result<Plan, ToolError> {
        // It leaves out itself what may not be read.
        Ok(Plan::default())
    }

    async fn run(&self, context: &CallContext, args: GlobArgs) -> Result<FileList, ToolError> {
        let find = Find {
            directory: args.path.clone(),
            pattern: Some(args.pattern.clone()),
            hidden: false,
            order: Order::Newest,
            limit: args.limit,
            offset: args.offset,
        };
        let next = move |offset| {
            let defaults = defaults_of(&[("pattern", &args.pattern)]);
            let defaults = defaults.as_ref().unwrap_or(&args);
            next_call(Self::NAME, &args, defaults, &["pattern"], offset)
        };
        find.run(context, next).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        preview_list(result, "files", ["file", "files"], max_lines)
    }
}
