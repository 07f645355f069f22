//! Models from an address.

use std::fs;
use std::process::{Child, Output, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::sample::Sample;
use crate::scene::{Scene, assert_fails, sha256, stderr, stdout};
use crate::server::{Answer, Server};

/// A model that differs from the scene's own.
fn model() -> Vec<u8> {
    Sample::model().text("a", "from afar").bytes()
}

/// Another model of the same size.
fn other() -> Vec<u8> {
    Sample::model().text("a", "elsewhere").bytes()
}

impl Scene {
    /// Pulls a model with this SHA-256, as `far`.
    fn pull(&self, url: &str, sha256: &str) -> Output {
        self.run(&["pull", url, "--sha256", sha256, "--name", "far"])
    }

    /// The content of the installed file.
    fn far(&self) -> Vec<u8> {
        let model = self.model("far");
        assert_eq!(model["state"], "whole");
        assert!(!self.partial("far").exists());
        assert_eq!(self.unfinished(), 0);
        fs::read(model["path"].as_str().unwrap()).unwrap()
    }

    /// Starts a pull, and waits until it has fetched this much.
    fn waiting(&self, url: &str, sha256: &str, size: usize) -> Child {
        let mut command = self.command(&["pull", url, "--sha256", sha256, "--name", "far"]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        while self.fetched("far").is_none_or(|it| it.len() < size) {
            thread::yield_now();
        }
        child
    }

    /// Checks that nothing was installed or kept.
    fn assert_nothing(&self) {
        assert!(self.model("far").is_null());
        assert!(!self.partial("far").exists());
        assert_eq!(self.unfinished(), 0);
    }
}

#[track_caller]
fn assert_here(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    assert!(stdout(output).starts_with("far is here now: "));
}

#[test]
fn a_file_is_fetched_from_its_address_and_called_as_there() {
    let scene = Scene::new();
    let model = model();
    let server = Server::new([Answer::whole(&model, "\"a\"")]);
    let url = server.url("some/My%20model.Q4_0.gguf?download=secret");
    let digest = sha256(&model).to_uppercase();
    let output = scene.run(&["pull", &url, "--sha256", &digest]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("My-model.Q4_0 is here now: 1.2 kB, mit, SHA-256 "));
    let shown = server.url("some/My%20model.Q4_0.gguf");
    assert!(stderr(&output).starts_with(&format!("Fetching {shown}\n")));
    let row = scene.model("My-model.Q4_0");
    assert_eq!(row["source"], shown);
    assert_eq!(row["parameters"], 1056);
    assert_eq!(fs::read(row["path"].as_str().unwrap()).unwrap(), model);
    let request = &server.requests()[0];
    assert!(request.starts_with("get /some/my%20model.q4_0.gguf?download=secret http/1.1"));
    assert!(!request.contains("range:"));
    // The server is gone, and not needed.
    let again = scene.run(&["pull", &url, "--sha256", &digest]);
    assert!(stdout(&again).starts_with("My-model.Q4_0 is here already, every byte of it: "));
}

#[test]
fn a_download_that_breaks_off_goes_on_at_once_wherever_it_was() {
    let scene = Scene::new();
    let model = model();
    let tag = "\"v1\"";
    // Also within the magic bytes.
    let cuts = [1, 3, 4, 300, 700, model.len()];
    let mut answers = vec![Answer::cut(&model, tag, cuts[0])];
    let parts = cuts.windows(2);
    answers.extend(parts.map(|part| Answer::part(&model, tag, part[0], part[1])));
    let server = Server::new(answers);
    assert_here(&scene.pull(&server.url("a.gguf"), &sha256(&model)));
    assert_eq!(scene.far(), model);
    let requests = server.requests();
    for (request, from) in requests[1..].iter().zip(cuts) {
        assert!(request.contains(&format!("\nrange: bytes={from}-")));
        assert!(request.contains("\nif-range: \"v1\""));
    }
}

#[test]
fn a_server_that_breaks_off_again_and_again_is_left_for_later() {
    let scene = Scene::new();
    let model = model();
    let mut answers = vec![Answer::cut(&model, "\"v1\"", 1)];
    answers.extend((1..20).map(|at| Answer::part(&model, "\"v1\"", at, at + 1)));
    answers.push(Answer::rest(&model, "\"v1\"", 20));
    let server = Server::new(answers);
    let (url, digest) = (server.url("a.gguf"), sha256(&model));
    let told = ["the connection broke off 20 times", "20 B are kept. "];
    assert_fails(&scene.pull(&url, &digest), 1, &told);
    assert_here(&scene.pull(&url, &digest));
    assert_eq!(scene.far(), model);
}

#[test]
fn a_download_that_failed_goes_on_with_the_next_pull() {
    let scene = Scene::new();
    let model = model();
    let server = Server::new([
        Answer::cut(&model, "\"v1\"", 300),
        Answer::none(),
        Answer::rest(&model, "\"v1\"", 300),
    ]);
    let (url, digest) = (server.url("a.gguf?key=secret"), sha256(&model));
    let output = scene.pull(&url, &digest);
    assert_fails(
        &output,
        1,
        &[
            "/a.gguf could not be fetched: ",
            "look at the network and at the proxy",
            "300 B are kept. The same command goes on from there",
        ],
    );
    assert!(!stderr(&output).contains("secret"));
    let list = stdout(&scene.run(&["list"]));
    let told = format!("far: 300 B of 1.2 kB from {}\n", server.url("a.gguf"));
    assert!(list.contains(&told), "{list}");
    let row = scene.model("far");
    assert_eq!(
        (&row["state"], &row["fetched"]),
        (&"unfinished".into(), &300.into())
    );
    let output = scene.pull(&url, &digest);
    assert_here(&output);
    assert!(stderr(&output).contains("; 300 B of it are here already\n"));
    assert_eq!(scene.far(), model);
    assert!(server.requests()[2].contains("\nif-range: \"v1\""));
}

#[test]
fn a_pull_that_is_stopped_goes_on_later_and_one_that_was_whole_needs_no_server() {
    let scene = Scene::new();
    let model = model();
    let digest = sha256(&model);
    let server = Server::new([
        Answer::cut(&model, "\"v1\"", 300).held(),
        Answer::part(&model, "\"v1\"", 300, 600).held(),
    ]);
    let url = server.url("a.gguf");
    let child = scene.waiting(&url, &digest, 300);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_fails(&output, 130, &["Interrupted; 300 B are kept. "]);
    let mut child = scene.waiting(&url, &digest, 600);
    child.kill().unwrap();
    child.wait().unwrap();
    // Killed when everything was fetched.
    let part = scene.partial("far").join(format!("{digest}.part"));
    fs::write(part, &model).unwrap();
    assert_here(&scene.pull(&url, &digest));
    assert_eq!(scene.far(), model);
}

#[test]
fn a_server_that_knows_no_ranges_sends_everything_again() {
    let scene = Scene::new();
    let model = model();
    let server = Server::new([
        Answer::cut(&model, "W/\"weak\"", 300),
        Answer::whole(&model, "W/\"weak\""),
    ]);
    assert_here(&scene.pull(&server.url("a.gguf"), &sha256(&model)));
    assert_eq!(scene.far(), model);
    // A weak tag does not identify the bytes.
    assert!(!server.requests()[1].contains("if-range"));
}

#[test]
fn a_file_that_changes_between_two_answers_is_fetched_anew() {
    let (old, new) = (other(), model());
    let ways = [
        // The server honours the tag.
        vec![Answer::whole(&new, "\"v2\"")],
        // The server ignores it, and the two halves do not match.
        vec![
            Answer::rest(&new, "\"v2\"", 300),
            Answer::whole(&new, "\"v2\""),
        ],
        // The partial file is longer than the new file.
        vec![
            Answer::new("416 Range Not Satisfiable", b""),
            Answer::whole(&new, "\"v2\""),
        ],
        // The server sends another range than requested.
        vec![
            Answer::rest(&new, "\"v2\"", 200),
            Answer::whole(&new, "\"v2\""),
        ],
    ];
    for way in ways {
        let scene = Scene::new();
        let mut answers = vec![Answer::cut(&old, "\"v1\"", 300)];
        answers.extend(way);
        let server = Server::new(answers);
        assert_here(&scene.pull(&server.url("a.gguf"), &sha256(&new)));
        assert_eq!(scene.far(), new);
    }
}

#[test]
fn what_is_not_the_file_that_was_wanted_is_not_kept() {
    let scene = Scene::new();
    let server = Server::new([
        Answer::whole(&other(), "\"a\""),
        Answer::new("200 OK", b"\n<!DOCTYPE html><html>Log in</html>"),
        Answer::new("200 OK", b"version https://git-lfs.github.com/spec/v1"),
        Answer::new("200 OK", b"GG no model"),
    ]);
    let (url, digest) = (server.url("a.gguf"), sha256(&model()));
    for told in [
        "is not the file that you want: its SHA-256 is ",
        "is not a GGUF file, but a web page",
        "is not a GGUF file, but a pointer of Git LFS",
        "is not a GGUF file, but something else",
    ] {
        assert_fails(&scene.pull(&url, &digest), 1, &[told]);
        scene.assert_nothing();
    }
    // The right SHA-256 of a file that only begins like a model.
    let damaged = &model()[..700];
    let server = Server::new([Answer::whole(damaged, "\"a\"")]);
    let output = scene.pull(&server.url("a.gguf"), &sha256(damaged));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    scene.assert_nothing();
}

#[test]
fn a_server_that_refuses_is_told_with_what_to_do() {
    let scene = Scene::new();
    for (head, told) in [
        (
            "404 Not Found",
            "there is no such file; look at the address again",
        ),
        ("403 Forbidden", "it is not for everybody"),
        (
            "503 Service Unavailable",
            "run the same command again later",
        ),
        (
            "302 Found\r\nLocation: http://192.0.2.1/a.gguf?key=secret",
            "the server sent us to http://192.0.2.1/a.gguf, which is not https",
        ),
        (
            "200 OK\r\nContent-Length: 1152921504606846976",
            " MB are needed while it is fetched; make room",
        ),
    ] {
        let server = Server::new([Answer::new(head, b"")]);
        let output = scene.pull(&server.url("a.gguf"), &"0".repeat(64));
        assert_fails(&output, 1, &[told]);
        assert!(!stderr(&output).contains("secret"));
        scene.assert_nothing();
    }
}

#[test]
fn a_redirect_is_followed_and_what_broke_off_goes_on_through_it() {
    let scene = Scene::new();
    let model = model();
    let store = Server::new([
        Answer::cut(&model, "\"v1\"", 300),
        Answer::rest(&model, "\"v1\"", 300),
    ]);
    let sent_on = || {
        let to = store.url("blobs/1?signature=secret");
        Answer::new(format!("302 Found\r\nLocation: {to}"), b"")
    };
    let server = Server::new([sent_on(), sent_on()]);
    let url = server.url("resolve/main/a.gguf");
    assert_here(&scene.pull(&url, &sha256(&model)));
    assert_eq!(scene.far(), model);
    assert_eq!(scene.model("far")["source"], url);
    assert!(store.requests()[1].contains("\nrange: bytes=300-"));
}

#[test]
fn a_redirect_from_https_to_http_is_refused() {
    let scene = Scene::new();
    let model = model();
    let plain = Server::new([Answer::whole(&model, "\"a\"")]);
    let to = plain.url("a.gguf");
    let sent_on = Answer::new(format!("302 Found\r\nLocation: {to}"), b"");
    let (server, certificate) = Server::secure([sent_on, Answer::whole(&model, "\"a\"")]);
    let authority = scene.file("authority.pem", certificate.as_bytes());
    let (url, digest) = (server.url("a.gguf"), sha256(&model));
    let pull = || {
        let mut command = scene.command(&["pull", &url, "--sha256", &digest, "--name", "far"]);
        command.env("SSL_CERT_FILE", &authority).output().unwrap()
    };
    let told = format!("the server sent us to {to}, which is not https; use the address");
    assert_fails(&pull(), 1, &[&told]);
    assert!(plain.requests().is_empty());
    scene.assert_nothing();
    assert_here(&pull());
    assert_eq!(scene.far(), model);
}

#[test]
fn an_untrusted_certificate_is_refused() {
    let scene = Scene::new();
    let (server, _) = Server::secure([Answer::whole(&model(), "\"a\"")]);
    let output = scene.pull(&server.url("a.gguf"), &sha256(&model()));
    assert_fails(
        &output,
        1,
        &["name the file of its certificate in the variable SSL_CERT_FILE"],
    );
    scene.assert_nothing();
}

#[test]
fn a_proxy_is_asked_for_other_machines() {
    let scene = Scene::new();
    let proxy = Server::new([Answer::new("403 Forbidden", b"")]);
    let url = "https://models.invalid/a.gguf";
    let mut command = scene.command(&["pull", url, "--sha256", &"0".repeat(64)]);
    let command = command
        .env("HTTPS_PROXY", proxy.url(""))
        .env_remove("https_proxy")
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    assert_fails(&command.output().unwrap(), 1, &["could not be fetched: "]);
    assert!(proxy.requests()[0].starts_with("connect models.invalid:443 "));
}

#[test]
fn nothing_is_fetched_without_a_hash_or_where_others_could_change_it() {
    let scene = Scene::new();
    let digest = "0".repeat(64);
    let url = "https://models.invalid/a.gguf";
    let with = |args: &[&str], told: &str| {
        let mut all = vec!["pull"];
        all.extend(args);
        assert_fails(&scene.run(&all), 2, &[told]);
    };
    with(
        &[url],
        "a file from an address needs its SHA-256: add --sha256 HEX. Take it from",
    );
    with(
        &[url, "--sha256", "abc"],
        "`abc` is not a SHA-256: that is 64 hexadecimal digits",
    );
    let http = "http://me:secret@models.invalid/a.gguf?key=secret";
    let told = "http://models.invalid/a.gguf is not fetched: it takes an https:// address";
    with(&[http, "--sha256", &digest], told);
    with(
        &["ftp://h/a.gguf", "--sha256", &digest],
        "ftp://h/a.gguf is not fetched",
    );
    with(
        &["https://", "--sha256", &digest],
        "`https://` is not an address",
    );
    with(
        &["https://h/", "--sha256", &digest],
        "give it a name with --name",
    );
    with(
        &[url, "--sha256", &digest, "--name", "../out"],
        "`../out` cannot be a model's name",
    );
    with(
        &["tiny", "--sha256", &digest],
        "--sha256 and --name are for the address of a file",
    );
    // Another model has the name.
    assert!(scene.run(&["pull", "tiny"]).status.success());
    let output = scene.run(&["pull", url, "--sha256", &digest, "--name", "tiny"]);
    assert_fails(&output, 1, &["there is another model `tiny` already"]);
    let mut elsewhere = scene.command(&["pull", url, "--sha256", &digest]);
    let output = elsewhere.env("PTK_MODELS", "/sys/models").output().unwrap();
    assert_fails(&output, 1, &["/sys/models cannot be written to"]);
}
