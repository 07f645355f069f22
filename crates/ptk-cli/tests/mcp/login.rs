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
    begin_with(scene, &[], &[])
}

/// The same, with further options and variables of the environment.
fn begin_with(
    scene: &Scene,
    options: &[&str],
    variables: &[(&str, &str)],
) -> (Child, String, BufReader<std::process::ChildStderr>) {
    let command = ["mcp", "login", "test", "--no-browser"];
    let mut login = scene.spawn_with(&[command.as_slice(), options].concat(), variables);
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

/// Logs in, as a user does.
fn log_in(scene: &Scene, options: &[&str], variables: &[(&str, &str)]) {
    let (mut login, url, _lines) = begin_with(scene, options, variables);
    let shown = browse(&url);
    assert!(shown.contains("You are logged in"), "{shown}");
    assert!(login.wait().unwrap().success());
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
    log_in(&scene, &[], &[]);
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

#[test]
fn the_server_says_where_to_log_in_and_what_to_ask_for() {
    let authority = Authority::start();
    {
        let mut state = authority.state.lock().unwrap();
        state.is_elsewhere = true;
        state.suggested = Some("files:read".to_owned());
    }
    let scene = scene(&authority);
    log_in(&scene, &[], &[]);
    assert_eq!(authority.state.lock().unwrap().granted, "files:read");
    // Both are kept: the next connection does not ask where to log in.
    let tested = scene.tested();
    assert_eq!(tested["connected"], true, "{tested}");
}

#[test]
fn a_login_that_allows_too_little_is_told_and_can_be_widened() {
    let authority = Authority::start();
    {
        let mut state = authority.state.lock().unwrap();
        state.suggested = Some("files:read".to_owned());
        state.needed = Some("files:write".to_owned());
    }
    let scene = scene(&authority);
    log_in(&scene, &[], &[]);
    let call = ["tools", "call", "test__secret", "{}", "--approve", "auto"];
    let (code, out, err) = scene.run(&call);
    let told = format!("{out}{err}");
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("your login does not allow this"), "{told}");
    assert!(
        told.contains("ptk mcp login test --scopes files:read,files:write"),
        "{told}"
    );
    let result = scene.call("test__secret", "{}");
    assert_eq!(result["error_type"], "permission_error", "{result}");
    log_in(&scene, &["--scopes", "files:read,files:write"], &[]);
    let result = scene.call("test__secret", "{}");
    assert_eq!(result["content"], "done", "{result}");
}

#[test]
fn a_client_that_was_given_a_secret_refreshes_with_it() {
    let authority = Authority::start();
    {
        let mut state = authority.state.lock().unwrap();
        state.client = Some(("registered".to_owned(), "hush".to_owned()));
        state.lifetime = 1;
    }
    let scene = scene(&authority);
    log_in(&scene, &[], &[]);
    // Twice: what is kept after a refresh has the secret as well.
    for refreshed in 1..=2 {
        let tested = scene.tested();
        assert_eq!(tested["connected"], true, "{tested}");
        assert!(authority.state.lock().unwrap().refreshed >= refreshed);
    }
}

#[test]
fn a_client_that_was_registered_by_hand_has_its_secret_in_a_variable() {
    let authority = Authority::start();
    {
        let mut state = authority.state.lock().unwrap();
        state.client = Some(("mine".to_owned(), "hush".to_owned()));
        state.registers = false;
    }
    let scene = scene(&authority);
    let (code, _, err) = scene.run(&["mcp", "login", "test", "--no-browser"]);
    assert_eq!(code, 1);
    assert!(err.contains("give its id with --client-id"), "{err}");
    let options = ["--client-id", "mine", "--client-secret-env", "TEST_SECRET"];
    let unset = [["mcp", "login", "test"].as_slice(), &options].concat();
    let (code, _, err) = scene.run(&unset);
    assert_eq!(code, 1);
    assert!(err.contains("TEST_SECRET is not set"), "{err}");
    log_in(&scene, &options, &[("TEST_SECRET", "hush")]);
    assert_eq!(scene.tested()["connected"], true);
}
