//! Logins to servers, with an authorization server of the tests.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;

use crate::authority::Authority;
use crate::scene::Scene;

fn scene(authority: &Authority) -> Scene {
    let scene = Scene::empty();
    scene.write_config(&format!("[mcp.servers.test]\nurl = {:?}\n", authority.url));
    scene
}

/// Begins a login, and returns the address that the user is to open.
fn begin(scene: &Scene) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let mut login = scene.spawn(&["mcp", "login", "test", "--no-browser"]);
    let mut lines = BufReader::new(login.stderr.take().unwrap());
    let mut line = String::new();
    while !line.trim_start().starts_with("http") {
        line.clear();
        assert_ne!(
            lines.read_line(&mut line).unwrap(),
            0,
            "no address was shown"
        );
    }
    (login, line.trim().to_owned(), lines)
}

/// What the browser shows in the end.
fn browse(url: &str) -> String {
    ptk_http::choose_cryptography();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() })
}

#[test]
fn a_login_is_kept_and_refreshed() {
    let authority = Authority::start();
    authority.state.lock().unwrap().lifetime = 1;
    let scene = scene(&authority);
    let (code, out, _) = scene.run(&["mcp", "test"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("it wants a login\n  To log in: ptk mcp login test"),
        "{out}"
    );
    let (mut login, url, _lines) = begin(&scene);
    assert!(browse(&url).contains("You are logged in"));
    assert!(login.wait().unwrap().success());
    let file = scene.path("config/ptk/keys.json");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("access-1") && text.contains(&authority.url),
        "{text}"
    );
    // It is about to expire, so it is refreshed first.
    let tested = scene.tested();
    assert_eq!(tested["connected"], true, "{tested}");
    assert!(authority.state.lock().unwrap().refreshed > 0);
    let (code, _, err) = scene.run(&["mcp", "logout", "test"]);
    assert_eq!(code, 0, "{err}");
    assert!(!fs::read_to_string(&file).unwrap().contains("access"));
    assert_eq!(scene.tested()["connected"], false);
}

#[test]
fn an_answer_of_another_issuer_is_refused() {
    let authority = Authority::start();
    authority.state.lock().unwrap().issuer = Some("https://evil.example".to_owned());
    let scene = scene(&authority);
    let (mut login, url, mut lines) = begin(&scene);
    assert!(browse(&url).contains("The login has failed"));
    assert_eq!(login.wait().unwrap().code(), Some(1));
    let mut told = String::new();
    lines.read_to_string(&mut told).unwrap();
    assert!(told.contains("issuer mismatch"), "{told}");
    assert_eq!(authority.state.lock().unwrap().given, 0);
    assert!(!scene.path("config/ptk/keys.json").exists());
}

#[test]
fn an_answer_to_another_question_is_refused() {
    let authority = Authority::start();
    let scene = scene(&authority);
    let (mut login, url, _lines) = begin(&scene);
    let state = url
        .split("state=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let text = browse(&url.replace(state, "forged"));
    assert!(text.contains("The login has failed"), "{text}");
    assert_eq!(login.wait().unwrap().code(), Some(1));
    assert_eq!(authority.state.lock().unwrap().given, 0);
}

#[test]
fn programs_take_no_login() {
    let scene = Scene::with("plain");
    let (code, _, err) = scene.run(&["mcp", "login", "test"]);
    assert_eq!(code, 1);
    assert!(err.contains("a program takes no login"), "{err}");
}
