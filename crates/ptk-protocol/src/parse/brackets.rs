//! Lists, objects and argument lists that prose has begun: what stands in them
//! is data.

/// Whether a line of the prose ends with an opening bracket that nothing has
/// closed.
pub(super) fn is_data_open(prose: &str) -> bool {
    let mut open = 0_usize;
    for line in prose.lines() {
        let line = line.trim();
        if open > 0 {
            let (opened, closed) = brackets(line);
            open = (open + opened).saturating_sub(closed);
        } else if line.ends_with(['[', '{', '(']) && !is_sad_face(line) {
            let (opened, closed) = brackets(line);
            open = opened.saturating_sub(closed).max(1);
        }
    }
    open > 0
}

fn is_sad_face(line: &str) -> bool {
    line.ends_with(":(")
}

/// How many brackets a line opens and closes, those in strings aside.
fn brackets(line: &str) -> (usize, usize) {
    let (mut opened, mut closed) = (0, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'(' | b'[' | b'{' => opened += 1,
            b')' | b']' | b'}' => closed += 1,
            _ => {}
        }
    }
    (opened, closed)
}

#[cfg(test)]
mod tests {
    use super::is_data_open;

    #[test]
    fn data_is_open_from_a_bracket_at_the_end_of_a_line_until_it_closes() {
        for open in [
            "[\n",
            "x = {\n\n# one\n",
            "a: [ \r\n1,\n",
            "{\"a\": [\n]\n",
            "(\n\"]\"\n",
        ] {
            assert!(is_data_open(open), "{open:?}");
        }
        for closed in [
            "",
            "words\n",
            "not there :(\n",
            "[\n]\n",
            "f(\n  1)\nwords\n",
            "[1, 2]\n",
        ] {
            assert!(!is_data_open(closed), "{closed:?}");
        }
    }
}
