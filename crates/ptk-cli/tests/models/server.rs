//! A test server: it answers one connection after the other as specified, and
//! then ends.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The response on a connection.
pub(crate) struct Answer {
    head: String,
    body: Vec<u8>,
    /// Whether the connection stays open until the client has gone.
    is_held: bool,
}

impl Answer {
    pub(crate) fn new(head: impl Into<String>, body: &[u8]) -> Self {
        Self {
            head: head.into(),
            body: body.to_vec(),
            is_held: false,
        }
    }

    /// The whole file.
    pub(crate) fn whole(file: &[u8], tag: &str) -> Self {
        Self::cut(file, tag, file.len())
    }

    /// The whole file, but the connection breaks off.
    pub(crate) fn cut(file: &[u8], tag: &str, at: usize) -> Self {
        let head = format!("200 OK\r\nETag: {tag}\r\nContent-Length: {}", file.len());
        Self::new(head, &file[..at])
    }

    /// The rest of the file.
    pub(crate) fn rest(file: &[u8], tag: &str, from: usize) -> Self {
        Self::part(file, tag, from, file.len())
    }

    /// Some bytes of the file.
    pub(crate) fn part(file: &[u8], tag: &str, from: usize, to: usize) -> Self {
        let head = format!(
            "206 Partial Content\r\nETag: {tag}\r\nContent-Length: {}\r\n\
             Content-Range: bytes {from}-{}/{}",
            to - from,
            to - 1,
            file.len()
        );
        Self::new(head, &file[from..to])
    }

    /// No response at all.
    pub(crate) fn none() -> Self {
        Self::new("", b"")
    }

    pub(crate) fn held(mut self) -> Self {
        self.is_held = true;
        self
    }
}

pub(crate) struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

/// A connection, encrypted or not.
trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

impl Server {
    /// A server without encryption.
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::begin("http", answers, |stream| Box::new(stream))
    }

    /// A server with a certificate of its own, and the certificate.
    pub(crate) fn secure(answers: impl IntoIterator<Item = Answer>) -> (Self, String) {
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let certificate = own.cert.der().clone();
        let text = STANDARD.encode(&certificate);
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        let server = Self::begin("https", answers, move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            Box::new(StreamOwned::new(connection, stream))
        });
        (server, pem)
    }

    fn begin(
        scheme: &str,
        answers: impl IntoIterator<Item = Answer>,
        open: impl Fn(TcpStream) -> Box<dyn Connection> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{scheme}://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answers: Vec<Answer> = answers.into_iter().collect();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                let mut connection = open(stream);
                let request = request(&mut connection);
                seen.lock().unwrap().push(request);
                reply(&mut connection, &answer);
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }

    /// The heads of the requests, in lower case.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn request(connection: &mut impl Read) -> String {
    let lines = BufReader::new(connection).lines();
    let lines = lines.map_while(Result::ok).take_while(|it| !it.is_empty());
    let lines: Vec<String> = lines.map(|line| line.to_lowercase()).collect();
    lines.join("\n")
}

/// Sends a response; errors are ignored, because the client may disconnect.
fn reply(connection: &mut (impl Read + Write), answer: &Answer) {
    if !answer.head.is_empty() {
        let head = format!("HTTP/1.1 {}\r\nConnection: close\r\n\r\n", answer.head);
        drop(connection.write_all(head.as_bytes()));
        drop(connection.write_all(&answer.body));
        drop(connection.flush());
    }
    if answer.is_held {
        drop(connection.read_to_end(&mut Vec::new()));
    }
}
