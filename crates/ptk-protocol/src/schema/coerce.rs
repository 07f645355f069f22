//! Coerces values to the types that a schema requires, where the text can be
//! read in only one way.

use super::Schema;
use super::accept::accepts;
use super::budget::Budget;
use super::kinds::Kinds;
use super::node::Node;

/// A value that was coerced to the type its schema requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coercion {
    /// The path of the value, such as `edits[0].count`.
    pub path: String,
    /// The type that was written.
    pub from: &'static str,
    /// The type that it has now.
    pub to: &'static str,
}

impl std::fmt::Display for Coercion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} read as {}", self.path, self.from, self.to)
    }
}

/// Coerces a value. What already fits is never altered, except that a whole
/// number written with a fraction becomes an integer where only integers are
/// allowed: most readers of integers refuse `5.0`.
pub(crate) fn coerce(schema: Schema<'_>, node: Node, log: &mut Vec<Coercion>) -> Node {
    let mut coercer = Coercer {
        budget: Budget::default(),
        path: Vec::new(),
        log,
    };
    coercer.coerce(schema, node)
}

enum CoercionStep {
    Property(String),
    Item(usize),
}

impl std::fmt::Display for CoercionStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Property(name) => write!(f, ".{name}"),
            Self::Item(index) => write!(f, "[{index}]"),
        }
    }
}

struct Coercer<'a> {
    budget: Budget,
    path: Vec<CoercionStep>,
    log: &'a mut Vec<Coercion>,
}

impl Coercer<'_> {
    fn coerce(&mut self, schema: Schema<'_>, node: Node) -> Node {
        if !self.budget.enter() {
            return node;
        }
        let node = self.coerce_here(schema, node);
        self.budget.leave();
        node
    }

    fn coerce_here(&mut self, schema: Schema<'_>, node: Node) -> Node {
        if !schema.node().is_object() {
            return node;
        }
        if !matches!(node, Node::Array(_) | Node::Object(_)) && accepts(schema, &node, &self.budget)
        {
            return self.whole_number(schema, node);
        }
        let mut node = self.by_type(schema, node);
        if let Some(target) = schema.referenced() {
            node = self.coerce(target, node);
        }
        for part in schema.branches("allOf") {
            node = self.coerce(part, node);
        }
        for keyword in ["anyOf", "oneOf"] {
            node = self.by_branch(schema, keyword, node);
        }
        node
    }

    /// Coerces by the first alternative that takes the value: as it is, or else
    /// coerced.
    fn by_branch(&mut self, schema: Schema<'_>, keyword: &str, node: Node) -> Node {
        if let Some(branch) = schema
            .branches(keyword)
            .find(|branch| accepts(*branch, &node, &self.budget))
        {
            return self.coerce(branch, node);
        }
        let known = self.log.len();
        for branch in schema.branches(keyword) {
            if !self.budget.spend(node.weight()) {
                return node;
            }
            let candidate = self.coerce(branch, node.clone());
            if accepts(branch, &candidate, &self.budget) {
                return candidate;
            }
            self.log.truncate(known);
        }
        let mut same_type = schema
            .branches(keyword)
            .filter(|branch| Kinds::within_budget(*branch, &self.budget).allows(node.kind()));
        let (only, other) = (same_type.next(), same_type.next());
        match (only, other) {
            (Some(branch), None) => self.coerce(branch, node),
            _ => node,
        }
    }

    fn by_type(&mut self, schema: Schema<'_>, node: Node) -> Node {
        let kinds = Kinds::within_budget(schema, &self.budget);
        if kinds == Kinds::NONE {
            return node;
        }
        let node = match node {
            Node::String(text) => self.string(schema, kinds, text),
            Node::Number(digits) => {
                let as_string = Node::String(digits.clone());
                if !kinds.allows(Kinds::NUMBER)
                    && !kinds.allows(Kinds::INTEGER)
                    && kinds.allows(Kinds::STRING)
                    && accepts(schema, &as_string, &self.budget)
                {
                    self.note("number", "string");
                    as_string
                } else {
                    Node::Number(digits)
                }
            }
            Node::Array(items) => Node::Array(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(index, item)| match schema.item(index) {
                        Some(schema) => {
                            self.at(CoercionStep::Item(index), |this| this.coerce(schema, item))
                        }
                        None => item,
                    })
                    .collect(),
            ),
            Node::Object(entries) => Node::Object(
                entries
                    .into_iter()
                    .map(|(name, value)| match schema.own_property(&name) {
                        Some(schema) => {
                            let step = CoercionStep::Property(name.clone());
                            (name, self.at(step, |this| this.coerce(schema, value)))
                        }
                        None => (name, value),
                    })
                    .collect(),
            ),
            other => other,
        };
        self.wrap(schema, kinds, node)
    }

    fn string(&mut self, schema: Schema<'_>, kinds: Kinds, text: String) -> Node {
        let Some(reading) = reading(&text, kinds) else {
            return Node::String(text);
        };
        let known = self.log.len();
        self.note("string", reading.kind_name());
        let candidate = self.coerce(schema, reading);
        if !kinds.allows(Kinds::STRING) || accepts(schema, &candidate, &self.budget) {
            return candidate;
        }
        self.log.truncate(known);
        Node::String(text)
    }

    /// Wraps a single value into an array of one, where only an array is
    /// allowed.
    fn wrap(&mut self, schema: Schema<'_>, kinds: Kinds, node: Node) -> Node {
        if !kinds.allows(Kinds::ARRAY)
            || !kinds.within(Kinds::ARRAY_OR_NULL)
            || matches!(node, Node::Array(_) | Node::Null)
        {
            return node;
        }
        // A list that cannot be read is not one of its items.
        if matches!(&node, Node::String(text) if is_unreadable_list(text)) {
            return node;
        }
        let known = self.log.len();
        self.note(node.kind_name(), "array");
        let item = match schema.item(0) {
            Some(item) => self.at(CoercionStep::Item(0), |this| {
                this.coerce(item, node.clone())
            }),
            None => node.clone(),
        };
        let array = Node::Array(vec![item]);
        if accepts(schema, &array, &self.budget) {
            return array;
        }
        self.log.truncate(known);
        node
    }

    fn whole_number(&mut self, schema: Schema<'_>, node: Node) -> Node {
        /// Up to here every whole 64-bit float is the number that was written.
        const EXACT: f64 = 9_007_199_254_740_992.0;

        let Node::Number(digits) = node else {
            return node;
        };
        if digits.contains(['.', 'e', 'E'])
            && !Kinds::within_budget(schema, &self.budget).allows(Kinds::NUMBER)
            && let Ok(number) = digits.parse::<f64>()
            && number.abs() < EXACT
        {
            self.note("number", "integer");
            return Node::Number(format!("{:.0}", number + 0.0));
        }
        Node::Number(digits)
    }

    fn at<T>(&mut self, step: CoercionStep, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = work(self);
        self.path.pop();
        result
    }

    fn note(&mut self, from: &'static str, to: &'static str) {
        let path: String = self.path.iter().map(CoercionStep::to_string).collect();
        let path = path.trim_start_matches('.').to_owned();
        self.log.push(Coercion { path, from, to });
    }
}

/// Whether a text that is not JSON was meant as a list: its bracket never
/// closes, or it closes at the end, behind strings in quotes. A glob, a regular
/// expression or a path may begin with a bracket as well.
fn is_unreadable_list(text: &str) -> bool {
    let Some(items) = text.trim().strip_prefix('[') else {
        return false;
    };
    let has_strings = items.trim_start().starts_with(['"', '\'']);
    closing_bracket(items).is_none_or(|end| has_strings && end + 1 == items.len())
}

/// Where the bracket closes that was opened before this text. Brackets in
/// strings do not count; a string begins where an item does.
fn closing_bracket(items: &str) -> Option<usize> {
    let mut open = 1_usize;
    let mut quote = None;
    let mut begins_item = true;
    let mut chars = items.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\\', Some(_)) => {
                chars.next();
            }
            (c, Some(mark)) => quote = Some(mark).filter(|mark| *mark != c),
            ('"' | '\'', None) if begins_item => quote = Some(c),
            ('[', None) => open += 1,
            (']', None) => {
                open -= 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        if quote.is_none() && !c.is_whitespace() {
            begins_item = matches!(c, '[' | '{' | ',' | ':');
        }
    }
    None
}

/// Reads the text, exactly, as one of the types allowed beside a string.
pub(crate) fn reading(text: &str, kinds: Kinds) -> Option<Node> {
    let text = text.trim();
    let node = match text {
        "true" | "True" => Node::Bool(true),
        "false" | "False" => Node::Bool(false),
        "null" | "None" => Node::Null,
        _ => match text.bytes().next()? {
            b'-' | b'0'..=b'9' | b'[' | b'{' => Node::parse(text).ok()?,
            _ => return None,
        },
    };
    kinds.allows(node.kind()).then_some(node)
}
