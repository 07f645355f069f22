//! Typed tools: a struct of arguments, a function, a result.

use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolResult, ToolSpec};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Fields;
use crate::{CallContext, Class, Effects, Plan, Redirect, Tool, ToolError, preview};

/// A tool whose arguments are a Rust type. The schema comes from the type, its
/// doc comments are the descriptions that the model reads.
///
/// Give it to a registry as [`Typed::new(tool)`](Typed::new). Where it needs
/// nothing but a function, [`tool_fn`] is shorter.
pub trait TypedTool: Send + Sync + 'static {
    /// The type of the arguments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The type of the result: an object's members become the fields of the
    /// result, anything else its `data`.
    type Output: Serialize;

    /// The name a call uses.
    const NAME: &'static str;
    /// What it does, for the model.
    const DESCRIPTION: &'static str;
    /// What it may do to the world.
    const EFFECTS: Effects;
    /// How its events are sent.
    const CLASS: Class = Class::Realtime;

    /// How many of the parameters most calls need, from the first on. See
    /// [`ToolSpec::main_parameters`].
    const MAIN_PARAMETERS: Option<usize> = None;

    /// Whether the tool itself shows a person its progress while it runs.
    const SHOWS_ITSELF: bool = false;

    /// Whether its results have code in the snippet format.
    const GIVES_SNIPPETS: bool = false;

    /// Whether it may be left out of the prompt until the model searches for
    /// it. See [`Tool::is_deferrable`].
    const IS_DEFERRABLE: bool = false;

    /// The arguments under the names of the schema, where models are known to
    /// use others. They are not checked yet.
    fn adapt(&self, args: Arguments) -> Arguments {
        args
    }

    /// The arguments that a call means, if its own lead nowhere. See
    /// [`Tool::redirect`].
    fn redirect(
        &self,
        _context: &CallContext,
        _args: &Arguments,
    ) -> impl Future<Output = Option<Redirect>> + Send {
        std::future::ready(None)
    }

    /// How long this call may take by its own arguments.
    fn timeout(&self, _args: &Self::Args) -> Option<Duration> {
        None
    }

    /// The files that the call names, found without reading any of them. See
    /// [`Tool::targets`].
    ///
    /// # Errors
    ///
    /// If a path leads out of the workspace or cannot be one.
    fn targets(&self, _context: &CallContext, _args: &Self::Args) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    /// What the call is about to touch. May block. By default, a call may touch
    /// any file that the tool's effects allow.
    ///
    /// # Errors
    ///
    /// If the call cannot run at all.
    fn plan(&self, _context: &CallContext, _args: &Self::Args) -> Result<Plan, ToolError> {
        Ok(Plan::unknown(Self::EFFECTS))
    }

    /// Runs the call.
    fn run(
        &self,
        context: &CallContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// The preview of a result that a person sees.
    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        preview::of(result, max_lines)
    }
}

/// A [`TypedTool`] as the pipeline sees it.
#[derive(Debug)]
pub struct Typed<T> {
    spec: ToolSpec,
    tool: T,
}

impl<T: TypedTool> Typed<T> {
    /// The tool with its schema.
    #[must_use]
    pub fn new(tool: T) -> Self {
        Self {
            spec: ToolSpec::new(T::NAME, T::DESCRIPTION, parameters::<T::Args>())
                .with_main_parameters(T::MAIN_PARAMETERS),
            tool,
        }
    }
}

impl<T: TypedTool> Tool for Typed<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        T::EFFECTS
    }

    fn class(&self) -> Class {
        T::CLASS
    }

    fn shows_itself(&self) -> bool {
        T::SHOWS_ITSELF
    }

    fn gives_snippets(&self) -> bool {
        T::GIVES_SNIPPETS
    }

    fn is_deferrable(&self) -> bool {
        T::IS_DEFERRABLE
    }

    fn adapt(&self, args: Arguments) -> Arguments {
        self.tool.adapt(args)
    }

    fn redirect<'a>(
        &'a self,
        context: &'a CallContext,
        args: &'a Arguments,
    ) -> BoxFuture<'a, Option<Redirect>> {
        Box::pin(self.tool.redirect(context, args))
    }

    fn timeout(&self, args: &Arguments) -> Option<Duration> {
        let args = typed::<T::Args>(&self.spec, args).ok()?;
        self.tool.timeout(&args)
    }

    fn targets(&self, context: &CallContext, args: &Arguments) -> Result<Plan, ToolError> {
        let args = typed::<T::Args>(&self.spec, args)?;
        self.tool.targets(context, &args)
    }

    fn plan(&self, context: &CallContext, args: &Arguments) -> Result<Plan, ToolError> {
        let args = typed::<T::Args>(&self.spec, args)?;
        self.tool.plan(context, &args)
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        Box::pin(async move {
            let args = typed::<T::Args>(&self.spec, &args)?;
            fields(self.tool.run(context, args).await?)
        })
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        self.tool.preview(result, max_lines)
    }
}

/// A tool from a function.
///
/// ```
/// use ptk_tools::{CallContext, Effects, ToolError, tool_fn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     /// The first number
///     a: i64,
///     /// The second number
///     b: i64,
/// }
///
/// let add = tool_fn("add", "Add two numbers", Effects::NONE, |_: CallContext, args: Add| async move {
///     Ok::<_, ToolError>(args.a + args.b)
/// });
/// ```
pub fn tool_fn<A, O, F, R>(
    name: impl Into<String>,
    description: impl Into<String>,
    effects: Effects,
    run: F,
) -> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Serialize + Send + 'static,
    F: Fn(CallContext, A) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    FunctionTool {
        spec: ToolSpec::new(name, description, parameters::<A>()),
        effects,
        is_deferrable: false,
        run,
        args: PhantomData,
    }
}

/// A tool that is a function, as [`tool_fn`] makes it.
pub struct FunctionTool<A, F> {
    spec: ToolSpec,
    effects: Effects,
    is_deferrable: bool,
    run: F,
    args: PhantomData<fn(A)>,
}

impl<A, F> FunctionTool<A, F> {
    /// Allows the tool to be left out of the prompt until the model searches
    /// for it. See [`Tool::is_deferrable`].
    #[must_use]
    pub fn deferrable(mut self) -> Self {
        self.is_deferrable = true;
        self
    }
}

impl<A, F> std::fmt::Debug for FunctionTool<A, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionTool")
            .field("spec", &self.spec)
            .field("effects", &self.effects)
            .finish_non_exhaustive()
    }
}

impl<A, O, F, R> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Serialize + Send + 'static,
    F: Fn(CallContext, A) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn is_deferrable(&self) -> bool {
        self.is_deferrable
    }

    fn has_plan(&self) -> bool {
        false
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        Box::pin(async move {
            let args = typed::<A>(&self.spec, &args)?;
            fields((self.run)(context.clone(), args).await?)
        })
    }
}

/// The schema of a type as models know schemas: everything in its place, no
/// references, no title.
fn parameters<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema: Schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// The arguments as their type. They were checked against its schema, so this
/// fails only where the type asks for more than the schema says.
fn typed<A: DeserializeOwned>(spec: &ToolSpec, args: &Arguments) -> Result<A, ToolError> {
    let value = Value::Object(args.as_map().clone());
    serde_json::from_value(value).map_err(|error| {
        let example = ptk_protocol::schema::example::call_text(spec);
        ToolError::validation(format!("Invalid arguments for {}: {error}", spec.name))
            .suggest(format!("Example: {example}"))
    })
}

/// The output of a tool as fields.
fn fields<O: Serialize>(output: O) -> Result<Fields, ToolError> {
    let value = serde_json::to_value(output)
        .map_err(|error| ToolError::system(format!("The result cannot be written: {error}")))?;
    Ok(match value {
        Value::Object(fields) => fields,
        Value::Null => Fields::new(),
        value => Fields::from_iter([("data".to_owned(), value)]),
    })
}
