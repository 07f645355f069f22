//! The attribute `#[ptk::tool]`, which makes a tool of an async function.
//!
//! Use it through the crate `ptk`: the code that it writes names that crate.
//!
//! ```text
//! /// Tell the weather in a city.
//! #[ptk::tool(effects = "network")]
//! async fn weather(
//!     /// The city, for example "Berlin"
//!     city: String,
//! ) -> Result<String, ToolError> {
//!     …
//! }
//!
//! let ptk = Ptk::builder().tool(weather()).…
//! ```

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Code};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, ReturnType, Type,
};

/// Makes a tool of an async function: a function of the same name and without
/// parameters, which returns the tool.
///
/// - The doc comment of the function is the description that the model reads,
///   the doc comments of its parameters describe those. A parameter of type
///   `Option` may be left out; one of type `CallContext` is not the model's, it
///   is the context of the call. `#[serde(…)]` and `#[schemars(…)]` on
///   parameters hold as they do on the fields of a struct.
/// - `effects = "…"` says what the tool does: `none`, or any of `read`,
///   `write`, `execute` and `network`. A tool with effects other than `read`
///   needs approval. Without `effects` the tool may do anything, so that each
///   call needs approval.
/// - `name = "…"` is the name for the model, where it is not the function's.
/// - The function returns what the model gets, or a `Result` whose error can be
///   turned into a `ToolError`.
#[proc_macro_attribute]
pub fn tool(attributes: TokenStream, item: TokenStream) -> TokenStream {
    let mut settings = Settings::default();
    let parser = syn::meta::parser(|meta| settings.read(&meta));
    syn::parse_macro_input!(attributes with parser);
    let function = syn::parse_macro_input!(item as ItemFn);
    expand(settings, function)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// The arguments of the attribute.
#[derive(Default)]
struct Settings {
    name: Option<String>,
    effects: Option<Vec<Ident>>,
}

impl Settings {
    fn read(&mut self, meta: &syn::meta::ParseNestedMeta<'_>) -> Result<(), Error> {
        if meta.path.is_ident("name") {
            let name: syn::LitStr = meta.value()?.parse()?;
            self.name = Some(name.value());
            return Ok(());
        }
        if meta.path.is_ident("effects") {
            let text: syn::LitStr = meta.value()?.parse()?;
            self.effects = Some(effects(&text)?);
            return Ok(());
        }
        Err(meta.error("expected `effects = \"…\"` or `name = \"…\"`"))
    }
}

/// The constants of `Effects` that a text names.
fn effects(text: &syn::LitStr) -> Result<Vec<Ident>, Error> {
    const KNOWN: [&str; 4] = ["read", "write", "execute", "network"];

    let value = text.value();
    let names = value.split(',').map(str::trim);
    let mut effects = Vec::new();
    for name in names {
        match name {
            "none" if value.trim() == "none" => {}
            name if KNOWN.contains(&name) => {
                effects.push(Ident::new(&name.to_uppercase(), text.span()));
            }
            name => {
                let message = format!(
                    "`{name}` is not an effect; write \"none\", or any of \"read, write, execute, network\""
                );
                return Err(Error::new(text.span(), message));
            }
        }
    }
    Ok(effects)
}

fn expand(settings: Settings, function: ItemFn) -> Result<Code, Error> {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
    } = function;
    if sig.asyncness.is_none() {
        let message = "a tool is an async function: write `async fn`";
        return Err(Error::new(sig.fn_token.span, message));
    }
    if !sig.generics.params.is_empty() {
        let message = "a tool has no generic parameters: a model could not choose them";
        return Err(Error::new(sig.generics.span(), message));
    }
    let description = documentation(&attrs);
    if description.is_empty() {
        let message =
            "a tool needs a doc comment: it is the description that the model chooses the tool by";
        return Err(Error::new(sig.ident.span(), message));
    }
    let name = settings.name.unwrap_or_else(|| sig.ident.to_string());
    let effects = match settings.effects {
        None => quote!(
            ::ptk::tools::Effects::READ
                | ::ptk::tools::Effects::WRITE
                | ::ptk::tools::Effects::EXECUTE
                | ::ptk::tools::Effects::NETWORK
        ),
        Some(named) => quote!(::ptk::tools::Effects::NONE #(| ::ptk::tools::Effects::#named)*),
    };
    let parameters = Parameters::of(&sig.inputs)?;
    let (fields, passed) = (&parameters.fields, &parameters.passed);
    let inputs = &parameters.inputs;
    let context = format_ident!("__context", span = Span::mixed_site());
    let args = format_ident!("__args", span = Span::mixed_site());
    let passed = passed.iter().map(|argument| match argument {
        Argument::Context => quote!(#context),
        Argument::Field(name) => quote!(#args.#name),
    });
    let (function, output) = (&sig.ident, &sig.output);
    let others = attrs.iter().filter(|it| !it.path().is_ident("doc"));
    let documents = attrs.iter().filter(|it| it.path().is_ident("doc"));
    let outcome = match output {
        ReturnType::Type(_, kind) if is_named(kind, "Result") => {
            quote!(__outcome.map_err(::core::convert::Into::into))
        }
        _ => quote!(::core::result::Result::<_, ::ptk::tools::ToolError>::Ok(
            __outcome
        )),
    };
    Ok(quote! {
        #(#documents)*
        #vis fn #function() -> impl ::ptk::tools::Tool + 'static {
            #(#others)*
            async fn #function(#inputs) #output #block

            #[derive(::ptk::serde::Deserialize, ::ptk::schemars::JsonSchema)]
            #[serde(crate = "::ptk::serde")]
            #[schemars(crate = "::ptk::schemars")]
            struct Parameters {
                #(#fields)*
            }

            ::ptk::tools::tool_fn(
                #name,
                #description,
                #effects,
                |#context: ::ptk::tools::CallContext, #args: Parameters| async move {
                    let _ = (&#context, &#args);
                    let __outcome = #function(#(#passed),*).await;
                    #outcome
                },
            )
        }
    })
}

/// What is passed to the function for one of its parameters.
enum Argument {
    /// The context of the call.
    Context,
    /// An argument that the model has given.
    Field(Ident),
}

/// The parameters of the function.
struct Parameters {
    /// Those of the function, without their doc comments.
    inputs: Code,
    /// Those that the model gives, with their doc comments and what they say
    /// to serde and schemars.
    fields: Vec<Code>,
    passed: Vec<Argument>,
}

impl Parameters {
    fn of(inputs: &syn::punctuated::Punctuated<FnArg, syn::Token![,]>) -> Result<Self, Error> {
        let mut parameters = Self {
            inputs: Code::new(),
            fields: Vec::new(),
            passed: Vec::new(),
        };
        for input in inputs {
            let FnArg::Typed(input) = input else {
                return Err(Error::new(input.span(), "a tool takes no `self`"));
            };
            let (attributes, kind) = (&input.attrs, &input.ty);
            let pattern = &input.pat;
            parameters.inputs.extend(quote!(#pattern: #kind,));
            if is_named(kind, "CallContext") {
                parameters.passed.push(Argument::Context);
                continue;
            }
            let Pat::Ident(name) = &*input.pat else {
                let message = "a parameter of a tool has a name: the model gives it by that";
                return Err(Error::new(input.pat.span(), message));
            };
            if let Type::Reference(reference) = &**kind {
                let message = "a parameter of a tool is owned, such as `String` for `&str`";
                return Err(Error::new(reference.span(), message));
            }
            let name = name.ident.clone();
            parameters
                .fields
                .push(quote!(#(#attributes)* #name: #kind,));
            parameters.passed.push(Argument::Field(name));
        }
        Ok(parameters)
    }
}

/// The text of doc comments.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(meta) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &meta.value
        else {
            return None;
        };
        let text = text.value();
        let line = text.strip_prefix(' ').unwrap_or(&text).trim_end();
        meta.path.is_ident("doc").then(|| line.to_owned())
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether a type has this name, whatever its path and parameters.
fn is_named(kind: &Type, name: &str) -> bool {
    match kind {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|segment| segment.ident == name),
        _ => false,
    }
}
