//! Names of models, which become the names of their folders.

/// The longest name of a model.
pub(crate) const MAX_NAME: usize = 64;

/// Whether a model can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins_well && name.len() <= MAX_NAME && name.chars().all(is_fit)
}

/// The valid model name that is closest to this one.
pub(crate) fn fitting(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let fitting = name.chars().map(|c| if is_fit(c) { c } else { '-' });
    fitting.take(MAX_NAME).collect()
}

const fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}
