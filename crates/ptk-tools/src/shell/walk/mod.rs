//! The way through the grammar's tree to the simple commands.

mod bind;

use brush_parser::ast::{
    AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem,
    CompoundCommand, CompoundList, FunctionDefinition, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, Pipeline, RedirectList, SeparatorOperator, SimpleCommand, SubshellCommand,
};

use super::variables::{Names, Variables};
use super::word::{self, Piece, Word};
use super::wrapper::{Inside, inside};
use super::{
    CommandLine, Folder, MAX_COMMANDS, Redirect, RedirectMode, Role, Simple, program, tolerant,
};

/// Variables that say where a command runs and what its words are.
const OWN_VARIABLES: [&str; 3] = ["HOME", "PWD", "IFS"];

/// Commands behind which the folder may be another one.
const MOVERS: [&str; 5] = ["cd", "pushd", "popd", "source", "."];

/// Collects commands on the way.
pub(super) struct Walk {
    line: CommandLine,
    folder: Folder,
    /// Programs whose output everything here gets.
    fed_by: Vec<String>,
    /// The functions that this stands in.
    functions: Vec<String>,
    /// How many texts within texts are still looked at.
    depth: u8,
    forgets: bool,
    /// The names in the whole text.
    names: Names,
    /// What they hold here.
    variables: Variables,
    /// How many values the loops have together that this stands in.
    rounds: usize,
}

/// What a command gathers before it is complete.
#[derive(Default)]
struct Gathered {
    simple: Simple,
    /// Texts on its input.
    documents: Vec<String>,
    /// Variables that it gives a value.
    values: Vec<(String, Vec<Piece>)>,
}

impl Walk {
    /// The way through this text.
    pub(super) fn new(text: &str) -> Self {
        Self {
            line: CommandLine {
                is_whole: true,
                ..CommandLine::default()
            },
            folder: Folder::Start,
            fed_by: Vec::new(),
            functions: Vec::new(),
            depth: 0,
            forgets: false,
            names: Names::of(text),
            variables: Variables::default(),
            rounds: 1,
        }
    }

    pub(super) fn end(mut self) -> CommandLine {
        if self.forgets {
            let words = self.line.commands.iter_mut().flat_map(|command| {
                let targets = command.redirects.iter_mut().map(|it| &mut it.target);
                command.words.iter_mut().chain(targets)
            });
            words.for_each(Word::forget);
        }
        self.line
    }

    /// A text for the shell, with so many texts in it.
    pub(super) fn text(&mut self, text: &str, depth: u8) {
        if depth == 0 || self.line.commands.len() >= MAX_COMMANDS {
            self.line.is_whole = false;
            return;
        }
        let before = std::mem::replace(&mut self.depth, depth);
        match program(text) {
            Some(program) => program
                .complete_commands
                .iter()
                .for_each(|it| self.list(it)),
            None => self.rough(text),
        }
        self.depth = before;
    }

    /// A text that the grammar does not read.
    fn rough(&mut self, text: &str) {
        self.line.is_whole = false;
        self.line.is_fork_bomb |= tolerant::is_fork_bomb(text);
        for rough in tolerant::commands(text) {
            let mut gathered = Gathered::default();
            for word in &rough.words {
                self.word(word, &mut gathered);
            }
            for target in &rough.written {
                self.redirect(RedirectMode::Write, target, &mut gathered);
            }
            self.complete(gathered);
        }
    }

    /// A text within this one. Gives back the programs in it.
    fn nested(&mut self, text: &str) -> Vec<String> {
        self.apart(|walk| walk.text(text, walk.depth.saturating_sub(1)))
    }

    /// What leaves folder and variables as they were. Gives back the programs
    /// in it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) -> Vec<String> {
        let folder = self.folder.clone();
        let start = self.line.commands.len();
        self.perhaps(walk);
        self.folder = folder;
        let found = self.line.commands.get(start..).unwrap_or_default();
        let names = found.iter().filter_map(|it| it.name().map(str::to_owned));
        names.collect()
    }

    fn list(&mut self, list: &CompoundList) {
        let mut copies = 0;
        for item in &list.0 {
            let is_async = matches!(item.1, SeparatorOperator::Async);
            copies += usize::from(is_async && self.calls_itself(&item.0));
            if is_async {
                self.apart(|walk| walk.and_or(&item.0));
            } else {
                self.and_or(&item.0);
            }
        }
        self.line.is_fork_bomb |= copies > 1;
    }

    fn calls_itself(&self, list: &AndOrList) -> bool {
        list.iter()
            .any(|(_, it)| it.seq.iter().any(|it| self.is_itself(it)))
    }

    /// Whether a command calls the function that it stands in.
    fn is_itself(&self, command: &Command) -> bool {
        let Command::Simple(command) = command else {
            return false;
        };
        let name = command.word_or_name.as_ref();
        name.is_some_and(|name| self.functions.contains(&name.value))
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let copies = pipeline.seq.iter().filter(|it| self.is_itself(it)).count();
        self.line.is_fork_bomb |= copies > 1;
        let [command] = pipeline.seq.as_slice() else {
            let fed_by = self.fed_by.clone();
            for command in &pipeline.seq {
                let names = self.apart(|walk| walk.command(command));
                self.fed_by.extend(names);
            }
            self.fed_by = fed_by;
            return;
        };
        self.command(command);
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(command) => self.simple(command),
            Command::Compound(command, redirects) => {
                self.redirects(redirects.as_ref());
                self.compound(command);
            }
            Command::Function(function) => self.function(function),
            Command::ExtendedTest(test) => self.evaluated(&test.expr.to_string()),
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.line.has_functions = true;
        self.functions.push(function.fname.value.clone());
        self.redirects(function.body.1.as_ref());
        let names = self.apart(|walk| walk.compound(&function.body.0));
        self.functions.pop();
        // Whoever calls it is elsewhere from then on.
        if names.iter().any(|name| MOVERS.contains(&name.as_str())) {
            self.folder = Folder::Unknown;
        }
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::Arithmetic(it) => self.evaluated(&it.expr.value),
            CompoundCommand::ArithmeticForClause(it) => {
                let parts = [&it.initializer, &it.condition, &it.updater];
                for part in parts.into_iter().flatten() {
                    self.evaluated(&part.value);
                }
                self.perhaps(|walk| walk.list(&it.body.list));
            }
            CompoundCommand::BraceGroup(it) => self.list(&it.list),
            CompoundCommand::Subshell(it) => drop(self.apart(|walk| walk.list(&it.list))),
            CompoundCommand::ForClause(it) => {
                for value in it.values.iter().flatten() {
                    self.nested_in(&value.value);
                }
                self.each(it);
            }
            CompoundCommand::CaseClause(it) => {
                self.nested_in(&it.value.value);
                for case in &it.cases {
                    let patterns = case.patterns.iter();
                    patterns.for_each(|pattern| self.nested_in(&pattern.value));
                    if let Some(list) = &case.cmd {
                        self.perhaps(|walk| walk.list(list));
                    }
                }
            }
            CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.perhaps(|walk| walk.list(&it.then));
                for clause in it.elses.iter().flatten() {
                    self.perhaps(|walk| {
                        clause.condition.iter().for_each(|list| walk.list(list));
                        walk.list(&clause.body);
                    });
                }
            }
            CompoundCommand::WhileClause(it) | CompoundCommand::UntilClause(it) => {
                self.list(&it.0);
                self.perhaps(|walk| walk.list(&it.1.list));
            }
        }
    }

    /// The commands that run for a text which is none itself.
    fn nested_in(&mut self, text: &str) {
        for nested in word::nested_in(text) {
            self.nested(&nested);
        }
    }

    /// The commands that run for a text which is evaluated, as numbers are:
    /// quotes do not keep them from it.
    fn evaluated(&mut self, text: &str) {
        self.nested_in(&text.replace(['\'', '\\'], " "));
    }

    /// Redirections of a group.
    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        let Some(redirects) = redirects else { return };
        let mut gathered = Gathered::default();
        for redirect in &redirects.0 {
            self.io(redirect, &mut gathered);
        }
        self.complete(gathered);
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let mut gathered = Gathered::default();
        let prefix = command.prefix.iter().flat_map(|it| &it.0);
        for item in prefix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    self.assignment(assignment, &mut gathered);
                }
                item => self.item(item, &mut gathered),
            }
        }
        if let Some(word) = &command.word_or_name {
            self.word(&word.value, &mut gathered);
        }
        let suffix = command.suffix.iter().flat_map(|it| &it.0);
        suffix.for_each(|item| self.item(item, &mut gathered));
        self.declare(command, &gathered);
        self.complete(gathered);
    }

    fn assignment(&mut self, assignment: &Assignment, gathered: &mut Gathered) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name,
            AssignmentName::ArrayElementName(name, index) => {
                self.evaluated(index);
                name
            }
        };
        self.forgets |= OWN_VARIABLES.contains(&name.as_str());
        gathered.simple.assignments.push(name.clone());
        gathered.values.extend(self.assigned(assignment));
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.nested_in(&word.value),
            AssignmentValue::Array(words) => {
                for (index, word) in words {
                    if let Some(index) = index {
                        self.nested_in(&index.value);
                    }
                    self.nested_in(&word.value);
                }
            }
        }
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, gathered: &mut Gathered) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.io(redirect, gathered),
            CommandPrefixOrSuffixItem::Word(word)
            | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                self.word(&word.value, gathered);
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                self.process(inner, gathered);
                gathered.simple.words.push(Word::unknown("<(…)"));
            }
        }
    }

    fn process(&mut self, inner: &SubshellCommand, gathered: &mut Gathered) {
        let names = self.apart(|walk| walk.list(&inner.list));
        gathered.simple.fed_by.extend(names);
    }

    fn word(&mut self, source: &str, gathered: &mut Gathered) {
        let reading = word::read(source, &self.variables);
        for nested in reading.nested {
            let names = self.nested(&nested);
            gathered.simple.fed_by.extend(names);
        }
        gathered.simple.words.extend(reading.words);
    }

    fn io(&mut self, redirect: &IoRedirect, gathered: &mut Gathered) {
        match redirect {
            IoRedirect::File(_, kind, target) => self.file(kind, target, gathered),
            IoRedirect::OutputAndError(target, is_appended) => {
                let mode = if *is_appended {
                    RedirectMode::Append
                } else {
                    RedirectMode::Write
                };
                self.redirect(mode, &target.value, gathered);
            }
            IoRedirect::HereString(_, word) => {
                let mut read = Gathered::default();
                self.word(&word.value, &mut read);
                gathered.simple.fed_by.append(&mut read.simple.fed_by);
                let text = read.simple.words.first().and_then(Word::literal);
                gathered.documents.extend(text.map(str::to_owned));
            }
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.nested_in(&document.doc.value);
                }
                gathered.documents.push(document.doc.value.clone());
            }
        }
    }

    fn file(
        &mut self,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        gathered: &mut Gathered,
    ) {
        let mode = match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => RedirectMode::Read,
            IoFileRedirectKind::Append | IoFileRedirectKind::ReadAndWrite => RedirectMode::Append,
            IoFileRedirectKind::Write
            | IoFileRedirectKind::Clobber
            | IoFileRedirectKind::DuplicateOutput => RedirectMode::Write,
        };
        match target {
            IoFileRedirectTarget::Filename(word) => self.redirect(mode, &word.value, gathered),
            IoFileRedirectTarget::Duplicate(word) => {
                let is_number = word.value.trim_end_matches('-').parse::<u32>().is_ok();
                if !is_number && word.value != "-" {
                    self.redirect(mode, &word.value, gathered);
                }
            }
            IoFileRedirectTarget::Fd(_) => {}
            IoFileRedirectTarget::ProcessSubstitution(_, inner) => self.process(inner, gathered),
        }
    }

    fn redirect(&mut self, mode: RedirectMode, source: &str, gathered: &mut Gathered) {
        let mut read = Gathered::default();
        self.word(source, &mut read);
        let targets = read.simple.words.into_iter();
        let redirects = targets.map(|target| Redirect { mode, target });
        gathered.simple.redirects.extend(redirects);
    }

    /// The command is read; what it runs itself follows.
    fn complete(&mut self, gathered: Gathered) {
        let Gathered {
            mut simple,
            documents,
            values,
        } = gathered;
        if self.line.commands.len() >= MAX_COMMANDS {
            self.line.is_whole = false;
            return;
        }
        simple.folder = self.folder.clone();
        simple.fed_by.extend(self.fed_by.iter().cloned());
        let inside = if simple.words.is_empty() {
            Inside::Nothing
        } else {
            inside(&simple, !documents.is_empty())
        };
        simple.role = match &inside {
            Inside::Nothing => Role::Plain,
            Inside::Commands(_, role) | Inside::Text(_, role) => *role,
            Inside::Blind => Role::Blind,
        };
        let (fed_by, is_run) = (simple.fed_by.clone(), simple.role == Role::Wrapper);
        let is_shell = simple.name().is_some_and(super::is_shell);
        let has_words = !simple.words.is_empty();
        self.moved_by(&simple);
        self.changed_by(&simple);
        self.line.commands.push(simple);
        match inside {
            Inside::Nothing | Inside::Blind => {}
            Inside::Text(text, Role::Wrapper) if !is_shell => {
                self.text(&text, self.depth.saturating_sub(1));
            }
            Inside::Text(text, _) if is_shell => self.shell_with(&text, &values),
            // Run later, or elsewhere.
            Inside::Text(text, _) => drop(self.apart(|walk| {
                walk.variables = Variables::default();
                walk.nested(&text);
            })),
            Inside::Commands(commands, _) => {
                for words in commands {
                    self.inner(words, &fed_by, &documents);
                }
            }
        }
        if is_shell && is_run {
            for text in &documents {
                self.shell_with(text, &values);
            }
        }
        if !has_words {
            for (name, value) in values {
                self.variables.set(&name, value, false);
            }
        }
    }

    /// A text for a shell of its own, which gets what is exported, and these.
    fn shell_with(&mut self, text: &str, values: &[(String, Vec<Piece>)]) {
        self.perhaps(|walk| {
            walk.variables = walk.variables.exported();
            for (name, value) in values {
                walk.variables.set(name, value.clone(), true);
            }
            walk.nested(text);
        });
    }

    /// A command that another one runs, with the other's input.
    fn inner(&mut self, words: Vec<Word>, fed_by: &[String], documents: &[String]) {
        let Some(depth) = self.depth.checked_sub(1).filter(|depth| *depth > 0) else {
            self.line.is_whole = false;
            return;
        };
        let before = std::mem::replace(&mut self.depth, depth);
        let outer = std::mem::replace(&mut self.fed_by, fed_by.to_vec());
        self.complete(Gathered {
            simple: Simple {
                words,
                ..Simple::default()
            },
            documents: documents.to_vec(),
            values: Vec::new(),
        });
        self.fed_by = outer;
        self.depth = before;
    }

    /// What was known of variables, unless anything may happen to them.
    fn changed_by(&mut self, command: &Simple) {
        let is_unseen = match command.name() {
            Some("source" | ".") => true,
            Some("eval") => command.role == Role::Blind,
            _ => false,
        };
        if is_unseen {
            self.variables = Variables::default();
        }
    }

    /// Where the commands behind this one run.
    fn moved_by(&mut self, command: &Simple) {
        let before = || Box::new(self.folder.clone());
        let folder = match (command.name(), command.args()) {
            (Some("cd"), []) => Folder::Unknown,
            (Some("cd" | "pushd"), [folder]) if !folder.start().starts_with('-') => {
                Folder::At(folder.clone(), before())
            }
            (Some(name), _) if MOVERS.contains(&name) => Folder::Unknown,
            _ => return,
        };
        self.folder = folder;
    }
}
