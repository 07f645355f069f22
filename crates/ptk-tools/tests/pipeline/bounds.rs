use std::io::Read as _;

use ptk_tools::{AllowAll, Limits, ResultLimit};
use serde_json::json;

use super::{Fixture, request};

fn small() -> Fixture {
    let limits = Limits {
        result: 2_000,
        ..Limits::default()
    };
    Fixture::with(|builder| builder.approver(AllowAll).limits(limits))
}

#[tokio::test]
async fn a_result_that_fits_stays_as_it_is() {
    let fixture = small();
    let result = fixture
        .call("look", json!({"text": "a".repeat(1_900)}))
        .await;
    assert!(!result.fields.contains_key("truncated"));
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_how_to_read_the_rest() {
    let fixture = small();
    let lines: Vec<String> = (1..=1_000).map(|line| format!("line {line}")).collect();
    let text = lines.join("\n") + "\n";
    let result = fixture.call("look", json!({"text": text})).await;
    let content = result.fields["content"].as_str().unwrap();
    assert!(content.len() < 2_200, "{}", content.len());
    assert!(content.starts_with("line 1\nline 2\n"));
    assert!(content.ends_with("line 1000\n"));
    let cut = &result.fields["truncated"]["content"];
    assert_eq!(cut["bytes"], json!(text.len()));
    let next = cut["next"].as_str().unwrap();
    assert!(content.contains(next), "{next}");

    let handle = cut["whole"].as_str().unwrap();
    let mut whole = String::new();
    let mut file = fixture.tools.outputs().open(handle).unwrap();
    file.read_to_string(&mut whole).unwrap();
    assert_eq!(whole, text);
}

/// The numbers of a hint such as `read_file(…, offset=2, column=3)`.
fn number(hint: &str, name: &str) -> usize {
    let value = hint.split(&format!("{name}=")).nth(1).unwrap();
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[tokio::test]
async fn the_rest_of_one_long_line_begins_within_it() {
    let fixture = small();
    let text = format!("short\n{}", "é".repeat(9_000));
    let result = fixture.call("look", json!({"text": text})).await;
    let content = result.fields["content"].as_str().unwrap();
    let next = result.fields["truncated"]["content"]["next"].as_str();
    let next = next.unwrap();
    let shown = content.lines().nth(1).unwrap();
    assert_eq!(number(next, "offset"), 2);
    assert_eq!(number(next, "column"), shown.len() + 1);
}

#[tokio::test]
async fn characters_are_never_cut_in_two() {
    let fixture = small();
    for length in 0..4 {
        let text = "x".repeat(length) + &"🌀".repeat(3_000);
        let result = fixture.call("look", json!({"text": text})).await;
        assert!(
            result.fields["content"]
                .as_str()
                .unwrap()
                .contains("left out")
        );
    }
}

#[tokio::test]
async fn an_output_that_is_not_there_says_so() {
    let fixture = small();
    let error = fixture.tools.outputs().open("output:99").unwrap_err();
    assert_eq!(error.message, "Output output:99 not found");
}

#[tokio::test]
async fn a_result_that_has_too_many_tokens_is_cut_and_kept() {
    let fixture = Fixture::new();
    // Quotation marks take two bytes in JSON.
    for text in ["word ".repeat(5_000), "\"\n".repeat(5_000)] {
        let limit = ResultLimit::new(500, |text| text.len().div_ceil(4) as u64);
        let call = request("look", json!({"text": text})).with_limit(limit);
        let result = fixture.tools.execute(call).await.result;
        let length = json!(result.fields).to_string().len();
        assert!((500..=2_000).contains(&length), "{length}");
        let handle = result.fields["truncated"]["content"]["whole"].as_str();
        let mut whole = String::new();
        let mut file = fixture.tools.outputs().open(handle.unwrap()).unwrap();
        file.read_to_string(&mut whole).unwrap();
        assert_eq!(whole, text);
    }
}

#[tokio::test]
async fn a_long_error_is_cut_and_kept() {
    let fixture = Fixture::new();
    let thing = "ä".repeat(50_000);
    let result = fixture.call("fail", json!({"text": thing})).await;
    assert!(result.error.len() < 5_000, "{}", result.error.len());
    let handle = result.error.split("output:").nth(1).unwrap();
    let digits: String = handle.chars().take_while(char::is_ascii_digit).collect();
    let mut whole = String::new();
    let mut file = fixture
        .tools
        .outputs()
        .open(&format!("output:{digits}"))
        .unwrap();
    file.read_to_string(&mut whole).unwrap();
    assert!(whole.contains(&format!("There is no {thing}")));
}
