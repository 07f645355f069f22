//! The answers to requests of a server.

use serde_json::{Value, json};

/// The code for a method that is not known.
const NO_SUCH_METHOD: i32 = -32601;

/// The answer to a server's request.
pub(super) fn to(id: &Value, method: &str, parameters: &Value, folders: &Value) -> Value {
    let result = match method {
        // There are no settings: a null for each that is requested.
        "workspace/configuration" => {
            let items = parameters.get("items").and_then(Value::as_array);
            json!(vec![Value::Null; items.map_or(0, Vec::len)])
        }
        "workspace/workspaceFolders" => folders.clone(),
        // Checking changes nothing.
        "workspace/applyEdit" => json!({"applied": false}),
        "client/registerCapability"
        | "client/unregisterCapability"
        | "window/workDoneProgress/create"
        | "window/showMessageRequest"
        | "workspace/diagnostic/refresh"
        | "workspace/semanticTokens/refresh"
        | "workspace/inlayHint/refresh"
        | "workspace/codeLens/refresh" => Value::Null,
        _ => {
            let error =
                json!({"code": NO_SUCH_METHOD, "message": format!("{method} is not known here")});
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}
