//! Numbers between two limits, digit by digit.

use serde_json::{Map, Value};

use super::{Class, Part};

/// The most digits of a whole number: every JSON parser keeps that many.
const MAX_DIGITS: u32 = 15;
/// The largest whole number that is written.
const LARGEST: i64 = 999_999_999_999_999;
/// The most digits behind the point.
const MAX_FRACTION: u32 = 15;

/// Whole numbers without limits.
pub(super) fn integer() -> Part {
    let digits = Part::all_of([nonzero(), digits(0, MAX_DIGITS - 1)]);
    let signed = Part::all_of([Part::text("-").optional(), digits]);
    Part::Choice(vec![Part::text("0"), signed])
}

/// Numbers without limits.
pub(super) fn number() -> Part {
    let whole = Part::Choice(vec![
        Part::text("0"),
        Part::all_of([nonzero(), digits(0, MAX_DIGITS - 1)]),
    ]);
    let fraction = Part::all_of([Part::text("."), digits(1, MAX_FRACTION)]);
    let exponent = Part::all_of([
        Part::Class(Class::any_of("Ee".chars())),
        Part::Class(Class::any_of("+-".chars())).optional(),
        digits(1, 2),
    ]);
    Part::all_of([
        Part::text("-").optional(),
        whole,
        fraction.optional(),
        exponent.optional(),
    ])
}

/// The keywords that limit a number.
pub(super) const LIMITS: &[&str] = &["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];

/// Whole numbers within the limits of a schema. `Err` is the keyword that
/// cannot be kept.
pub(super) fn integer_within(keywords: &Map<String, Value>) -> Result<Part, &'static str> {
    let mut least = -LARGEST;
    let mut most = LARGEST;
    for keyword in LIMITS {
        let Some(value) = keywords.get(*keyword) else {
            continue;
        };
        let limit = value.as_f64().ok_or(*keyword)?;
        match *keyword {
            "minimum" => least = least.max(whole(limit.ceil())),
            "exclusiveMinimum" => least = least.max(whole(limit.floor()).saturating_add(1)),
            "maximum" => most = most.min(whole(limit.floor())),
            _ => most = most.min(whole(limit.ceil()).saturating_sub(1)),
        }
        if least > LARGEST || most < -LARGEST {
            return Err(keyword);
        }
    }
    Ok(signed(least, most, &range))
}

/// Numbers within the limits of a schema, which are whole numbers themselves.
/// `Err` is the keyword that cannot be kept.
pub(super) fn number_within(keywords: &Map<String, Value>) -> Result<Part, &'static str> {
    let mut least = -LARGEST;
    let mut most = LARGEST;
    let (mut without_least, mut without_most) = (false, false);
    for keyword in LIMITS {
        let Some(value) = keywords.get(*keyword) else {
            continue;
        };
        let limit = value.as_f64().filter(|limit| limit.fract() == 0.0);
        let limit = whole(limit.ok_or(*keyword)?);
        let excludes = keyword.starts_with("exclusive");
        if keyword.ends_with("inimum") {
            if limit > least {
                (least, without_least) = (limit, excludes);
            } else if limit == least {
                without_least |= excludes;
            }
        } else if limit < most {
            (most, without_most) = (limit, excludes);
        } else if limit == most {
            without_most |= excludes;
        }
        if least > LARGEST || most < -LARGEST {
            return Err(keyword);
        }
    }
    let wholes = signed(
        least.saturating_add(i64::from(without_least)),
        most.saturating_sub(i64::from(without_most)),
        &range,
    );
    // Behind the point there is something but zeros, so that the number lies
    // between two whole ones.
    let between = signed_between(least, most);
    Ok(Part::one_of(
        [wholes, between]
            .into_iter()
            .filter(|part| *part != Part::NOTHING)
            .collect(),
    ))
}

/// A limit as a whole number; beyond the largest number it does not matter
/// which.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast of a float saturates"
)]
fn whole(limit: f64) -> i64 {
    limit as i64
}

/// Whole numbers from `least` to `most`, where `of` returns those that are not
/// negative.
fn signed(least: i64, most: i64, of: &dyn Fn(u64, u64) -> Part) -> Part {
    let mut parts = Vec::new();
    if least < 0 && least <= most {
        let nearest = most.min(-1).unsigned_abs();
        parts.push(Part::all_of([
            Part::text("-"),
            of(nearest, least.unsigned_abs()),
        ]));
    }
    if most >= 0 && least <= most {
        parts.push(of(least.max(0).unsigned_abs(), most.unsigned_abs()));
    }
    Part::one_of(parts)
}

/// Numbers with a fraction between two whole ones.
fn signed_between(least: i64, most: i64) -> Part {
    let fraction = || {
        Part::all_of([
            Part::text("."),
            Part::text("0").repeated(0, Some(4)),
            nonzero(),
            digits(0, 9),
        ])
    };
    let mut parts = Vec::new();
    if least < 0 && least < most {
        let nearest = most.min(0).unsigned_abs();
        let whole = range(nearest, least.unsigned_abs() - 1);
        parts.push(Part::all_of([Part::text("-"), whole, fraction()]));
    }
    if most > 0 && least < most {
        let whole = range(least.max(0).unsigned_abs(), most.unsigned_abs() - 1);
        parts.push(Part::all_of([whole, fraction()]));
    }
    Part::one_of(parts)
}

/// The digits of the whole numbers from `least` to `most`.
fn range(least: u64, most: u64) -> Part {
    let mut parts = Vec::new();
    let mut from = least;
    // Numbers of the same length at a time.
    while from <= most {
        let to = 10_u64.pow(from.max(1).ilog10() + 1) - 1;
        let (low, high) = (from.to_string(), to.min(most).to_string());
        parts.push(same_length(low.as_bytes(), high.as_bytes()));
        from = to + 1;
    }
    Part::one_of(parts)
}

/// Numbers between two of the same length.
fn same_length(first: &[u8], last: &[u8]) -> Part {
    let (Some((&low, first)), Some((&high, last))) = (first.split_first(), last.split_first())
    else {
        return Part::text("");
    };
    if low == high {
        return Part::all_of([digit(low, high), same_length(first, last)]);
    }
    let rest = u32::try_from(first.len()).unwrap_or(u32::MAX);
    let any = || digits(rest, rest);
    let low_is_whole = first.iter().all(|digit| *digit == b'0');
    let high_is_whole = last.iter().all(|digit| *digit == b'9');
    let mut parts = Vec::new();
    if !low_is_whole {
        let nines = vec![b'9'; first.len()];
        parts.push(Part::all_of([digit(low, low), same_length(first, &nines)]));
    }
    let (from, to) = (
        low + u8::from(!low_is_whole),
        high - u8::from(!high_is_whole),
    );
    if from <= to {
        parts.push(Part::all_of([digit(from, to), any()]));
    }
    if !high_is_whole {
        let zeros = vec![b'0'; last.len()];
        parts.push(Part::all_of([digit(high, high), same_length(&zeros, last)]));
    }
    Part::one_of(parts)
}

fn digit(low: u8, high: u8) -> Part {
    if low == high {
        return Part::text(char::from(low));
    }
    Part::Class(Class::of(&[(char::from(low), char::from(high))]))
}

fn nonzero() -> Part {
    digit(b'1', b'9')
}

fn digits(least: u32, most: u32) -> Part {
    digit(b'0', b'9').repeated(least, Some(most))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether the part writes just this text.
    fn fits(part: &Part, text: &str) -> bool {
        rests(part, text).contains(&"")
    }

    /// What may be left of the text behind the part.
    fn rests<'t>(part: &Part, text: &'t str) -> Vec<&'t str> {
        match part {
            Part::Literal(literal) => text.strip_prefix(literal.as_str()).into_iter().collect(),
            Part::Class(class) => {
                let mut chars = text.chars();
                let fits = chars.next().is_some_and(|c| class.contains(c));
                fits.then_some(chars.as_str()).into_iter().collect()
            }
            Part::Rule(_) => Vec::new(),
            Part::Choice(parts) => parts.iter().flat_map(|part| rests(part, text)).collect(),
            Part::Sequence(parts) => parts.iter().fold(vec![text], |texts, part| {
                texts
                    .into_iter()
                    .flat_map(|text| rests(part, text))
                    .collect()
            }),
            Part::Repeat { part, least, most } => {
                let mut all = Vec::new();
                let mut texts = vec![text];
                for count in 0..=most.unwrap_or(20) {
                    if count >= *least {
                        all.extend(texts.iter().copied());
                    }
                    texts = texts
                        .into_iter()
                        .flat_map(|text| rests(part, text))
                        .collect();
                }
                all
            }
        }
    }

    #[test]
    fn whole_numbers_within_limits_are_exactly_those() {
        for least in -130..=130_i64 {
            for most in [least - 1, least, least + 1, least + 9, least + 117] {
                let schema = json!({"minimum": least, "maximum": most});
                let part = integer_within(schema.as_object().unwrap()).unwrap();
                for number in (least - 15)..=(most + 15) {
                    let within = (least..=most).contains(&number);
                    assert_eq!(
                        fits(&part, &number.to_string()),
                        within,
                        "{schema} {number}"
                    );
                }
            }
        }
    }

    #[test]
    fn limits_of_any_kind_are_kept_or_named() {
        let of = |schema: Value| integer_within(schema.as_object().unwrap());
        let part = of(json!({"exclusiveMinimum": 0, "exclusiveMaximum": 2.5})).unwrap();
        for (number, within) in [("0", false), ("1", true), ("2", true), ("3", false)] {
            assert_eq!(fits(&part, number), within, "{number}");
        }
        assert_eq!(of(json!({"minimum": 1e17})), Err("minimum"));
        assert_eq!(of(json!({"maximum": "9"})), Err("maximum"));
        let huge = of(json!({"minimum": i64::MIN, "maximum": u64::MAX})).unwrap();
        assert!(fits(&huge, "-999999999999999") && fits(&huge, "42"));
    }

    #[test]
    fn numbers_within_limits_lie_between_them() {
        let cases = [
            (
                json!({"minimum": 0, "maximum": 2}),
                "0 1 2 0.5 1.25 1.999",
                "2.1 -0.1 -1 3",
            ),
            (
                json!({"exclusiveMinimum": 0, "maximum": 1}),
                "1 0.1 0.01",
                "0 1.5 -0.5",
            ),
            (
                json!({"minimum": -2, "exclusiveMaximum": 0}),
                "-2 -1 -0.5 -1.75",
                "0 -2.5 0.5",
            ),
            (json!({"minimum": 90}), "90 90.5 1000.25", "89 89.9 -90"),
        ];
        for (schema, within, without) in cases {
            let part = number_within(schema.as_object().unwrap()).unwrap();
            for number in within.split(' ') {
                assert!(fits(&part, number), "{schema} {number}");
            }
            for number in without.split(' ') {
                assert!(!fits(&part, number), "{schema} {number}");
            }
        }
        let half = json!({"minimum": 0.5});
        assert_eq!(number_within(half.as_object().unwrap()), Err("minimum"));
    }
}
