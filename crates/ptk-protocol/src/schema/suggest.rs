//! "Did you mean …?": near names, whatever their case and separators.

/// The name among `known` that `name` was most likely meant to be.
///
/// Case, separators and prefixes such as `functions.` do not count; beyond
/// that, a few letters may be wrong.
///
/// ```
/// use ptk_protocol::schema::suggest;
///
/// let known = ["read_file", "write_file"];
/// for name in ["ReadFile", "read-file", "functions.read_file", "raed_file"] {
///     assert_eq!(suggest::nearest(name, known), Some("read_file"));
/// }
/// assert_eq!(suggest::nearest("get_weather", known), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longer names are not typing mistakes, and comparing them is slow.
    const MAX_LENGTH: usize = 128;

    if name.len() > MAX_LENGTH {
        return None;
    }
    let whole = fold(name);
    let last = fold(name.rsplit(['.', ':', '/']).next().unwrap_or(name));
    known
        .into_iter()
        .filter(|known| known.len() <= MAX_LENGTH)
        .filter_map(|known| {
            let folded = fold(known);
            let distance = distance(&whole, &folded).min(distance(&last, &folded));
            // A third of the letters: `raed` is near `read`, `cat` is not near `ls`.
            let allowed = folded.chars().count().max(2) / 3;
            (distance <= allowed || is_part(&last, &folded)).then_some((distance, known))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

fn distance(a: &str, b: &str) -> usize {
    if a.is_empty() || b.is_empty() {
        return usize::MAX;
    }
    strsim::damerau_levenshtein(a, b)
}

/// Whether one name is the other with a word more: `read` for `read_file`.
fn is_part(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() >= 3 && (long.starts_with(short) || long.ends_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_several_wins_and_strangers_are_left_alone() {
        let known = ["list_files", "read_file", "grep", "bash"];
        assert_eq!(nearest("readfile", known), Some("read_file"));
        assert_eq!(nearest("list_file", known), Some("list_files"));
        assert_eq!(nearest("read", known), Some("read_file"));
        assert_eq!(nearest("GREP", known), Some("grep"));
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("sql", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
