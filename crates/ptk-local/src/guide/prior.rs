//! What the model itself thinks of the tools for a request.

use ptk_protocol::Toolset;

use super::choose::Candidate;
use super::scorer::{Scorer, Stopped};

/// How much the model's word counts.
const WEIGHT: f32 = 0.1;

/// How much of a request the model is shown, in letters.
const MOST_LETTERS: usize = 400;

/// Adds what the model thinks to the scores. How likely it finds a tool is
/// held against how likely it finds it for any request, since small models
/// prefer some whatever is asked.
///
/// # Errors
///
/// If the model was stopped.
pub(super) fn weigh(
    tools: &Toolset,
    request: &str,
    options: &mut [Candidate],
    scorer: &mut dyn Scorer,
) -> Result<(), Stopped> {
    let names: Vec<String> = options
        .iter()
        .map(|option| option.call.as_ref().map_or("answer", |(tool, _)| tool))
        .map(|name| format!(" {name}"))
        .collect();
    let lesson = lesson(tools);
    let shown: String = request.chars().take(MOST_LETTERS).collect();
    let shown = shown.replace('\n', " ");
    let asked = scorer.score(&format!("{lesson}Request: {shown}\nTool:"), &names)?;
    let neutral = scorer.score(&format!("{lesson}Request: something\nTool:"), &names)?;
    let gains: Vec<f32> = asked
        .iter()
        .zip(&neutral)
        .map(|(asked, neutral)| asked - neutral)
        .collect();
    let most = gains.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shares: Vec<f32> = gains.iter().map(|gain| (gain - most).exp()).collect();
    let total: f32 = shares.iter().sum();
    if !total.is_finite() || total <= 0.0 {
        return Ok(());
    }
    for (option, share) in options.iter_mut().zip(shares) {
        option.score += WEIGHT * share / total;
    }
    Ok(())
}

/// The tools in a line each, the same for all requests.
fn lesson(tools: &Toolset) -> String {
    let mut lesson = String::from("Tools:\n");
    for spec in tools.iter() {
        let first = spec
            .description
            .split_once(['.', ','])
            .map_or(spec.description.as_str(), |(first, _)| first);
        lesson.push_str(&format!("{}: {first}\n", spec.name));
    }
    lesson.push_str("answer: No tool, just talk\n\n");
    lesson
}
