//! Splitting of text into words.

use ptk_search::words::{Stemming, Words};

fn words(text: &str) -> String {
    Words::default().list(text).join(" ")
}

#[test]
fn identifiers_are_whole_and_in_parts() {
    let table = [
        ("parse_json", "parsejson parse json"),
        ("parseJson", "parsejson parse json"),
        ("ParseJSON", "parsejson parse json"),
        ("PARSE_JSON", "parsejson parse json"),
        ("parsejson", "parsejson"),
        ("HTTPServer", "httpserver http server"),
        ("XMLHttpRequest", "xmlhttprequest xml http request"),
        ("getX", "getx get"),
        ("aB", "ab"),
        ("utf8_text", "utf8text utf text"),
        ("sha256", "sha256 sha 256"),
        ("x86_64", "x8664 86 64"),
        ("__init__", "init"),
        ("_private", "private"),
        ("__double__under__", "doubleunder double under"),
        ("a__b", "ab"),
        ("kebab-case", "kebab case"),
        ("src/parser/mod.rs", "src parser mod rs"),
        ("std::fmt::Display", "std fmt display"),
        ("<T: Clone>", "t clone"),
        ("0x1F", "0x1f"),
        ("1.5e3", "5e3"),
        ("[u8; 16]", "u8 16"),
        ("", ""),
        ("___ --- !?", ""),
        ("don't", "don t"),
    ];
    for (text, expected) in table {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn prose_of_any_script_is_words() {
    let table = [
        ("Đọc tệp cấu hình", "đọc tệp cấu hình"),
        // The same, written with combining marks.
        ("Đo\u{323}c te\u{323}\u{302}p", "đọc tệp"),
        ("Straße ÜBER", "straße über"),
        ("読み込み", "読 み 込 み"),
        ("解析json文件", "解 析 json 文 件"),
        ("설정 파일", "설정 파일"),
        ("чтениеФайла", "чтениефайла чтение файла"),
        ("🦀crab", "crab"),
    ];
    for (text, expected) in table {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn plurals_are_singular_unless_they_are_to_stay() {
    let table = [
        ("entries", "entry"),
        ("files", "file"),
        ("boxes", "box"),
        ("matches", "match"),
        ("classes", "class"),
        ("class", "class"),
        ("status", "status"),
        ("this", "this"),
        ("nodes", "node"),
        ("is", "is"),
        ("parseFiles", "parsefiles parse file"),
    ];
    for (text, expected) in table {
        assert_eq!(words(text), expected, "{text}");
        let kept = Words::new(Stemming::Off).list(text);
        assert_eq!(
            kept.last().unwrap(),
            &text.trim_start_matches("parse").to_lowercase()
        );
    }
}

#[test]
fn data_is_no_word() {
    let long = "a".repeat(101);
    assert_eq!(words(&format!("before {long} after")), "before after");
    assert_eq!(words(&"a".repeat(100)), "a".repeat(100));
}
