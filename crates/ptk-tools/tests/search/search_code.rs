use insta::assert_snapshot;
use ptk_protocol::snippet;
use serde_json::json;

use crate::scene::{Scene, strings};

fn project() -> Scene {
    Scene::new(&[
        (
            "a_user.rs",
            "use lib::parse_header;\nparse_header();\nparse_header();\nparse_header();\n",
        ),
        ("b_other.rs", "let parse_header_length = 1;\n"),
        (
            "z_lib.rs",
            "//! Reads.\n\n/// A header.\npub fn parse_header() {\n    todo()\n}\n\n\n\n\n\n\nfn end() {}\n",
        ),
        ("doc.md", "parse_header(x) is good\n"),
    ])
}

#[tokio::test]
async fn snippets_come_with_path_and_lines_and_definitions_come_first() {
    let scene = project();
    let fields = scene
        .fields("search_code", json!({"query": "parse_header"}))
        .await;
    let root = scene.path("").canonicalize().unwrap();
    let text = strings(&fields, "snippets").join("\n");
    let text = text.replace(root.to_str().unwrap(), "/workspace");
    assert_snapshot!(text, @r#"
    <code="/workspace/z_lib.rs" #1:7>
    //! Reads.

    /// A header.
    pub fn parse_header() {
        todo()
    }

    </code>
    <code="/workspace/a_user.rs" #1:4>
    use lib::parse_header;
    parse_header();
    parse_header();
    parse_header();
    </code>
    <code="/workspace/doc.md" #1:1>
    parse_header(x) is good
    </code>
    <code="/workspace/b_other.rs" #1:1>
    let parse_header_length = 1;
    </code>
    "#);
    assert_eq!(fields["total"], 7);
    assert_eq!(fields["total_files"], 4);
    for text in strings(&fields, "snippets") {
        let found = snippet::read(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].problems, []);
    }
}

#[tokio::test]
async fn options_narrow_the_search() {
    let scene = project();
    let count = async |args| scene.fields("search_code", args).await["total"].clone();
    assert_eq!(count(json!({"query": "parse_header(x)"})).await, 1);
    assert_eq!(
        count(json!({"query": "parse_.*r\\(", "options": {"regex": true}})).await,
        5
    );
    assert_eq!(count(json!({"query": "PARSE_HEADER"})).await, 0);
    assert_eq!(
        count(json!({"query": "PARSE_HEADER", "options": {"case_sensitive": false}})).await,
        7
    );
    assert_eq!(
        count(json!({"query": "parse_header", "options": {"file_types": ["md"]}})).await,
        1
    );
    assert_eq!(
        count(json!({"query": "parse_header", "options": {"glob": "z_*"}})).await,
        1
    );
    assert_eq!(
        count(json!({"query": "parse_header", "path": "z_lib.rs"})).await,
        1
    );
}

#[tokio::test]
async fn more_matches_than_are_shown_are_said_to_be_there() {
    let scene = Scene::new(&[("a.rs", &"x();\n".repeat(40))]);
    let fields = scene.fields("search_code", json!({"query": "x()"})).await;
    assert_eq!(fields["count"], 5);
    assert_snapshot!(fields["note"], @r#""At most 5 matches of a file are shown. For all of them: grep(pattern=\"x()\", literal=true)""#);
}

#[tokio::test]
async fn pages_cover_every_match_that_is_shown_once() {
    let scene = Scene::new(&[
        ("a.rs", &"x();\n\n\n\n\n\n\n\n\n".repeat(4)),
        ("b.rs", &"x();\n\n\n\n\n\n\n\n\n".repeat(7)),
        ("c.rs", "x();\n"),
    ]);
    let mut starts = Vec::new();
    let mut offset = 0;
    loop {
        let args = json!({"query": "x()", "offset": offset, "options": {"max_results": 3}});
        let fields = scene.fields("search_code", args).await;
        assert_eq!(fields["total"], 12);
        let snippets = strings(&fields, "snippets");
        starts.extend(snippets.iter().map(|text| {
            let header = text.lines().next().unwrap();
            header.rsplit('/').next().unwrap().to_owned()
        }));
        offset += fields["count"].as_u64().unwrap();
        let Some(next) = fields["next"].as_str() else {
            break;
        };
        let expected =
            format!("search_code(query=\"x()\", options={{\"max_results\":3}}, offset={offset})");
        assert_eq!(next, expected);
    }
    assert_eq!(offset, 10);
    starts.sort_unstable();
    let shown = starts.len();
    starts.dedup();
    assert_eq!((shown, starts.len()), (10, 10), "{starts:?}");

    let fields = scene
        .fields("search_code", json!({"query": "x()", "offset": 99}))
        .await;
    assert_eq!(fields["count"], 0);
    let note = fields["note"].as_str().unwrap();
    assert!(note.starts_with("The offset lies behind the end"), "{note}");
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = project();
    let failure = async |args| scene.failure("search_code", args).await;
    assert_snapshot!(failure(json!({"query": ""})).await, @r#"
    validation_error: search_code(query=""): There is nothing to search for: it is empty
    To see a whole file, use read_file; to see which files there are, list_files.
    "#);
    assert_snapshot!(failure(json!({"query": "a(", "options": {"regex": true}})).await, @r#"
    validation_error: search_code(query="a(", options={"regex":true}): The pattern is not a regular expression: regex parse error:
        a(
         ^
    error: unclosed group
    To search for the text as it stands, leave out the option regex.
    "#);
    assert_snapshot!(failure(json!({"query": "a", "options": {"glob": "*.rs", "file_types": ["rs"]}})).await, @r#"
    validation_error: search_code(query="a", options={"glob":"*.rs","file_types":["rs"]}): Both glob and file_types are given
    Give one of them: a glob can name types, too, as in "src/**/*.{rs,toml}".
    "#);
    let fields = scene
        .fields("search_code", json!({"query": "nowhere"}))
        .await;
    assert_snapshot!(fields["note"], @r#""No match in 4 files.""#);
}
