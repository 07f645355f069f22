//! Assignments of values that are known before the shell runs.

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    ForClauseCommand, Pipeline, PipelineOperator, SimpleCommand,
};

use super::super::variables::Variables;
use super::super::word::{self, Piece, Word};
use super::{Gathered, Walk};

/// How often the body of a loop is looked at, once for each value. In a loop
/// within a loop it is that of both together.
const MAX_ROUNDS: usize = 16;
/// Commands that give variables their values, and letters of their options
/// that leave these as they are.
const DECLARERS: [&str; 5] = ["export", "readonly", "declare", "typeset", "local"];
const PLAIN_OPTIONS: &str = "-grx";

/// The certain values of variables along commands of which each depends on
/// those before it.
pub(super) struct Certain {
    pub(super) variables: Variables,
    /// Whether all commands so far run.
    is_sure: bool,
    /// Whether the last one runs only if something fails.
    is_or: bool,
}

impl Certain {
    pub(super) fn of(variables: &Variables) -> Self {
        Self {
            variables: variables.clone(),
            is_sure: true,
            is_or: false,
        }
    }

    /// Begins the next command, which runs if the one before it succeeded, or
    /// failed.
    pub(super) fn before(&mut self, operator: &PipelineOperator, variables: &mut Variables) {
        self.is_or = *operator == PipelineOperator::Or;
        self.is_sure &= !self.is_or;
        if self.is_or {
            variables.clone_from(&self.variables);
        }
    }

    /// Ends a command, after which the variables have these values.
    pub(super) fn behind(&mut self, pipeline: &Pipeline, variables: &mut Variables) {
        if self.is_sure {
            self.variables.clone_from(variables);
        } else if self.is_or {
            variables.clone_from(&self.variables);
        }
        // Whether anything else succeeds is not known.
        self.is_sure &= is_assignment(pipeline);
    }
}

impl Walk {
    /// Walks through something that may not run: its assignments hold in it
    /// alone.
    pub(super) fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        let variables = self.variables.clone();
        walk(self);
        self.variables = variables;
    }

    /// The value of an assignment, if it is known.
    pub(super) fn assigned(&self, assignment: &Assignment) -> Option<(String, Vec<Piece>)> {
        let AssignmentName::VariableName(name) = &assignment.name else {
            return None;
        };
        let AssignmentValue::Scalar(source) = &assignment.value else {
            return None;
        };
        if assignment.append || !self.names.is_plain(name) {
            return None;
        }
        let reading = word::read(&source.value, &self.variables);
        let value = match reading.words.as_slice() {
            _ if !reading.nested.is_empty() => None,
            [] => Some(vec![Piece::Text(String::new())]),
            [word] => seen(word),
            _ => None,
        };
        // File names are looked up where it is used, not here.
        let plain = |piece| match piece {
            Piece::Glob(text) => Piece::Text(text),
            piece => piece,
        };
        Some((name.clone(), value?.into_iter().map(plain).collect()))
    }

    /// Sets the variables that a command such as `export D=build` declares.
    pub(super) fn declare(&mut self, command: &SimpleCommand, gathered: &Gathered) {
        let name = gathered.simple.program();
        let Some(name) = name.filter(|name| DECLARERS.contains(name)) else {
            return;
        };
        let args = gathered.simple.args();
        let mut options = args.iter().filter(|arg| arg.start().starts_with('-'));
        let is_plain = |option: &Word| option.start().chars().all(|c| PLAIN_OPTIONS.contains(c));
        if !options.clone().all(is_plain) {
            return;
        }
        let is_exported = name == "export" || options.any(|option| option.start().contains('x'));
        for item in command.suffix.iter().flat_map(|it| &it.0) {
            if let CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) = item
                && let Some((name, value)) = self.assigned(assignment)
            {
                self.variables.set(&name, value, is_exported);
            }
        }
    }

    /// Walks through a loop over values: as if its body were written once for
    /// each, where they are known.
    pub(super) fn each(&mut self, it: &ForClauseCommand) {
        let values = self.values(it).filter(|values| !values.is_empty());
        let Some(values) = values else {
            self.perhaps(|walk| walk.list(&it.body.list));
            return;
        };
        let outer = self.rounds;
        self.rounds *= values.len();
        // However often the body is walked through, what stands in it stands
        // there once.
        let (seen, given) = (self.seen, self.given.clone());
        let mut most = given.clone();
        for value in values {
            (self.seen, self.given) = (seen, given.clone());
            self.perhaps(|walk| {
                walk.variables.set(&it.variable_name, value, false);
                walk.list(&it.body.list);
            });
            most.add(&self.given);
        }
        self.given = most;
        self.rounds = outer;
    }

    fn values(&self, it: &ForClauseCommand) -> Option<Vec<Vec<Piece>>> {
        if !self.names.is_plain(&it.variable_name) {
            return None;
        }
        let mut values = Vec::new();
        for source in it.values.as_ref()? {
            let reading = word::read(&source.value, &self.variables);
            if !reading.nested.is_empty() {
                return None;
            }
            for word in &reading.words {
                values.push(seen(word)?);
            }
        }
        (values.len() * self.rounds <= MAX_ROUNDS).then_some(values)
    }
}

/// The pieces of a word, if all of it is known.
fn seen(word: &Word) -> Option<Vec<Piece>> {
    let is_seen = |piece: &Piece| !matches!(piece, Piece::Unknown | Piece::Folder);
    word.pieces()
        .iter()
        .all(is_seen)
        .then(|| word.pieces().to_vec())
}

/// Whether a pipeline only gives variables their values, which always succeeds.
fn is_assignment(pipeline: &Pipeline) -> bool {
    let [Command::Simple(command)] = pipeline.seq.as_slice() else {
        return false;
    };
    let is_plain = |item: &CommandPrefixOrSuffixItem| match item {
        CommandPrefixOrSuffixItem::AssignmentWord(_, word) => !word.value.contains(['$', '`']),
        _ => false,
    };
    let mut prefix = command.prefix.iter().flat_map(|it| &it.0);
    !pipeline.bang && command.word_or_name.is_none() && prefix.all(is_plain)
}
