//! Usual values of parameters with common names.

use super::Variant;

type Entry = (&'static [&'static str], [&'static str; 2]);

/// Texts by words, matched against the words of a parameter's name, its last
/// word first.
const TEXTS: &[Entry] = &[
    (
        &["path", "file", "filename", "filepath"],
        ["src/main.rs", "README.md"],
    ),
    (
        &["directory", "dir", "folder", "cwd", "root", "workspace"],
        ["src", "tests"],
    ),
    (&["glob", "pattern", "include"], ["**/*.rs", "*.md"]),
    (&["regex", "regexp"], ["TODO", "fn main"]),
    (
        &["query", "search", "keyword", "term", "hint", "question"],
        ["parse config", "error handling"],
    ),
    (&["command", "cmd", "script"], ["cargo test", "ls -la"]),
    (
        &["url", "uri", "link", "endpoint", "website", "href"],
        ["https://example.com/docs", "https://example.com/news"],
    ),
    (&["content", "contents"], ["Hello, world!\n", "# Notes\n"]),
    (
        &[
            "text", "body", "message", "comment", "note", "input", "prompt",
        ],
        ["See you at noon.", "The build is green."],
    ),
    (
        &["code", "source", "snippet"],
        ["fn main() {}", "print(1 + 1)"],
    ),
    (&["old"], ["let limit = 10;", "debug = true"]),
    (&["new"], ["let limit = 20;", "debug = false"]),
    (&["city", "town"], ["Paris", "Tokyo"]),
    (
        &[
            "location",
            "place",
            "destination",
            "region",
            "area",
            "where",
        ],
        ["Paris, France", "Tokyo, Japan"],
    ),
    (&["origin", "from", "start"], ["Lyon", "Osaka"]),
    (&["to", "end"], ["Paris", "Tokyo"]),
    (
        &["address", "street"],
        ["12 Rue de Rivoli, Paris", "5 Main Street, Boston"],
    ),
    (&["country", "nationality"], ["France", "Japan"]),
    (&["state", "province"], ["California", "Bavaria"]),
    (&["zip", "postcode", "postal"], ["75001", "10115"]),
    (
        &["email", "mail", "recipient", "sender"],
        ["ana@example.com", "li@example.com"],
    ),
    (&["phone", "mobile"], ["+33 1 23 45 67 89", "+49 30 123456"]),
    (
        &["user", "username", "login", "owner", "author"],
        ["ana", "li"],
    ),
    (
        &["date", "day", "deadline", "birthday"],
        ["2025-03-14", "2025-04-01"],
    ),
    (&["time", "hour"], ["09:30", "18:00"]),
    (
        &["datetime", "timestamp", "when"],
        ["2025-03-14T09:30:00Z", "2025-04-01T18:00:00Z"],
    ),
    (&["timezone", "tz"], ["Europe/Paris", "Asia/Tokyo"]),
    (&["language", "lang", "locale"], ["en", "fr"]),
    (&["currency"], ["EUR", "USD"]),
    (&["unit", "units"], ["metric", "imperial"]),
    (
        &["title", "subject", "headline", "topic"],
        ["Weekly report", "Release notes"],
    ),
    (
        &["description", "summary", "reason", "purpose"],
        ["Fix the login page", "Plan the trip"],
    ),
    (
        &["id", "identifier", "uuid", "key", "handle"],
        ["a1b2c3", "d4e5f6"],
    ),
    (&["tag", "label", "category", "genre"], ["travel", "music"]),
    (&["color", "colour"], ["blue", "green"]),
    (&["symbol", "ticker", "stock"], ["AAPL", "MSFT"]),
    (&["company", "organization", "brand"], ["Acme", "Globex"]),
    (&["product", "item", "model"], ["desk lamp", "notebook"]),
    (
        &["song", "track", "album", "movie", "film", "book"],
        ["Blue Train", "Kind of Blue"],
    ),
    (
        &["expression", "formula", "equation", "function"],
        ["2 * x + 1", "x * x"],
    ),
    (&["variable", "symbolic"], ["x", "y"]),
    (&["branch", "ref"], ["main", "develop"]),
    (
        &["repo", "repository", "project"],
        ["acme/website", "acme/api"],
    ),
    (&["version"], ["1.2.0", "2.0.0"]),
    (&["encoding", "charset"], ["utf-8", "latin1"]),
    (&["extension", "suffix"], ["rs", "md"]),
    (
        &["sql", "statement"],
        ["SELECT name FROM users", "SELECT count(*) FROM orders"],
    ),
    (&["database", "table", "collection"], ["users", "orders"]),
    (
        &["host", "hostname", "server", "domain"],
        ["example.com", "localhost"],
    ),
    (&["name"], ["Ana Silva", "Li Wei"]),
];

/// The texts where no word of the name is known.
const OTHER_TEXT: [&str; 2] = ["main", "demo"];

const NUMBERS: &[(&[&str], [f64; 2])] = &[
    (&["limit", "max", "size", "results", "top"], [10.0, 20.0]),
    (&["offset", "skip", "index"], [0.0, 20.0]),
    (&["line", "page", "start", "from", "id"], [1.0, 2.0]),
    (&["end", "to"], [40.0, 80.0]),
    (&["timeout", "seconds", "duration"], [30.0, 60.0]),
    (&["year"], [2025.0, 2024.0]),
    (&["month"], [3.0, 4.0]),
    (&["day", "days"], [14.0, 7.0]),
    (&["hour", "hours"], [9.0, 18.0]),
    (&["age"], [30.0, 42.0]),
    (&["port"], [8080.0, 3000.0]),
    (&["price", "amount", "cost", "budget"], [100.0, 250.0]),
    (&["lat", "latitude"], [48.85, 35.68]),
    (&["lon", "lng", "longitude"], [2.35, 139.69]),
    (&["temperature", "rate", "ratio"], [0.7, 0.2]),
    (&["width", "length", "base"], [8.0, 6.0]),
    (&["height", "depth"], [5.0, 4.0]),
    (&["radius"], [4.0, 2.0]),
];

/// The numbers where no word of the name is known.
const OTHER_NUMBER: [f64; 2] = [3.0, 5.0];

/// A text for a parameter of this name.
pub(super) fn text(name: &str, description: &str, variant: Variant) -> &'static str {
    let about_regex = ["regex", "regular expression"]
        .iter()
        .any(|word| description.to_ascii_lowercase().contains(word));
    let name = if about_regex { "regex" } else { name };
    let found = find(name, TEXTS).unwrap_or(&OTHER_TEXT);
    pick(found, variant).unwrap_or("main")
}

/// A number for a parameter of this name.
pub(super) fn number(name: &str, variant: Variant) -> f64 {
    let found = find(name, NUMBERS).unwrap_or(&OTHER_NUMBER);
    pick(found, variant).unwrap_or(1.0)
}

/// A text of one of JSON Schema's formats.
pub(super) fn format(format: &str, variant: Variant) -> Option<&'static str> {
    let values: [&'static str; 2] = match format {
        "date" => ["2025-03-14", "2025-04-01"],
        "date-time" => ["2025-03-14T09:30:00Z", "2025-04-01T18:00:00Z"],
        "time" => ["09:30:00Z", "18:00:00Z"],
        "duration" => ["PT30M", "P1D"],
        "email" | "idn-email" => ["ana@example.com", "li@example.com"],
        "uri" | "url" | "iri" => ["https://example.com/docs", "https://example.com/news"],
        "uuid" => [
            "7f1c1a52-7c1b-4c8e-9d55-0f6f3a1f2b3c",
            "0b9d2c64-58a3-4f0e-8a44-2d1e6c7b8a90",
        ],
        "ipv4" => ["192.168.0.10", "10.0.0.1"],
        "ipv6" => ["2001:db8::1", "2001:db8::2"],
        "hostname" | "idn-hostname" => ["example.com", "localhost"],
        "regex" => ["TODO", "fn main"],
        _ => return None,
    };
    pick(&values, variant)
}

fn pick<T: Copy>(values: &[T; 2], variant: Variant) -> Option<T> {
    variant.pick(values).copied()
}

fn find<T>(name: &str, table: &'static [(&[&str], [T; 2])]) -> Option<&'static [T; 2]> {
    let words = words(name);
    words.iter().rev().find_map(|word| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        table
            .iter()
            .find(|(known, _)| known.contains(&word.as_str()) || known.contains(&singular))
            .map(|(_, values)| values)
    })
}

/// The words of a name in `snake_case`, `kebab-case` or `camelCase`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let starts_word = c.is_uppercase() && after_lower;
        if !c.is_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
