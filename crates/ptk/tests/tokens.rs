//! Tokens counted by the model's own tokenizer, and how far off an estimate is.
//!
//! ```sh
//! cargo nextest run -p ptk --features openai-tokens --test tokens
//! ```

use std::fs;
use std::path::Path;

use ptk::{Estimate, MARGIN, TokenCounter as _, Tokenizer, tokens_of};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn counts_are_those_of_the_tokenizer() {
    // As OpenAI's own tool counts them.
    for (text, o200k, cl100k) in [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("お誕生日おめでとう", 8, 9),
    ] {
        assert_eq!(Tokenizer::O200k.count(text), o200k, "{text}");
        assert_eq!(Tokenizer::Cl100k.count(text), cl100k, "{text}");
    }
    assert!(tokens_of(Some("gpt-5")).margin() < MARGIN);
    assert_eq!(tokens_of(Some("llama-3")).margin(), MARGIN);
    assert_eq!(tokens_of(None).count("four"), 1);
}

/// The margin covers what an estimate gets wrong, in code, prose and data.
#[test]
fn an_estimate_is_never_too_low_by_more_than_the_margin() {
    let mut worst = 0;
    for file in [
        "README.md",
        "docs/security.md",
        "docs/dialects.md",
        "crates/ptk/src/session.rs",
        "crates/ptk-protocol/src/json/repair.rs",
        "crates/ptk-tools/src/permission/permissions.rs",
        "crates/ptk-protocol/tests/false_positives/quoted/forms.txt",
        "examples/tools.json",
        "Cargo.lock",
        "Cargo.toml",
        "scripts/bench",
    ] {
        let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let counted = Tokenizer::O200k.count(&text);
        let estimated = Estimate.count(&text);
        println!(
            "{file}: {counted} counted, {estimated} estimated, {}",
            counted * 100 / estimated.max(1)
        );
        worst = worst.max(counted * 100 / estimated.max(1));
    }
    assert!(worst <= 100 + u64::from(MARGIN), "{worst} hundredths");
}
