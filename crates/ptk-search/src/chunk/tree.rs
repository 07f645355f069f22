//! Builds the outline of a source from its syntax tree.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use super::grammar::{Grammar, Role};
use super::kind::Kind;
use super::lines::Source;
use super::outline::{Item, Leading, MAX_DEPTH, function_in, is_long, joined, one_line};

/// A parse is given up after this many progress callbacks, plus one for each
/// [`BYTES_A_CHECK`] of the source. Real sources need about a tenth of that;
/// the limit is for input that is not source code at all.
const LEAST_CHECKS: usize = 2_000;
const BYTES_A_CHECK: usize = 32;
/// How many child nodes are searched for a field that a node lacks.
const MAX_INNER: usize = 8;

/// The items of a source, each after the one that contains it. `None` if the
/// source cannot be parsed within the limits.
pub(super) fn outline(
    parser: &mut Parser,
    grammar: &Grammar,
    source: &Source<'_>,
) -> Option<Vec<Item>> {
    parser.set_language(&grammar.language).ok()?;
    let bytes = source.text.as_bytes();
    let mut checks = LEAST_CHECKS + bytes.len() / BYTES_A_CHECK;
    let mut check = |_: &tree_sitter::ParseState| match checks.checked_sub(1) {
        Some(rest) => {
            checks = rest;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut check);
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    // Otherwise an aborted parse would be continued by the next one.
    parser.reset();
    let tree = tree?;
    let mut walk = Walk {
        grammar,
        source,
        items: Vec::new(),
        frames: Vec::new(),
    };
    walk.run(&mut tree.walk());
    Some(walk.items)
}

struct Walk<'a> {
    grammar: &'a Grammar,
    source: &'a Source<'a>,
    items: Vec<Item>,
    /// The nodes that were entered, the innermost last.
    frames: Vec<Frame>,
}

/// A node whose children are being visited.
#[derive(Debug, Clone, Default)]
struct Frame {
    scope: String,
    /// The kind of the definition that contains these nodes.
    container: Option<Kind>,
    /// The lines of the wrapper around a definition in this node.
    wrapper: Option<(usize, usize)>,
    leading: Leading,
    /// How many definitions contain this one.
    depth: usize,
}

impl Walk<'_> {
    /// Walks the tree without recursion: sources can be nested deeper than the
    /// stack allows.
    fn run(&mut self, cursor: &mut TreeCursor<'_>) {
        self.frames.push(Frame::default());
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            if let Some(frame) = self.enter(cursor.node())
                && cursor.goto_first_child()
            {
                self.frames.push(frame);
                continue;
            }
            while !cursor.goto_next_sibling() {
                self.frames.pop();
                if self.frames.is_empty() || !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Handles a node. Returns a frame if its children are to be visited.
    fn enter(&mut self, node: Node<'_>) -> Option<Frame> {
        let (first, last) = lines(node);
        let role = if node.is_error() {
            Some(Role::Through)
        } else {
            self.grammar.role(node.kind_id())
        };
        let frame = self.frames.last_mut()?;
        if role == Some(Role::Leading) {
            frame.leading.add(first, last);
            return None;
        }
        let start = frame.leading.take(first, last);
        if !node.is_named() {
            return None;
        }
        let role = role?;
        let (start, end) = frame.wrapper.unwrap_or((start, last));
        let frame = frame.clone();
        let inner = Frame {
            leading: Leading::default(),
            ..frame.clone()
        };
        match role {
            Role::Leading => None,
            Role::Through => Some(inner),
            Role::Wrapper => Some(Frame {
                wrapper: Some((start, end)),
                ..inner
            }),
            Role::Whole(kind) => {
                self.define(node, kind, (start, end), &frame);
                None
            }
            Role::Value(kind) => {
                let kind = value_kind(node).unwrap_or(kind);
                let is_function = kind == Kind::Function && !node.kind().contains("signature");
                if is_function || is_long(start, end) {
                    self.define(node, kind, (start, end), &frame);
                }
                None
            }
            Role::Members(kind) => {
                let body = node.child_by_field_name("body");
                if body.is_none() && !is_long(start, end) {
                    return None;
                }
                self.define(node, kind, (start, end), &frame);
                (frame.depth < MAX_DEPTH).then(|| Frame {
                    scope: self.within(&frame.scope, node, kind, body),
                    container: Some(kind),
                    wrapper: None,
                    depth: frame.depth + 1,
                    ..inner
                })
            }
        }
    }

    fn define(&mut self, node: Node<'_>, kind: Kind, lines: (usize, usize), frame: &Frame) {
        let kind = match (kind, frame.container) {
            (Kind::Function, container) => function_in(container),
            (Kind::Type, _) => type_kind(node).unwrap_or(kind),
            _ => kind,
        };
        let mut scope = frame.scope.clone();
        let mut symbol = self.symbol(node);
        if let Some(receiver) = node.child_by_field_name("receiver") {
            scope = self.receiver(receiver);
        }
        // A member that is defined outside its class: `Shape::area`.
        let outside = symbol.as_deref().and_then(|name| name.rsplit_once("::"));
        if let (Kind::Function, Some((class, name))) = (kind, outside) {
            scope = joined(&scope, class);
            symbol = Some(name.to_owned());
        }
        self.items.push(Item {
            first: lines.0,
            last: lines.1.min(self.source.count().saturating_sub(1)),
            kind,
            symbol,
            scope,
        });
    }

    /// The type in `(r *Reader[T])`.
    fn receiver(&self, node: Node<'_>) -> String {
        let text = self.text(node);
        let inner = text.trim_matches(['(', ')']);
        let name = inner.split_whitespace().last().unwrap_or(inner);
        let name = name.trim_start_matches('*');
        name.split('[').next().unwrap_or(name).to_owned()
    }

    /// The scope of the members of a container: a short form of its header.
    fn within(&self, scope: &str, node: Node<'_>, kind: Kind, body: Option<Node<'_>>) -> String {
        let own = if kind == Kind::Impl {
            let end = body.map_or(node.end_byte(), |body| body.start_byte());
            let header = self.source.text.get(node.start_byte()..end);
            one_line(header.unwrap_or_default())
        } else {
            let keyword = match node.kind() {
                "mod_item" => "mod",
                node if node.starts_with("namespace") => "namespace",
                _ => kind.name(),
            };
            match self.symbol(node) {
                Some(symbol) => format!("{keyword} {symbol}"),
                None => keyword.to_owned(),
            }
        };
        joined(scope, &own)
    }

    /// The name that a node defines, wherever the grammar has it.
    fn symbol(&self, node: Node<'_>) -> Option<String> {
        let name = node
            .child_by_field_name("name")
            .or_else(|| declared(node))
            .or_else(|| plain_type(node))
            .or_else(|| field(node, "name"))?;
        let name = one_line(self.text(name));
        (!name.is_empty()).then_some(name)
    }

    fn text(&self, node: Node<'_>) -> &str {
        self.source.text.get(node.byte_range()).unwrap_or_default()
    }
}

/// The name in a declarator of C, inside pointers, arrays and parameters.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut inner = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_DEPTH {
        let next = inner.child_by_field_name("declarator").or_else(|| {
            inner
                .child_by_field_name("name")
                .filter(|_| inner.kind() == "variable_declarator")
        });
        match next {
            Some(next) => inner = next,
            None => break,
        }
    }
    Some(inner)
}

/// The type of a node, without its generic arguments.
fn plain_type(node: Node<'_>) -> Option<Node<'_>> {
    let whole = node.child_by_field_name("type")?;
    whole.child_by_field_name("type").or(Some(whole))
}

/// A field of a node, or of one of its first children.
fn field<'tree>(node: Node<'tree>, name: &str) -> Option<Node<'tree>> {
    node.child_by_field_name(name).or_else(|| {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .take(MAX_INNER)
            .find_map(|inner| inner.child_by_field_name(name))
    })
}

/// The kind of `const name = …` and the like, if it is a function or a class.
fn value_kind(node: Node<'_>) -> Option<Kind> {
    match field(node, "value")?.kind() {
        "arrow_function" | "function_expression" | "generator_function" => Some(Kind::Function),
        "class" => Some(Kind::Class),
        _ => None,
    }
}

/// The kind of `type Name …`, if the type shows it.
fn type_kind(node: Node<'_>) -> Option<Kind> {
    match field(node, "type")?.kind() {
        "struct_type" | "struct_specifier" => Some(Kind::Struct),
        "interface_type" => Some(Kind::Interface),
        "enum_specifier" => Some(Kind::Enum),
        "union_specifier" => Some(Kind::Union),
        _ => None,
    }
}

/// The lines of a node, from zero, both ends included.
fn lines(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    // Some nodes include the line break.
    let last = if end.column == 0 && end.row > start.row {
        end.row - 1
    } else {
        end.row
    };
    (start.row, last)
}
