//! Runs with models behind third-party servers. `scripts/long-checks models`
//! starts them, and says where they are.

use crate::scene::{Ended, Scene};

fn run(provider: &str, model: &str, prompt: &str, more: &[&str]) -> Ended {
    let scene = Scene::new(&[]);
    let mut args = vec![prompt, "--provider", provider, "--model", model];
    args.extend_from_slice(more);
    scene.ptk(&args)
}

fn address(variable: &str) -> String {
    std::env::var(variable).expect("scripts/long-checks models sets it")
}

#[test]
#[ignore = "needs LiteLLM's proxy"]
fn a_proxy_answers_a_run() {
    let base = address("PTK_LITELLM");
    for provider in [
        format!("{base}/v1"),
        format!("openai:{base}/v1"),
        format!("anthropic:{base}/v1"),
    ] {
        let ended = run(&provider, "mock", "Hi", &[]);
        assert_eq!(ended.out, "Hello from the proxy.\n", "{provider} {ended:?}");
    }
}

/// The model is far too small to call tools well. Any reply must lead to an
/// answer or to a clear error.
#[test]
#[ignore = "needs LiteLLM's proxy and the server of llama-cpp-python"]
fn a_small_model_answers_a_run() {
    let base = address("PTK_LLAMA");
    let proxy = address("PTK_LITELLM");
    for provider in [
        format!("{base}/v1"),
        format!("completion:{base}/v1"),
        format!("openai-responses:{proxy}/v1"),
    ] {
        let ended = run(
            &provider,
            "smollm2",
            "Say hello.",
            &["--tools", "", "--timeout", "300s"],
        );
        assert_eq!(ended.code, 0, "{provider} {ended:?}");
        assert!(!ended.out.trim().is_empty(), "{provider}");
        assert!(!ended.out.contains("\nUSER:"), "{provider} {ended:?}");
    }
}
