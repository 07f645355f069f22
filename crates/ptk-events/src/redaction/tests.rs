use proptest::prelude::*;

use super::*;

fn shown(text: &str) -> String {
    hidden(text, &[]).into_owned()
}

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";

/// Creates a token here, so that no search for secrets finds one in this file.
fn token(start: &str, length: usize) -> String {
    let letters = "a1B2c3D4e5F6g7H8".chars().cycle();
    start.chars().chain(letters.take(length)).collect()
}

#[test]
fn keys_and_tokens_of_services_are_taken_out() {
    let web = format!(
        "{}.{}.{}",
        token("eyJ", 20),
        token("eyJ", 30),
        token("s", 30)
    );
    for secret in [
        token("sk-", 30),
        token("sk-proj-", 60),
        token("sk-ant-api03-", 60),
        token("sk_live_", 24),
        token("rk_test_", 24),
        token("whsec_", 24),
        token("ghp_", 36),
        token("ghr_", 36),
        token("github_pat_", 60),
        token("glpat-", 20),
        token("xoxb-", 40),
        token("xapp-", 40),
        token("hf_", 34),
        token("gsk_", 48),
        token("npm_", 36),
        token("pypi-", 60),
        token("AIza", 35),
        token("ya29.", 60),
        token("GOCSPX-", 28),
        format!("AKIA{}", "IOSFODNN7EXAMPLE"),
        format!("ASIA{}", "IOSFODNN7EXAMPLE"),
        web.clone(),
    ] {
        for (before, behind) in [
            ("", ""),
            ("use ", "."),
            ("(", ")"),
            ("\"", "\""),
            ("x=", "&y"),
            ("a/", "/b"),
            ("https://host/", "?x"),
        ] {
            let text = format!("{before}{secret}{behind}");
            assert_eq!(
                shown(&text),
                format!("{before}[redacted]{behind}"),
                "{text}"
            );
        }
    }
    let cut = web.get(..60).unwrap();
    assert_eq!(shown(cut), "[redacted]");
}

#[test]
fn passwords_in_addresses_are_taken_out() {
    for (text, expected) in [
        (
            "https://ann:hunter2@host/x",
            "https://ann:[redacted]@host/x",
        ),
        (
            "git clone https://ann:h@nt:er@host:8080",
            "git clone https://ann:[redacted]@host:8080",
        ),
        (
            "postgres://ann:hunter2@db:5432/shop",
            "postgres://ann:[redacted]@db:5432/shop",
        ),
        (
            "postgresql://ann:p/w#2@db/shop",
            "postgresql://ann:[redacted]@db/shop",
        ),
        (
            "mysql://ann:hunter2@db/shop",
            "mysql://ann:[redacted]@db/shop",
        ),
        (
            "redis://:hunter2@cache:6379/0",
            "redis://:[redacted]@cache:6379/0",
        ),
        ("amqp://ann:hunter2@queue", "amqp://ann:[redacted]@queue"),
        (
            "\"mongodb+srv://ann:hunter2@c.example/x?y=1\"",
            "\"mongodb+srv://ann:[redacted]@c.example/x?y=1\"",
        ),
        (
            "https://0123456789abcdef0123@host/x.git",
            "https://[redacted]@host/x.git",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_a_name_an_option_or_a_header_calls_a_secret_is_taken_out() {
    for (text, expected) in [
        ("password=hunter2 x", "password=[redacted] x"),
        ("password=hunter x", "password=[redacted] x"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted]"),
        ("password=p@ss!w$rd1, x", "password=[redacted], x"),
        ("password: hunter2", "password: [redacted]"),
        ("password = \"hunter2\"", "password = \"[redacted]\""),
        ("'password' => 'hunter2'", "'password' => '[redacted]'"),
        ("\"api_key\": \"abcd1234\"", "\"api_key\": \"[redacted]\""),
        (
            "{\\\"api_key\\\": \\\"abcd1234\\\"}",
            "{\\\"api_key\\\": \\\"[redacted]\\\"}",
        ),
        ("api_key=abcd1234&x=1", "api_key=[redacted]&x=1"),
        (
            "https://h/?token=abcdef&x=1",
            "https://h/?token=[redacted]&x=1",
        ),
        ("token=a1b2c3d4", "token=[redacted]"),
        ("\"token\": \"abcdefgh\"", "\"token\": \"[redacted]\""),
        (
            "\"authorization_token\": \"abcd1234\"",
            "\"authorization_token\": \"[redacted]\"",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted]",
        ),
        (
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=Zm9vYmFyYmF6+/==;Suffix=y",
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=[redacted];Suffix=y",
        ),
        (
            "SharedAccessKey=Zm9vYmFyYmF6MTI0=",
            "SharedAccessKey=[redacted]",
        ),
        (
            "https://x.blob.example/c?sv=2022&sig=abc%2Bdef%2F0123456789&se=1",
            "https://x.blob.example/c?sv=2022&sig=[redacted]&se=1",
        ),
        (
            "mysqldump --password hunter2 shop",
            "mysqldump --password [redacted] shop",
        ),
        ("x --token=a1b2c3d4 y", "x --token=[redacted] y"),
        ("x --api-key abcdefgh y", "x --api-key [redacted] y"),
        (
            "curl -u ann:hunter2 https://h",
            "curl -u ann:[redacted] https://h",
        ),
        (
            "curl --user 'ann:hunter2' https://h",
            "curl --user 'ann:[redacted]' https://h",
        ),
        (
            "Authorization: Bearer abcdef0123456789",
            "Authorization: Bearer [redacted]",
        ),
        (
            "Authorization: Basic dXNlcjpwYXNzd29yZA==",
            "Authorization: Basic [redacted]",
        ),
        ("authorization: a1b2c3d4e5", "authorization: [redacted]"),
        (
            "\"Authorization\": \"token a1b2c3d4e5\"",
            "\"Authorization\": \"token [redacted]\"",
        ),
        ("X-Api-Key: a1b2c3d4e5", "X-Api-Key: [redacted]"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn private_keys_are_taken_out_and_so_is_one_that_is_cut_off() {
    for (text, expected) in [
        (format!("a\n{PEM}\nb"), "a\n[redacted]\nb"),
        (PEM.get(..40).unwrap().to_owned(), "[redacted]"),
        (
            format!("-----BEGIN it\n{PEM} and {PEM}"),
            "-----BEGIN it\n[redacted] and [redacted]",
        ),
        (
            format!("{{\"private_key\": \"{}\"}}", PEM.replace('\n', "\\n")),
            "{\"private_key\": \"[redacted]\"}",
        ),
    ] {
        assert_eq!(shown(&text), expected, "{text}");
    }
}

#[test]
fn values_of_variables_are_taken_out() {
    let values = ["my-secret-value".to_owned(), "redacted".to_owned()];
    assert_eq!(hidden("a my-secret-value b", &values), "a [redacted] b");
    assert_eq!(hidden("a [redacted] b", &values), "a [redacted] b");
}

/// Texts that must stay as they are: programs, prose, sums and names that only
/// look like secrets.
const ORDINARY: &[&str] = &[
    "The password, please: it is wrong",
    "Enter your password: it must be long",
    "\"password\": \"Enter your password\"",
    "A basic understanding, a bearer of good news: Bearer tokens are explained below",
    "sk-short",
    "sk-learn-contrib-extra-packages",
    "fn api_key(name: &str) -> Option<String>",
    "let token = lexer.next_token();",
    "let token: Token = tokens[0];",
    "token: String, secret: bool, password: Option<String>",
    "connect(password=password, token=self.token, api_key=api_key)",
    "client(api_key=os.environ[\"KEY\"], token=get_token())",
    "if password == other { return token }",
    "\"max_tokens\": 4096, \"token\": 57, \"tokens\": [1, 2]",
    "{\"password\": {\"type\": \"string\"}, \"token\": \"string\"}",
    "password=$PASSWORD token=${TOKEN} api_key={{ api_key }} secret=<secret> password=****",
    "https://user:$PASSWORD@host ssh://git@github.com/a/b https://host/a:b@c http://[::1]:80/",
    "docker run -u 1000:1000 image",
    "-----BEGIN CERTIFICATE-----",
    "checksum = \"a42a11b47492e6a2cc76e9c7bcc8077776cb31dac444e0795d7f61bcc6441c08\"",
    "\"integrity\": \"sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==\"",
    "--hash=sha256:2c9a2f3b5c1d4e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7",
    "commit ca4ee92f0d1b2c3a4958677685a4b3c2d1e0f9a8",
    "123e4567-e89b-12d3-a456-426614174000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "eyJhIjogMX0",
    "primary_key = id, cache_key=abc123, keyboard: qwerty12",
    "src/token.rs:12: fn secret() {}",
    "sig=abc",
    "",
];

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in ORDINARY {
        let shown = hidden(text, &[]);
        assert!(matches!(shown, Cow::Borrowed(_)), "{text}: {shown}");
    }
}

/// A search with backtracking would take hours for these.
#[test]
fn long_texts_take_time_in_proportion_to_their_length() {
    for piece in [
        "eyJaaaaaaaaa.",
        "-----BEGIN ",
        "a://",
        "x:y@",
        "password=",
        "password=\"",
        "sk-",
        "--password ",
        "Authorization: ",
        "curl -u ",
        "\\\"",
        "token: ",
        "AKIA/",
        "Bearer ",
    ] {
        let long = piece.repeat(100_000 / piece.len());
        let _ = shown(&long);
    }
}

/// Pieces that secrets are made of.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "password",
            "token",
            "api_key",
            "secret",
            "Authorization",
            "Bearer",
            "Basic",
            "=",
            ":",
            ": ",
            " ",
            "\"",
            "'",
            "\\\"",
            "--password",
            "--token",
            "https://",
            "postgres://",
            "@",
            "user:",
            "curl -u ",
            "sk-",
            "ghp_",
            "AKIA",
            "eyJ",
            ".",
            "a1B2c3D4e5F6g7H8i9J0",
            "[redacted]",
            "redacted",
            "[",
            "]",
            "&",
            "?sig=",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "\n",
            "é",
            "$X",
            "=>",
            "==",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn to_redact_again_changes_nothing(text in pieces()) {
        let once = shown(&text);
        prop_assert_eq!(shown(&once), once);
    }

    #[test]
    fn words_without_a_sign_of_a_secret_stay(text in "[a-z ,.()\n]{0,200}") {
        prop_assert_eq!(shown(&text), text);
    }
}
