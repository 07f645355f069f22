//! The search through a tree of files, in two steps: first every file is
//! searched for how often it matches, then the few that a page shows are read
//! again for their lines. So the whole is counted exactly, in little memory,
//! and the lines and the fingerprint of a file come from the same bytes.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::ByteSlice as _;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use ptk_events::OutputStream;
use ptk_protocol::snippet::Snippet;
use ptk_sandbox::walk::{IgnoreRules, LeftOut, Visitor, Walk, WalkEntry, WalkOptions};
use ptk_sandbox::{Fingerprint, Kind, Place};

use super::collect::{Collecting, Line, Window};
use super::content::{Counting, MAX_DECODED, Query, SearchedFile};
use super::start::PathGlob;
use super::stop::Stop;
use super::tally::{Tally, shown};
use super::withheld::Withheld;
use crate::tools::text::Text;
use crate::{CallContext, Ranges};

/// How many lines are shown while the search still runs.
const STREAMED: usize = 200;

/// A search in a folder or a file.
pub(crate) struct Search<'a> {
    pub(crate) context: &'a CallContext,
    pub(crate) place: &'a Place,
    pub(crate) kind: Kind,
    pub(crate) query: &'a Query,
    pub(crate) matcher: &'a RegexMatcher,
    pub(crate) glob: Option<&'a PathGlob>,
    pub(crate) hidden: bool,
    /// Whether it is enough to know that a file matches.
    pub(crate) only_whether: bool,
    /// The rank of a line that matches.
    pub(crate) rank: &'a (dyn Fn(&[u8]) -> Worth + Sync),
    pub(crate) stop: &'a Stop,
}

/// The rank of matches: definitions, then whole words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Worth {
    pub(crate) definitions: u64,
    pub(crate) words: u64,
}

/// A file that matches.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Matched {
    pub(crate) path: Box<[u8]>,
    pub(crate) count: u64,
    pub(crate) worth: Worth,
}

/// The result of the first step.
pub(crate) struct Counted {
    /// `None` for a search in one file.
    walk: Option<Walk>,
    /// In the order of their paths.
    pub(crate) files: Vec<Matched>,
    pub(crate) tally: Tally,
    pub(crate) is_complete: bool,
}

/// Lines of a file that a page shows.
pub(crate) struct MatchExcerpt {
    pub(crate) lines: Vec<Line>,
    /// How many matches are among them.
    pub(crate) taken: usize,
    read: Option<(Fingerprint, usize)>,
}

impl Search<'_> {
    /// Counts the matches of all files.
    pub(crate) fn count(&self, rules: IgnoreRules) -> Counted {
        let streamed = AtomicUsize::new(0);
        let withheld = Withheld::new(self.context, self.place);
        let visitor = || Looking::new(self, &streamed, &withheld);
        let mut files = Vec::new();
        let mut tally = Tally::default();
        let mut walk = None;
        if self.kind == Kind::File {
            let mut looking = visitor();
            looking.file(self.place.to_string().as_bytes(), self.opened());
            files = looking.found;
            tally = looking.tally;
        } else {
            let options = WalkOptions {
                hidden: self.hidden,
                depth: usize::MAX,
                everything: false,
            };
            match Walk::new(self.place, options, rules) {
                Ok(made) => {
                    for mut visitor in made.run(|files| self.stop.goes_on(files), visitor) {
                        files.append(&mut visitor.found);
                        tally.add(visitor.tally);
                    }
                    walk = Some(made);
                }
                Err(error) => tally.refused(self.place, error),
            }
        }
        files.sort_unstable();
        Counted {
            walk,
            files,
            tally,
            is_complete: !self.stop.is_set(),
        }
    }

    /// Opens the file that is searched, and returns how long it is.
    fn opened(&self) -> io::Result<(File, u64)> {
        let file = self.place.open().map_err(io::Error::other)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }

    /// Some of the matches of a file, with the lines around them.
    pub(crate) fn excerpt(
        &self,
        counted: &Counted,
        path: &[u8],
        window: Window,
        around: usize,
    ) -> io::Result<MatchExcerpt> {
        let (file, size) = match &counted.walk {
            Some(walk) => walk.reopen(path)?,
            None => self.opened()?,
        };
        let mut searcher = self.query.searcher(Some(around));
        let mut lines = Collecting::new(self.matcher, window);
        let read = if size <= MAX_DECODED {
            let bytes = whole(file)?;
            let text = Text::decode_foreign(&bytes);
            let content = text.as_deref().map_or(bytes.as_slice(), str::as_bytes);
            searcher.search_slice(self.matcher, content, &mut lines)?;
            let is_utf16 = bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF");
            (!is_utf16).then(|| (Fingerprint::of(&bytes), bytes.lines().count()))
        } else {
            // Too long to be remembered as read.
            let mut content = SearchedFile::new(self.query);
            let is_over = || self.stop.is_abandoned();
            content.search(
                (file, size),
                &mut searcher,
                self.matcher,
                is_over,
                &mut lines,
            )?;
            None
        };
        if lines.is_binary {
            return Err(io::Error::other("it is not a text any more"));
        }
        Ok(MatchExcerpt {
            lines: lines.lines,
            taken: lines.taken,
            read,
        })
    }

    /// Lines of a file in the snippet format: those that follow each other as one
    /// snippet each.
    pub(crate) fn snippets(&self, path: &[u8], lines: &[Line]) -> Vec<String> {
        let root = self.context.workspace().root();
        let path = root.join(path.to_path_lossy());
        let path = path.to_string_lossy();
        let runs = lines.chunk_by(|before, line| line.number == before.number + 1);
        runs.filter_map(|run| {
            let code: Vec<&str> = run.iter().map(|line| line.text.as_str()).collect();
            let first = run.first()?.number;
            Some(Snippet::new(&*path, first, code.join("\n")).to_string())
        })
        .collect()
    }

    /// Remembers that the lines of an excerpt were shown. A name that no
    /// call can use cannot be written either, so it need not be remembered.
    pub(crate) fn note_read(&self, path: &[u8], excerpt: &MatchExcerpt) {
        let place = path.to_str().map(|path| self.context.resolve(path));
        let (Some((fingerprint, count)), Ok(Ok(place))) = (excerpt.read, place) else {
            return;
        };
        let mut lines = Ranges::new(count);
        for line in excerpt.lines.iter().filter(|line| line.is_whole) {
            let number = usize::try_from(line.number).unwrap_or(usize::MAX);
            lines.add(number, number);
        }
        self.context.note_read(place, fingerprint, lines);
    }
}

fn whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_DECODED).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Searches files, one for each thread.
struct Looking<'a> {
    search: &'a Search<'a>,
    withheld: &'a Withheld,
    matcher: RegexMatcher,
    /// Counts lines, for what is shown while it runs.
    numbering: Searcher,
    plain: Searcher,
    content: SearchedFile,
    streamed: &'a AtomicUsize,
    found: Vec<Matched>,
    tally: Tally,
}

impl<'a> Looking<'a> {
    fn new(search: &'a Search<'a>, streamed: &'a AtomicUsize, withheld: &'a Withheld) -> Self {
        Self {
            search,
            withheld,
            matcher: search.matcher.clone(),
            numbering: search.query.searcher(Some(0)),
            plain: search.query.searcher(None),
            content: SearchedFile::new(search.query),
            streamed,
            found: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn file(&mut self, path: &[u8], opened: io::Result<(File, u64)>) {
        let tally = &mut self.tally;
        tally.files += 1;
        if self.withheld.holds(path) {
            tally.withheld += 1;
            return;
        }
        let opened = match opened {
            Ok((_, 0)) => return,
            Ok(opened) => opened,
            Err(error) => return tally.unreadable(path, &error),
        };
        let search = self.search;
        let streams = self.streamed.load(Ordering::Relaxed) < STREAMED;
        let searcher = if streams {
            &mut self.numbering
        } else {
            &mut self.plain
        };
        let mut chunk = String::new();
        let mut worth = Worth::default();
        let mut each = |number: Option<u64>, bytes: &[u8]| {
            let one = (search.rank)(bytes);
            worth.definitions += one.definitions;
            worth.words += one.words;
            let Some(number) = number else { return };
            if self.streamed.fetch_add(1, Ordering::Relaxed) < STREAMED {
                let first = bytes.lines().next().unwrap_or_default();
                let line = Line::new(number, first, Some(search.matcher));
                chunk.push_str(&format!("{}:{number}:{}\n", shown(path), line.text));
            }
        };
        let mut counting = Counting {
            count: 0,
            is_binary: false,
            only_whether: search.only_whether,
            each: &mut each,
        };
        let is_over = || search.stop.is_set();
        let outcome = self
            .content
            .search(opened, searcher, &self.matcher, is_over, &mut counting);
        let Counting {
            count, is_binary, ..
        } = counting;
        match outcome {
            Err(error) => tally.unreadable(path, &error),
            Ok(()) if is_binary => tally.binary += 1,
            Ok(()) if count > 0 => {
                search.context.emit(OutputStream::Stdout, &chunk);
                self.found.push(Matched {
                    path: path.into(),
                    count,
                    worth,
                });
            }
            Ok(()) => {}
        }
    }
}

impl Visitor for Looking<'_> {
    const IS_WORK: bool = true;

    fn wants(&self, relative: &[u8]) -> bool {
        self.search.glob.is_none_or(|glob| glob.matches(relative))
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        self.file(found.shown(), found.open());
    }

    fn left_out(&mut self, what: LeftOut<'_>) {
        self.tally.left_out(what);
    }
}
