//! The walk through the parsed tree to the simple commands.

use brush_parser::ast::{
    AndOrList, Assignment, AssignmentName, AssignmentValue, BinaryPredicate, Command,
    CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition,
    IoFileRedirectKind, IoFileRedirectTarget, IoHereDocument, IoRedirect, Pipeline,
    PipelineOperator, RedirectList, SeparatorOperator, SimpleCommand, SubshellCommand,
    UnaryPredicate,
};

use super::assigned::{self, Assigned};
use super::substitution::{self, Found};
use super::word::{self, Word};
use super::wrapper::{Inside, inside};
use super::{
    CommandLine, Folder, MAX_COMMANDS, Redirect, RedirectMode, Role, ShellCommand, plain, program,
    tolerant,
};

/// Variables that decide where a command runs and what its words are.
const OWN_VARIABLES: [&str; 4] = ["HOME", "PWD", "IFS", "CDPATH"];

/// Commands after which the folder may be another one.
const MOVERS: [&str; 5] = ["cd", "pushd", "popd", "source", "."];

/// Walks through a text and collects its commands.
pub(super) struct Walk {
    line: CommandLine,
    folder: Folder,
    /// Programs whose output everything here gets.
    fed_by: Vec<String>,
    /// The functions that this stands in.
    functions: Vec<String>,
    /// How many texts within texts are still looked at.
    depth: u8,
    /// How many signs of commands were seen in the parts of the text.
    seen: usize,
    forgets: bool,
    /// Whether a variable may hold something that runs when it is evaluated.
    has_values: bool,
}

/// The parts of a command before it is complete.
#[derive(Default)]
struct Gathered {
    simple: ShellCommand,
    /// Texts on its input.
    documents: Vec<Document>,
    /// Whether it may read something else.
    is_fed_otherwise: bool,
}

/// A text on the input of a command.
#[derive(Clone)]
struct Document {
    text: String,
    /// Whether the command gets exactly this text.
    is_known: bool,
}

impl Document {
    /// A here-string, if it is known.
    fn of(read: &ShellCommand) -> Option<Self> {
        Some(Self {
            text: read.words.first()?.literal()?.to_owned(),
            is_known: true,
        })
    }
}

impl Walk {
    pub(super) fn new() -> Self {
        Self {
            line: CommandLine {
                is_whole: true,
                is_certain: true,
                ..CommandLine::default()
            },
            folder: Folder::Start,
            fed_by: Vec::new(),
            functions: Vec::new(),
            depth: 0,
            seen: 0,
            forgets: false,
            has_values: false,
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
        let moves = self.line.commands.iter().filter_map(ShellCommand::name);
        let moves = moves.filter(|name| MOVERS.contains(name)).count() > 0;
        let runs_later = self.line.has_functions
            || self
                .line
                .commands
                .iter()
                .any(|it| it.name() == Some("trap"));
        if moves && (self.forgets || runs_later) {
            self.unsettle(0);
        }
        // A value that is evaluated may be any command.
        self.line.is_whole &= !(self.line.is_evaluated && self.has_values);
        self.line
    }

    /// Marks the folder of every command from this one on as not sure.
    fn unsettle(&mut self, start: usize) {
        for command in self.line.commands.iter_mut().skip(start) {
            command.folder = Folder::one_of(std::slice::from_ref(&command.folder));
        }
    }

    /// Walks through a text for the shell, in which texts may be nested so
    /// deep.
    pub(super) fn text(&mut self, text: &str, depth: u8) {
        if depth == 0 || self.line.commands.len() >= MAX_COMMANDS {
            self.line.is_whole = false;
            self.line.is_certain = false;
            return;
        }
        let start = self.line.commands.len();
        let before = std::mem::replace(&mut self.depth, depth);
        let seen = std::mem::take(&mut self.seen);
        match program(text) {
            Some(program) => program
                .complete_commands
                .iter()
                .for_each(|it| self.list(it)),
            None => self.rough(text),
        }
        // What the grammar assigns to no part of the tree may run all the same.
        self.line.is_whole &= self.seen >= substitution::signs(text);
        self.seen = seen;
        self.depth = before;
        self.line.is_certain = self.line.is_certain && self.agrees(text, start, depth);
    }

    /// Whether the plain reading of a text finds the commands that were found
    /// from `start` on, those of texts within it aside.
    fn agrees(&self, text: &str, start: usize, depth: u8) -> bool {
        let found = self.line.commands.iter().skip(start);
        let found: Vec<&ShellCommand> = found.filter(|it| it.depth == depth).collect();
        plain::read(text).is_some_and(|plain| plain::agree(&plain, &found))
    }

    /// Walks through a text that the grammar does not read.
    fn rough(&mut self, text: &str) {
        self.line.is_whole = false;
        self.line.is_certain = false;
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

    /// Walks through a text within this one. Returns the programs in it.
    fn nested(&mut self, text: &str) -> Vec<String> {
        self.apart(|walk| walk.text(text, walk.depth.saturating_sub(1)))
    }

    /// Walks through what leaves the folder as it was. Returns the programs in
    /// it.
    fn apart(&mut self, walk: impl FnOnce(&mut Self)) -> Vec<String> {
        let folder = self.folder.clone();
        let start = self.line.commands.len();
        walk(self);
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
                self.apart(|walk| walk.chain(&item.0));
            } else {
                self.chain(&item.0);
            }
        }
        self.line.is_fork_bomb |= copies > 1;
    }

    /// Walks through commands joined by `&&` and `||`. Behind `cd x &&` all run
    /// in `x`, for else they do not run; behind anything else it may not have
    /// happened.
    fn chain(&mut self, chain: &AndOrList) {
        let mut folders = vec![self.folder.clone()];
        let mut is_sure = true;
        for (operator, pipeline) in chain {
            is_sure &= operator == PipelineOperator::And;
            if folders.len() > 1 && !is_sure {
                self.folder = Folder::one_of(&folders);
            }
            self.pipeline(pipeline);
            is_sure &= !pipeline.bang;
            if folders.last() != Some(&self.folder) {
                folders.push(self.folder.clone());
            }
        }
        if folders.len() > 1 {
            self.folder = Folder::one_of(&folders);
        }
    }

    /// Walks through what may run several times, and each time somewhere else.
    fn repeated(&mut self, walk: impl FnOnce(&mut Self)) {
        let (before, start) = (self.folder.clone(), self.line.commands.len());
        walk(self);
        if self.folder != before {
            self.folder = Folder::one_of(&[before, self.folder.clone()]);
            self.unsettle(start);
        }
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
            Command::ExtendedTest(test) => self.test(&test.expr),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner);
            }
            ExtendedTestExpr::UnaryTest(
                UnaryPredicate::ShellVariableIsSetAndAssigned
                | UnaryPredicate::ShellVariableIsSetAndNameRef,
                word,
            ) => self.evaluated(&word.value),
            ExtendedTestExpr::UnaryTest(_, word) => drop(self.words(&word.value)),
            ExtendedTestExpr::BinaryTest(
                BinaryPredicate::ArithmeticEqualTo
                | BinaryPredicate::ArithmeticNotEqualTo
                | BinaryPredicate::ArithmeticLessThan
                | BinaryPredicate::ArithmeticLessThanOrEqualTo
                | BinaryPredicate::ArithmeticGreaterThan
                | BinaryPredicate::ArithmeticGreaterThanOrEqualTo,
                left,
                right,
            ) => {
                self.evaluated(&left.value);
                self.evaluated(&right.value);
            }
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.words(&left.value);
                self.words(&right.value);
            }
        }
    }

    fn function(&mut self, function: &FunctionDefinition) {
        self.line.has_functions = true;
        self.functions.push(function.fname.value.clone());
        self.redirects(function.body.1.as_ref());
        let names = self.apart(|walk| walk.compound(&function.body.0));
        self.functions.pop();
        // A call of the function may change the folder.
        if names.iter().any(|name| MOVERS.contains(&name.as_str())) {
            self.folder = Folder::one_of(std::slice::from_ref(&self.folder));
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
                self.repeated(|walk| walk.list(&it.body.list));
            }
            CompoundCommand::BraceGroup(it) => self.list(&it.list),
            CompoundCommand::Subshell(it) => drop(self.apart(|walk| walk.list(&it.list))),
            CompoundCommand::ForClause(it) => {
                let mut values = Vec::new();
                for value in it.values.iter().flatten() {
                    values.extend(self.words(&value.value));
                }
                self.assigns(Assigned::own(&it.variable_name, &values));
                self.repeated(|walk| walk.list(&it.body.list));
            }
            CompoundCommand::CaseClause(it) => {
                self.words(&it.value.value);
                for case in &it.cases {
                    let patterns = case.patterns.iter();
                    patterns.for_each(|pattern| drop(self.words(&pattern.value)));
                    if let Some(list) = &case.cmd {
                        self.list(list);
                    }
                }
            }
            CompoundCommand::IfClause(it) => {
                self.list(&it.condition);
                self.list(&it.then);
                for clause in it.elses.iter().flatten() {
                    clause.condition.iter().for_each(|list| self.list(list));
                    self.list(&clause.body);
                }
            }
            CompoundCommand::WhileClause(it) | CompoundCommand::UntilClause(it) => {
                self.repeated(|walk| {
                    walk.list(&it.0);
                    walk.list(&it.1.list);
                });
            }
        }
    }

    /// Walks through the commands in a text that is not a command itself.
    fn found(&mut self, text: &str, found: &Found) {
        self.seen += substitution::signs(text);
        self.line.is_whole &= found.is_whole;
        self.line.is_evaluated |= found.is_evaluated;
        for command in &found.commands {
            self.nested(command);
        }
    }

    /// Walks through a text that is evaluated, as numbers are: quotes keep
    /// nothing in it from running, nor does standing in a variable.
    fn evaluated(&mut self, text: &str) {
        self.found(text, &substitution::in_evaluated(text));
        self.notice(text);
    }

    /// Notices whether a text that is evaluated sets variables of the shell.
    fn notice(&mut self, text: &str) {
        let mut names = OWN_VARIABLES.iter();
        self.forgets |= text.contains('=') && names.any(|name| text.contains(name));
    }

    /// Reads the words of a text that is not a command.
    fn words(&mut self, source: &str) -> Vec<Word> {
        self.read(source).words
    }

    /// Reads a text as if its words were a command.
    fn read(&mut self, source: &str) -> ShellCommand {
        let mut gathered = Gathered::default();
        self.word(source, &mut gathered);
        gathered.simple
    }

    fn assigns(&mut self, assigned: Assigned) {
        self.noted(&assigned);
        self.line.assigned.push(assigned);
    }

    fn noted(&mut self, assigned: &Assigned) {
        let name = assigned.name.as_str();
        self.forgets |= name.is_empty() || OWN_VARIABLES.contains(&name);
        self.has_values |= !assigned.is_harmless;
    }

    /// Walks through the redirections of a group.
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
        self.complete(gathered);
    }

    fn assignment(&mut self, assignment: &Assignment, gathered: &mut Gathered) {
        let (name, index) = match &assignment.name {
            AssignmentName::VariableName(name) => (name, None),
            AssignmentName::ArrayElementName(name, index) => (name, Some(index)),
        };
        if let Some(index) = index {
            self.evaluated(index);
        }
        let mut assigned = match &assignment.value {
            AssignmentValue::Scalar(word) => Assigned::passed(name, &self.words(&word.value)),
            AssignmentValue::Array(words) => {
                for (index, word) in words {
                    if let Some(index) = index {
                        self.evaluated(&index.value);
                    }
                    // An index that the grammar has not seen may stand in it.
                    if word.value.contains('[') {
                        self.evaluated(&word.value);
                    } else {
                        self.words(&word.value);
                    }
                }
                Assigned::passed(name, &[Word::unknown(name)])
            }
        };
        assigned.is_harmless &= index.is_none() && !assignment.append;
        self.noted(&assigned);
        gathered.simple.assignments.push(assigned);
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
        self.seen += 1;
        let names = self.apart(|walk| walk.list(&inner.list));
        gathered.simple.fed_by.extend(names);
    }

    fn word(&mut self, source: &str, gathered: &mut Gathered) {
        let reading = word::read(source);
        self.seen += substitution::signs(source);
        self.line.is_whole &= reading.is_whole;
        if reading.is_evaluated {
            self.line.is_evaluated = true;
            self.notice(source);
        }
        for nested in reading.nested {
            let names = self.nested(&nested);
            gathered.simple.fed_by.extend(names);
        }
        gathered.simple.words.extend(reading.words);
    }

    fn io(&mut self, redirect: &IoRedirect, gathered: &mut Gathered) {
        self.descriptor(gathered);
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
            IoRedirect::HereString(number, word) => {
                let mut read = self.read(&word.value);
                gathered.simple.fed_by.append(&mut read.fed_by);
                let document = Document::of(&read);
                let document = document.filter(|_| matches!(number, None | Some(0)));
                gathered.is_fed_otherwise |= document.is_none();
                gathered.documents.extend(document);
            }
            IoRedirect::HereDocument(number, document) => {
                let document = self.document(document);
                gathered.is_fed_otherwise |= !matches!(number, None | Some(0));
                gathered.documents.push(document);
            }
        }
    }

    /// A here-document, as the command gets it.
    fn document(&mut self, document: &IoHereDocument) -> Document {
        let text = &document.doc.value;
        self.seen += substitution::signs(&document.here_end.value);
        if !document.requires_expansion {
            self.seen += substitution::signs(text);
            return Document {
                text: text.clone(),
                is_known: true,
            };
        }
        self.found(text, &substitution::in_document(text));
        let (text, is_known) = substitution::filled(text);
        Document { text, is_known }
    }

    /// Takes `{name}>file` for a variable, not a word.
    fn descriptor(&mut self, gathered: &mut Gathered) {
        let Some(word) = gathered.simple.words.last_mut() else {
            return;
        };
        if let Some(assigned) = assigned::of_descriptor(word.source()) {
            *word = Word::unknown(word.source());
            self.assigns(assigned);
        }
    }

    fn file(
        &mut self,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
        gathered: &mut Gathered,
    ) {
        gathered.is_fed_otherwise |= matches!(
            kind,
            IoFileRedirectKind::Read
                | IoFileRedirectKind::DuplicateInput
                | IoFileRedirectKind::ReadAndWrite
        );
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
        let targets = self.words(source).into_iter();
        let redirects = targets.map(|target| Redirect { mode, target });
        gathered.simple.redirects.extend(redirects);
    }

    /// Adds a command that is read, and what it runs itself.
    fn complete(&mut self, gathered: Gathered) {
        let Gathered {
            mut simple,
            documents,
            is_fed_otherwise,
        } = gathered;
        if self.line.commands.len() >= MAX_COMMANDS {
            self.line.is_whole = false;
            self.line.is_certain = false;
            return;
        }
        simple.depth = self.depth;
        simple.documents = documents.iter().map(|it| it.text.clone()).collect();
        simple.folder = self.folder.clone();
        simple.fed_by.extend(self.fed_by.iter().cloned());
        let inside = if simple.words.is_empty() {
            Inside::Nothing
        } else {
            inside(&simple, !documents.is_empty() && !is_fed_otherwise)
        };
        for assigned in assigned::by(&simple) {
            self.assigns(assigned);
        }
        simple.role = match &inside {
            Inside::Nothing => Role::Plain,
            Inside::Commands(_, role) | Inside::Text(_, role) => *role,
            Inside::File => Role::File,
            Inside::Blind => Role::Blind,
        };
        // It may run anything.
        self.line.is_certain &= simple.role != Role::Blind;
        let is_run = matches!(simple.role, Role::Wrapper | Role::Changer);
        let fed_by = simple.fed_by.clone();
        let is_shell = simple.name().is_some_and(super::is_shell);
        self.moved_by(&simple);
        self.line.commands.push(simple);
        match inside {
            Inside::Nothing | Inside::File | Inside::Blind => {}
            Inside::Text(text, Role::Wrapper) if !is_shell => {
                self.text(&text, self.depth.saturating_sub(1));
            }
            Inside::Text(text, _) => drop(self.nested(&text)),
            Inside::Commands(commands, _) => {
                for words in commands {
                    self.inner(words, &fed_by, &documents);
                }
            }
        }
        if is_shell && is_run {
            for document in &documents {
                self.line.is_whole &= document.is_known;
                self.nested(&document.text);
            }
        }
    }

    /// Walks through a command that another one runs, with the other's input.
    fn inner(&mut self, words: Vec<Word>, fed_by: &[String], documents: &[Document]) {
        let Some(depth) = self.depth.checked_sub(1).filter(|depth| *depth > 0) else {
            self.line.is_whole = false;
            self.line.is_certain = false;
            return;
        };
        let before = std::mem::replace(&mut self.depth, depth);
        let outer = std::mem::replace(&mut self.fed_by, fed_by.to_vec());
        self.complete(Gathered {
            simple: ShellCommand {
                words,
                ..ShellCommand::default()
            },
            documents: documents.to_vec(),
            is_fed_otherwise: false,
        });
        self.fed_by = outer;
        self.depth = before;
    }

    /// Changes the folder in which the following commands run.
    fn moved_by(&mut self, command: &ShellCommand) {
        let Some(name) = command.name().filter(|name| MOVERS.contains(name)) else {
            return;
        };
        let is_option = |word: &&Word| matches!(word.literal(), Some("-L" | "-P" | "-e" | "--"));
        let args: Vec<&Word> = command.args().iter().skip_while(is_option).collect();
        let before = || Box::new(self.folder.clone());
        self.folder = match (name, args.as_slice()) {
            ("cd", []) => Folder::At(Word::home(), before()),
            ("cd" | "pushd", [folder]) if !folder.start().starts_with(['-', '+']) => {
                Folder::At((*folder).clone(), before())
            }
            _ => Folder::Unsure(Vec::new()),
        };
    }
}
