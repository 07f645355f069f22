//! Variables of the environment in settings: `${NAME}`, `${NAME:-default}` and,
//! in headers, `$NAME`.

/// How variables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// With braces only: in the arguments of programs, a plain `$` is often
    /// meant for a shell.
    Braces,
    /// Also without.
    Plain,
}

/// The text with the values of the variables that it names.
///
/// # Errors
///
/// The name of a variable that is not set and has no default.
pub(crate) fn expand(
    text: &str,
    notation: Notation,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        expanded.push_str(before);
        let Some((reference, after)) = reference(behind, notation) else {
            expanded.push('$');
            rest = behind;
            continue;
        };
        let value = lookup(reference.name).or_else(|| reference.default.map(str::to_owned));
        expanded.push_str(&value.ok_or_else(|| reference.name.to_owned())?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The names of the variables in a text.
pub(crate) fn names(text: &str, notation: Notation) -> Vec<&str> {
    let behind = text.match_indices('$').filter_map(|(at, _)| {
        let (reference, _) = reference(text.get(at + 1..)?, notation)?;
        Some(reference.name)
    });
    behind.collect()
}

/// A reference to a variable.
struct Reference<'t> {
    name: &'t str,
    default: Option<&'t str>,
}

/// The reference behind a `$`, and what follows it.
fn reference(text: &str, notation: Notation) -> Option<(Reference<'_>, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(braced) = text.strip_prefix('{') {
        let (inner, after) = braced.split_once('}')?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = !name.is_empty() && name.chars().all(is_part);
        return is_name.then_some((Reference { name, default }, after));
    }
    if notation == Notation::Braces {
        return None;
    }
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, after) = text.split_at_checked(end)?;
    let default = None;
    (!name.is_empty()).then_some((Reference { name, default }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        expand(text, Notation::Plain, |name| {
            (name == "HOME").then(|| "/home/a b".to_owned())
        })
    }

    #[test]
    fn variables_are_replaced_by_their_values() {
        for (text, expected) in [
            ("$HOME/x", "/home/a b/x"),
            ("${HOME}x", "/home/a bx"),
            ("${NONE:-y}", "y"),
            ("${NONE:-}", ""),
            ("5 $ and ${ and $", "5 $ and ${ and $"),
            ("${a b}", "${a b}"),
            ("ü${HOME}ü", "ü/home/a bü"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(expanded("Bearer $TOKEN"), Err("TOKEN".to_owned()));
        assert_eq!(names("$A ${B:-c} $ ${", Notation::Plain), ["A", "B"]);
        assert_eq!(names("$A ${B:-c} $1", Notation::Braces), ["B"]);
    }
}
