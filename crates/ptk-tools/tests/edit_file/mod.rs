//! Reads the case files in `tests/edits`. Their format is described in
//! `tests/edits/README.md`.

/// One case.
#[derive(Debug, Default)]
pub(crate) struct Case {
    /// The file and the line in which the case starts.
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) edits: Vec<Asked>,
    pub(crate) expected: Expected,
    pub(crate) replacements: Option<usize>,
    pub(crate) stale: bool,
    matched: Vec<String>,
    encoding: String,
    is_escaped: bool,
    is_open: bool,
}

/// One replacement.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) all: bool,
}

#[derive(Debug)]
pub(crate) enum Expected {
    After(String),
    /// Words that the failure must contain.
    Refused(Vec<String>),
}

impl Default for Expected {
    fn default() -> Self {
        Self::Refused(Vec::new())
    }
}

impl Case {
    /// The tolerance of each edit.
    pub(crate) fn matched(&self) -> Vec<String> {
        match self.matched.as_slice() {
            [] => vec!["exact".to_owned(); self.edits.len()],
            matched => matched.to_vec(),
        }
    }

    /// A text as the file holds it.
    pub(crate) fn encoded(&self, text: &str) -> Vec<u8> {
        match self.encoding.as_str() {
            "" => text.as_bytes().to_vec(),
            "utf-8 with BOM" => format!("\u{feff}{text}").into_bytes(),
            "utf-16le" => format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
            "utf-16be" => format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(u16::to_be_bytes)
                .collect(),
            "windows-1252" => text.chars().map(|c| u8::try_from(c).unwrap()).collect(),
            other => panic!("{}: no encoding `{other}`", self.place),
        }
    }

    fn setting(&mut self, line: &str) -> Result<(), String> {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        match name {
            "matched" => self.matched = value.split(", ").map(str::to_owned).collect(),
            "replacements" => self.replacements = value.parse().ok(),
            "encoding" => value.clone_into(&mut self.encoding),
            "escaped" => self.is_escaped = true,
            "ends" => self.is_open = true,
            "stale" => self.stale = true,
            _ => return Err(format!("{}: what is `{line}`?", self.place)),
        }
        Ok(())
    }

    fn section(&mut self, head: &str, body: &[&str]) -> Result<(), String> {
        let text = body.join("\n");
        let text = if self.is_escaped {
            unescaped(&text)
        } else {
            text
        };
        let whole = if self.is_open || body.is_empty() {
            text.clone()
        } else {
            format!("{text}\n")
        };
        match head {
            "file" => self.file = whole,
            "old" | "old, all" => self.edits.push(Asked {
                old: text,
                new: String::new(),
                all: head == "old, all",
            }),
            "new" => match self.edits.last_mut() {
                Some(edit) => edit.new = text,
                None => return Err(format!("{}: `new` before `old`", self.place)),
            },
            "after" => self.expected = Expected::After(whole),
            "refused" => {
                self.expected = Expected::Refused(text.lines().map(str::to_owned).collect());
            }
            _ => return Err(format!("{}: no section `{head}`", self.place)),
        }
        Ok(())
    }
}

/// The cases of one file, or what is wrong with it.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut section: Option<(&str, Vec<&str>)> = None;
    let end = |case: Option<&mut Case>, section: Option<(&str, Vec<&str>)>| match (case, section) {
        (Some(case), Some((head, body))) => case.section(head, &body),
        _ => Ok(()),
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    for (number, line) in text.split('\n').enumerate() {
        if let Some(name) = line.strip_prefix("==== ") {
            // A blank line keeps the cases apart.
            if let Some((_, body)) = section.as_mut()
                && body.last() == Some(&"")
            {
                body.pop();
            }
            end(cases.last_mut(), section.take())?;
            cases.push(Case {
                place: format!("{file}:{}", number + 1),
                name: name.to_owned(),
                ..Case::default()
            });
        } else if let Some(head) = line.strip_prefix("---- ") {
            end(cases.last_mut(), section.take())?;
            section = Some((head, Vec::new()));
        } else if let Some((_, body)) = &mut section {
            body.push(line);
        } else if let Some(case) = cases.last_mut() {
            case.setting(line)?;
        }
    }
    end(cases.last_mut(), section)?;
    Ok(cases)
}

fn unescaped(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        result.push_str(before);
        let mut chars = after.chars();
        rest = match chars.next() {
            Some('n') => push(&mut result, '\n', chars.as_str()),
            Some('r') => push(&mut result, '\r', chars.as_str()),
            Some('t') => push(&mut result, '\t', chars.as_str()),
            Some('s') => push(&mut result, ' ', chars.as_str()),
            Some('u') => {
                let (code, rest) = chars.as_str().split_once('}').unwrap();
                let code = u32::from_str_radix(code.trim_start_matches('{'), 16).unwrap();
                push(&mut result, char::from_u32(code).unwrap(), rest)
            }
            Some('{') => {
                let (count, rest) = chars.as_str().split_once('×').unwrap();
                let (text, rest) = rest.split_once("×}").unwrap();
                result.push_str(&unescaped(text).repeat(count.parse().unwrap()));
                rest
            }
            Some(other) => push(&mut result, other, chars.as_str()),
            None => "",
        };
    }
    result + rest
}

fn push<'a>(text: &mut String, c: char, rest: &'a str) -> &'a str {
    text.push(c);
    rest
}
