//! `list_files`: what there is in a folder.

use ptk_protocol::{Arguments, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aliases::with_directory;
use super::search::files::{FileList, Find, Order};
use super::search::page::{defaults_of, next_call, preview_list};
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// Lists a folder, or the files beneath it that match a pattern.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListFiles;

/// Arguments of [`ListFiles`].
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct ListFilesArgs {
    /// The folder, relative to the workspace, for example "src". Default: the workspace itself
    #[serde(default = "here")]
    directory: String,
    /// A glob relative to the directory, for example "**/*.ts" for all TypeScript files beneath it or "*.md" for those directly in it; or a part of a name, which is looked for in all folders beneath it. Without it, the entries of the directory itself are listed, folders with a trailing "/"
    #[serde(default)]
    pattern: Option<String>,
    /// Also list names that begin with a dot. Default: false
    #[serde(default)]
    hidden: bool,
    /// How many entries to give at most. Default: 200
    #[serde(default = "limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    /// How many entries to pass over, to read on where the last page ended. Default: 0
    #[serde(default)]
    offset: usize,
}

fn here() -> String {
    ".".to_owned()
}

const fn limit() -> usize {
    200
}

impl TypedTool for ListFiles {
    type Args = ListFilesArgs;
    type Output = FileList;

    const NAME: &'static str = "list_files";
    const DESCRIPTION: &'static str = "List the entries of a folder (folders end with \"/\"), or \
        with a pattern such as \"**/*.ts\" all files beneath it that match, sorted by path. Files \
        that .gitignore or .ignore leave out are not listed, nor are hidden ones unless asked for.";
    const EFFECTS: Effects = Effects::READ;
    const MAIN_PARAMETERS: Option<usize> = Some(2);

    fn adapt(&self, args: Arguments) -> Arguments {
        with_directory(args)
    }

    fn plan(&self, _context: &CallContext, _args: &ListFilesArgs) -> Result<Plan, ToolError> {
        // It leaves out itself what may not be read.
        Ok(Plan::default())
    }

    async fn run(&self, context: &CallContext, args: ListFilesArgs) -> Result<FileList, ToolError> {
        let find = Find {
            directory: args.directory.clone(),
            pattern: args.pattern.clone(),
            hidden: args.hidden,
            order: Order::Path,
            limit: args.limit,
            offset: args.offset,
        };
        let next = move |offset| {
            let defaults = defaults_of(&[]);
            let defaults = defaults.as_ref().unwrap_or(&args);
            next_call(Self::NAME, &args, defaults, &[], offset)
        };
        find.run(context, next).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        preview_list(result, "files", ["entry", "entries"], max_lines)
    }
}
