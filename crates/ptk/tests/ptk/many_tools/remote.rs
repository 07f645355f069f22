//! Many tools, as servers of others bring them.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk::protocol::{Arguments, ToolSpec};
use ptk::tools::{CallContext, Effects, Fields, Registry, Tool, ToolError};
use serde_json::{Map, Value, json};

/// The calls that were made, in order.
pub(crate) type Calls = Arc<Mutex<Vec<(String, Value)>>>;

/// A tool of a server, which only notes its calls.
struct Remote {
    spec: ToolSpec,
    calls: Calls,
}

impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn has_plan(&self) -> bool {
        false
    }

    fn is_deferrable(&self) -> bool {
        true
    }

    fn run<'a>(
        &'a self,
        _context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        let call = (self.spec.name.clone(), Value::Object(args.as_map().clone()));
        self.calls.lock().unwrap().push(call);
        let done = json!(format!("{} is done", self.spec.name));
        std::future::ready(Ok(Fields::from_iter([("data".to_owned(), done)]))).boxed()
    }
}

/// Adds a hundred tools of ten servers.
pub(crate) fn add(registry: &mut Registry, calls: &Calls) {
    let samples = include_str!("../../../../ptk-model/tests/samples/tools.txt");
    for line in samples.lines() {
        let mut parts = line.split('|').map(str::trim);
        let (name, about) = (parts.next().unwrap(), parts.next().unwrap());
        let parameters = parts.next().unwrap().split(',').map(str::trim);
        let spec = ToolSpec::new(name, about, schema(parameters));
        let calls = Arc::clone(calls);
        registry.register(Remote { spec, calls }).unwrap();
    }
}

fn schema<'p>(parameters: impl Iterator<Item = &'p str>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in parameters.filter(|it| !it.is_empty()) {
        let (name, kind) = parameter.split_once(':').unwrap_or((parameter, "s"));
        let kind = match kind {
            "i" => "integer",
            "b" => "boolean",
            _ => "string",
        };
        let name = name.strip_suffix('?').unwrap_or_else(|| {
            required.push(name);
            name
        });
        let about = format!("The {} of it", name.replace('_', " "));
        properties.insert(name.to_owned(), json!({"type": kind, "description": about}));
    }
    json!({"type": "object", "properties": properties, "required": required})
}
