//! How the indentation of one text follows from that of another.

/// White space at the beginning of a line.
pub(super) fn indentation(line: &str) -> &str {
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..end).unwrap_or_default()
}

/// The rule by which the indentation that was written becomes that of the
/// file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shift {
    Same,
    /// The file has more, the same everywhere.
    Add(String),
    /// The file has less, the same everywhere.
    Remove(String),
    /// The file uses another unit, such as a tab for four spaces.
    Scale {
        from: char,
        to: char,
        /// A width that was written and what it is in the file.
        origin: (usize, usize),
        /// So many in the file for so many that were written.
        ratio: (usize, usize),
    },
    /// All lines have the same one, which says nothing of others.
    Only {
        written: String,
        real: String,
    },
}

impl Shift {
    /// The rule that holds for all of these lines, as written and as in the
    /// file; `None` if there is no single one.
    pub(super) fn between(pairs: &[(&str, &str)]) -> Option<Self> {
        let (written, real) = pairs.first()?;
        let holds = |shift: &Self| {
            let fits = |(written, real): &(&str, &str)| {
                shift.apply(written).is_some_and(|shifted| shifted == *real)
            };
            pairs.iter().all(fits)
        };
        let added = real
            .strip_suffix(written)
            .map(|more| Self::Add(more.to_owned()));
        let removed = written
            .strip_suffix(real)
            .map(|less| Self::Remove(less.to_owned()));
        let only = Self::Only {
            written: (*written).to_owned(),
            real: (*real).to_owned(),
        };
        [
            Some(Self::Same),
            added,
            removed,
            Self::scale(pairs),
            Some(only),
        ]
        .into_iter()
        .flatten()
        .find(holds)
    }

    fn scale(pairs: &[(&str, &str)]) -> Option<Self> {
        let from = unit(pairs.iter().map(|(written, _)| *written))?;
        let to = unit(pairs.iter().map(|(_, real)| *real))?;
        let widths = pairs
            .iter()
            .map(|(written, real)| (written.len(), real.len()));
        let low = widths.clone().min()?;
        let high = widths.max()?;
        let ratio = match (high.1.checked_sub(low.1)?, high.0 - low.0) {
            // One width says nothing of a unit, unless the characters differ.
            (0, 0) if from == '\t' && is_tab(low.0, low.1) => (low.1, low.0),
            (0, 0) if to == '\t' && is_tab(low.1, low.0) => (low.1, low.0),
            ratio => ratio,
        };
        (ratio.0 > 0 && ratio.1 > 0).then_some(Self::Scale {
            from,
            to,
            origin: low,
            ratio,
        })
    }

    /// The indentation in the file for one that was written; `None` if the rule
    /// does not define it.
    pub(super) fn apply(&self, written: &str) -> Option<String> {
        match self {
            Self::Same => Some(written.to_owned()),
            Self::Add(more) => {
                let is_mixed = unit([more.as_str(), written].into_iter()).is_none();
                let is_plain = written.is_empty() || more.is_empty() || !is_mixed;
                is_plain.then(|| format!("{more}{written}"))
            }
            Self::Remove(less) => written.strip_prefix(less.as_str()).map(str::to_owned),
            Self::Only {
                written: known,
                real,
            } => (written == known).then(|| real.clone()),
            Self::Scale {
                from,
                to,
                origin,
                ratio,
            } => {
                if !written.chars().all(|c| c == *from) {
                    return None;
                }
                // In steps of the written unit, from the one known width.
                let known = origin.1 * ratio.1;
                let scaled = (known + written.len() * ratio.0).checked_sub(origin.0 * ratio.0)?;
                let width = (scaled % ratio.1 == 0).then_some(scaled / ratio.1)?;
                Some(to.to_string().repeat(width))
            }
        }
    }

    /// A text whose lines are indented as in the file.
    pub(super) fn reindent(&self, text: &str) -> Option<String> {
        let mut shifted = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() {
                shifted.push_str(line);
                continue;
            }
            let written = indentation(line);
            shifted.push_str(&self.apply(written)?);
            shifted.push_str(line.get(written.len()..)?);
        }
        Some(shifted)
    }
}

/// Whether so many tabs are likely to stand for so many spaces: two tabs for
/// four spaces may as well be another depth.
const fn is_tab(tabs: usize, spaces: usize) -> bool {
    tabs > 0 && spaces > 0 && (tabs == 1 || spaces == 4 * tabs || spaces == 8 * tabs)
}

/// The one character that all of these are made of.
fn unit<'a>(mut indents: impl Iterator<Item = &'a str>) -> Option<char> {
    let mut found = None;
    let is_one = indents.all(|indent| indent.chars().all(|c| *found.get_or_insert(c) == c));
    found.filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_follows_from_the_lines() {
        let shift = |pairs: &[(&str, &str)]| Shift::between(pairs);
        assert_eq!(shift(&[("  ", "  "), ("", "")]), Some(Shift::Same));
        assert_eq!(
            shift(&[("", "  "), ("  ", "    ")]),
            Some(Shift::Add("  ".into()))
        );
        assert_eq!(
            shift(&[("\t\t", "\t"), ("\t", "")]),
            Some(Shift::Remove("\t".into()))
        );
        assert_eq!(shift(&[("", "  "), ("  ", "  ")]), None);
        let tabs = shift(&[("    ", "\t"), ("        ", "\t\t")]).unwrap();
        assert_eq!(tabs.apply("            ").unwrap(), "\t\t\t");
        assert_eq!(tabs.apply("").unwrap(), "");
        assert_eq!(tabs.apply("  "), None);
        let wider = shift(&[("", ""), ("  ", "    ")]).unwrap();
        assert_eq!(wider.apply("    ").unwrap(), "        ");
        let deeper = shift(&[("    ", "\t\t")]).unwrap();
        assert_eq!(deeper.apply("    ").unwrap(), "\t\t");
        assert_eq!(deeper.apply("        "), None);
    }

    #[test]
    fn units_are_not_mixed() {
        let tabs = Shift::between(&[("", "\t")]).unwrap();
        assert_eq!(tabs.apply("    "), None);
        assert_eq!(tabs.apply("\t").unwrap(), "\t\t");
    }
}
