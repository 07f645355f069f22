//! Search results, and filters.

use ptk_search::chunk::Kind;
use ptk_search::{Filter, Language, Query, SearchError, State, Which};

use super::workspace::{Fixture, search};

fn project() -> Fixture {
    let fixture = Fixture::with(&[
        (
            "src/json.rs",
            "/// Reads JSON.\npub fn parse_json(text: &str) {}\n\npub struct JsonError;\n\nimpl JsonError {\n    pub fn line(&self) -> usize {\n        1\n    }\n}\n",
        ),
        ("src/yaml.rs", "pub fn parse_yaml(text: &str) {}\n"),
        ("tools/load.py", "def parseJson(text):\n    return text\n"),
        ("docs/json.md", "# Parsing JSON\n\nHow JSON is parsed.\n"),
        ("notes.txt", "json json json\n"),
    ]);
    fixture.update();
    fixture
}

#[test]
fn an_identifier_is_found_however_it_is_written() {
    let fixture = project();
    for text in ["parse_json", "parseJson", "ParseJSON", "fn parse_json("] {
        let query = Query {
            top: 2,
            ..Query::new(text)
        };
        let mut ids = fixture.ids(&query);
        ids.sort();
        assert_eq!(ids, ["src/json.rs#1:2", "tools/load.py#1:2"], "{text}");
    }
}

#[test]
fn a_hit_says_what_it_is() {
    let fixture = project();
    let hits = fixture.hits("line of the error");
    let hit = &hits[0];
    assert_eq!(hit.id, "src/json.rs#7:10");
    assert_eq!(hit.symbol.as_deref(), Some("line"));
    assert_eq!((hit.kind, hit.language), (Kind::Method, Language::Rust));
    assert_eq!(hit.scope, "impl JsonError");
    assert_eq!(
        hit.text,
        "    pub fn line(&self) -> usize {\n        1\n    }\n}"
    );
    assert_eq!((hit.lexical_rank, hit.dense_rank), (Some(1), None));
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn filters_leave_what_they_name() {
    let fixture = project();
    let ids = |filter: Filter| {
        let query = Query {
            filter,
            ..Query::new("parse json yaml error line")
        };
        let mut ids = fixture.ids(&query);
        ids.sort();
        ids
    };
    let paths = |globs: &[&str]| {
        ids(Filter {
            paths: globs.iter().map(|&glob| glob.to_owned()).collect(),
            ..Filter::default()
        })
    };
    assert_eq!(paths(&["*.py"]), ["tools/load.py#1:2"]);
    assert_eq!(
        paths(&["/tools", "*.md"]),
        ["docs/json.md#1:3", "tools/load.py#1:2"]
    );
    assert_eq!(paths(&["src/**/y*.rs"]), ["src/yaml.rs#1:1"]);
    assert_eq!(
        paths(&["!src/", "!*.txt"]),
        ["docs/json.md#1:3", "tools/load.py#1:2"]
    );
    assert_eq!(paths(&["src/", "!json.rs"]), ["src/yaml.rs#1:1"]);
    assert!(paths(&["nowhere/"]).is_empty());
    let kinds = ids(Filter {
        kinds: vec![Kind::Struct, Kind::Section],
        ..Filter::default()
    });
    assert_eq!(kinds, ["docs/json.md#1:3", "src/json.rs#4:4"]);
    let languages = ids(Filter {
        languages: vec![Language::Python, Language::Markdown],
        kinds: vec![Kind::Function],
        ..Filter::default()
    });
    assert_eq!(languages, ["tools/load.py#1:2"]);
    let symbols = ids(Filter {
        symbols: vec!["parsejson".to_owned(), "parse_yaml".to_owned()],
        ..Filter::default()
    });
    assert_eq!(symbols, ["src/yaml.rs#1:1", "tools/load.py#1:2"]);
}

#[test]
fn no_sign_in_a_question_has_a_meaning_of_its_own() {
    let fixture = project();
    for text in [
        "json AND",
        "(json",
        "\"json",
        "json:",
        "+json -",
        "json*~2",
        "json^",
        "[json TO",
        "\\json",
        "path:json",
        "NOT json",
        "{",
        "",
    ] {
        let hits = fixture.hits(text);
        assert_eq!(hits.is_empty(), !text.contains("json"), "{text}");
    }
}

#[test]
fn what_cannot_be_asked_is_told() {
    let fixture = project();
    let searcher = fixture.index.searcher().unwrap();
    let mut query = Query::new("json");
    for wrong in ["a{b", "[", "src/[a-", "[z-a]"] {
        query.filter.paths = vec!["src/".to_owned(), wrong.to_owned()];
        let error = searcher.search(&query).unwrap_err();
        let SearchError::Glob { glob, why } = &error else {
            panic!("{error}");
        };
        assert_eq!(glob, wrong);
        assert!(
            !why.is_empty() && !why.contains(wrong),
            "said twice: {error}"
        );
    }
    let dense = Query {
        which: Which::Dense,
        ..Query::new("json")
    };
    assert!(matches!(
        searcher.search(&dense),
        Err(SearchError::NoMeaning(_))
    ));
    let missing = Fixture::new().index.searcher().unwrap_err();
    assert!(matches!(missing, SearchError::Missing { .. }));
}

#[test]
fn as_many_as_were_asked_for() {
    let fixture = project();
    for top in [0, 1, 3] {
        let query = Query {
            top,
            ..Query::new("json")
        };
        assert_eq!(fixture.ids(&query).len(), top);
    }
}

#[test]
fn copies_give_way_to_others_where_that_is_wanted() {
    let fixture = Fixture::new();
    for number in 0..5 {
        fixture.write(
            &format!("copy{number}.py"),
            "def open_door(door):\n    return door.handle.open()\n",
        );
    }
    fixture.write(
        "other.py",
        "def open_gate(door, key, lock):\n    key.turn(lock)\n",
    );
    fixture.update();
    let mut query = Query {
        top: 2,
        ..Query::new("open door")
    };
    assert!(!fixture.ids(&query).contains(&"other.py#1:2".to_owned()));
    query.diversify = true;
    assert_eq!(fixture.ids(&query)[1], "other.py#1:2");
}

#[test]
fn a_file_that_changed_since_is_noticed() {
    let fixture = project();
    let searcher = fixture.index.searcher().unwrap();
    let state = || {
        let hits = searcher.search(&Query::new("parse_yaml")).unwrap();
        let hit = hits.into_iter().find(|hit| hit.path == "src/yaml.rs");
        hit.map(|hit| (hit.state, hit.text))
    };
    let text = "pub fn parse_yaml(text: &str) {}".to_owned();
    assert_eq!(state(), Some((State::Current, text.clone())));
    // Text after these lines does not matter.
    fixture.write(
        "src/yaml.rs",
        "pub fn parse_yaml(text: &str) {}\n// More.\n",
    );
    assert_eq!(state(), Some((State::Current, text.clone())));
    fixture.write(
        "src/yaml.rs",
        "// More.\npub fn parse_yaml(text: &str) {}\n",
    );
    assert_eq!(state(), Some((State::Changed, text.clone())));
    fixture.remove("src/yaml.rs");
    assert_eq!(state(), Some((State::Gone, text)));
    // The searcher sees the next commit without being opened again.
    fixture.update();
    assert_eq!(state(), None);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let fixture = project();
    let query = Query::new("parse json text error");
    let first = search(&fixture.index, &query);
    assert!(first.len() > 3);
    for _ in 0..5 {
        assert_eq!(search(&fixture.index, &query), first);
        assert_eq!(search(&fixture.fresh(), &query), first);
    }
}
