//! The start page `/`: what is served, and how to configure each client; HTML
//! for browsers, plain text for all other clients.

use hyper::StatusCode;
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue,
};

use super::{Call, Endpoint, Reply};

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
/// The fixed part of the page.
const HEAD: &str = include_str!("page.html");
/// The most models that are listed; a server may have thousands.
const MAX_MODELS: usize = 50;

/// How clients are configured. `{base}`, `{model}` and `{key}` are replaced by
/// the values of this gateway.
const CLIENTS: [(&str, &str); 9] = [
    (
        "curl",
        r#"curl {base}/v1/chat/completions \
  -H "Authorization: Bearer {key}" \
  -d '{"model": "{model}", "messages": [{"role": "user", "content": "Hello"}]}'"#,
    ),
    (
        "OpenAI SDKs, and whatever is built on them",
        "export OPENAI_BASE_URL={base}/v1\nexport OPENAI_API_KEY={key}",
    ),
    (
        "Anthropic SDKs",
        "export ANTHROPIC_BASE_URL={base}\nexport ANTHROPIC_API_KEY={key}",
    ),
    (
        "Claude Code",
        "export ANTHROPIC_BASE_URL={base}\nexport ANTHROPIC_AUTH_TOKEN={key}\nexport ANTHROPIC_MODEL={model}\nclaude",
    ),
    (
        "Codex, in ~/.codex/config.toml",
        r#"model = "{model}"
model_provider = "ptk"

[model_providers.ptk]
name = "PTK"
base_url = "{base}/v1"
wire_api = "responses"
experimental_bearer_token = "{key}""#,
    ),
    ("Ollama clients", "export OLLAMA_HOST={base}"),
    (
        "LangChain",
        r#"ChatOpenAI(base_url="{base}/v1", api_key="{key}", model="{model}")"#,
    ),
    (
        "LiteLLM",
        r#"completion(model="openai/{model}", api_base="{base}/v1", api_key="{key}")"#,
    ),
    (
        "Vercel AI SDK",
        r#"const ptk = createOpenAICompatible({
  name: "ptk",
  baseURL: "{base}/v1",
  apiKey: "{key}",
});
const model = ptk("{model}");"#,
    ),
];

/// The information about this gateway.
struct PageInfo {
    base: String,
    /// The models, if no key is needed to list them.
    models: Option<Vec<String>>,
}

pub(super) async fn page(call: &Call) -> Reply {
    let header = |name: HeaderName| call.headers.get(name).and_then(|it| it.to_str().ok());
    let about = PageInfo {
        base: format!("http://{}", header(HOST).unwrap_or("localhost")),
        models: match call.gateway.access.keys {
            Some(_) => None,
            None => Some(call.gateway.routes.all().await),
        },
    };
    let wants_html = header(ACCEPT).is_some_and(|accept| accept.contains("text/html"));
    let mut reply = if wants_html {
        Reply::whole(StatusCode::OK, HTML, about.html())
    } else {
        Reply::whole(StatusCode::OK, TEXT, about.text())
    };
    reply.headers = vec![
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
        ),
    ];
    reply
}

impl PageInfo {
    /// The configuration of a client for this gateway.
    fn written(&self, how: &str) -> String {
        let model = self.models.as_ref().and_then(|models| models.first());
        let key = match self.models {
            Some(_) => "unused",
            None => "YOUR-KEY",
        };
        // The names of models come last, so that placeholders in them stay.
        how.replace("{key}", key)
            .replace("{base}", &self.base)
            .replace("{model}", model.map_or("YOUR-MODEL", String::as_str))
    }

    /// A line about the models.
    fn models(&self) -> String {
        let Some(models) = &self.models else {
            return "Ask GET /v1/models with your key.".to_owned();
        };
        if models.is_empty() {
            return "The server behind the gateway names none.".to_owned();
        }
        let more = models.len().saturating_sub(MAX_MODELS);
        let shown: Vec<&str> = models.iter().take(MAX_MODELS).map(String::as_str).collect();
        let shown = shown.join(", ");
        match more {
            0 => shown,
            more => format!("{shown}, and {more} more: GET /v1/models"),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "PTK: tools for every client, whatever the model behind it.\n\nModels\n\n  {}\n\nServed at {}\n\n",
            self.models(),
            self.base
        );
        for found in Endpoint::ALL {
            let (method, path) = (found.method(), found.path());
            let method = method.as_str();
            text.push_str(&format!("  {method:<4} {path:<26} {}\n", found.what()));
        }
        text.push_str("\nHow to point clients at it\n");
        for (client, how) in CLIENTS {
            text.push_str(&format!("\n  {client}\n\n"));
            for line in self.written(how).lines() {
                text.push_str(format!("    {line}").trim_end());
                text.push('\n');
            }
        }
        text
    }

    fn html(&self) -> String {
        let mut html = HEAD.to_owned();
        html.push_str(&format!(
            "<h1>PTK</h1>\n<p class=\"lead\">Tools for every client, whatever the model behind it.</p>\n<h2>Models</h2>\n<p>{}</p>\n<h2>Served at <code>{}</code></h2>\n<div class=\"scroll\">\n<table>\n",
            escaped(&self.models()),
            escaped(&self.base)
        ));
        for found in Endpoint::ALL {
            html.push_str(&format!(
                "<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
                found.method(),
                escaped(found.path()),
                escaped(found.what())
            ));
        }
        html.push_str("</table>\n</div>\n<h2>How to point clients at it</h2>\n");
        for (client, how) in CLIENTS {
            let how = self.written(how);
            let (client, how) = (escaped(client), escaped(&how));
            html.push_str(&format!("<h3>{client}</h3>\n<pre>{how}</pre>\n"));
        }
        html.push_str("</body>\n</html>\n");
        html
    }
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
