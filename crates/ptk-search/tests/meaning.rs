//! The index by meaning, beside the index by words.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod small_table;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptk_sandbox::Workspace;
use ptk_search::embed::{EmbedError, Embedder, Table};
use ptk_search::{
    Filter, Hit, Index, IndexError, Meaning, Query, Report, SearchError, Searcher, Which,
};
use tempfile::TempDir;

/// A workspace, a place for its index, and a model.
struct Scene {
    folder: TempDir,
}

/// The meanings of words: those with the same number are synonyms.
const MEANINGS: [(&str, usize); 7] = [
    ("▁remove", 0),
    ("▁delete", 0),
    ("▁erase", 0),
    ("▁read", 1),
    ("▁load", 1),
    ("▁user", 2),
    ("▁account", 2),
];
const DIMENSIONS: usize = 3;

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(scene.root()).unwrap();
        for (path, text) in files {
            scene.write(path, text);
        }
        scene
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn model(&self) -> Arc<Table> {
        Arc::new(small_table::of(&MEANINGS, self.folder.path()))
    }

    fn by_words(&self) -> Index {
        let workspace = Workspace::open(self.root()).unwrap();
        Index::new(self.folder.path().join("index"), workspace)
    }

    fn index(&self) -> Index {
        self.by_words().with_embedder(self.model())
    }

    fn vectors(&self) -> PathBuf {
        self.folder.path().join("index/vectors")
    }
}

fn update(index: &Index) -> Report {
    index.update(&AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn ask(searcher: &Searcher, text: &str, which: Which) -> Vec<Hit> {
    let query = Query {
        which,
        ..Query::new(text)
    };
    searcher.search(&query).unwrap()
}

fn symbols(hits: &[Hit]) -> Vec<&str> {
    hits.iter()
        .filter_map(|hit| hit.symbol.as_deref())
        .collect()
}

const FILES: [(&str, &str); 3] = [
    ("a.py", "def remove_user(name):\n    drop(name)\n"),
    ("b.py", "def load_file(name):\n    return name\n"),
    ("c.py", "def other(thing):\n    pass\n"),
];

#[test]
fn what_means_the_same_is_found_whatever_it_is_called() {
    let scene = Scene::new(&FILES);
    let index = scene.index();
    let report = update(&index);
    assert_eq!((report.chunks, report.embedded), (3, 3));
    let searcher = index.searcher().unwrap();
    assert_eq!(searcher.meaning(), Meaning::Whole);
    let question = "erase an account";
    assert!(ask(&searcher, question, Which::Lexical).is_empty());
    for which in [Which::Dense, Which::Both] {
        let hits = ask(&searcher, question, which);
        assert_eq!(symbols(&hits), ["remove_user"], "{which:?}");
        assert_eq!((hits[0].lexical_rank, hits[0].dense_rank), (None, Some(1)));
    }
    // Found by both lists.
    let hits = ask(&searcher, "read the name of the user", Which::Both);
    assert_eq!(hits[0].dense_rank.and(hits[0].lexical_rank), Some(1));
    let rank = |rank: Option<usize>| rank.map_or(0.0, |rank| 1.0 / (60.0 + rank as f32));
    for hit in hits {
        let score = rank(hit.lexical_rank) + rank(hit.dense_rank);
        assert!((hit.score - score).abs() < 1e-6, "{hit:?}");
    }
}

#[test]
fn without_a_model_words_are_enough_and_it_is_told() {
    let scene = Scene::new(&FILES);
    let index = scene.by_words();
    assert_eq!(update(&index).embedded, 0);
    let searcher = index.searcher().unwrap();
    assert_eq!(searcher.meaning(), Meaning::NoModel);
    assert_eq!(
        symbols(&ask(&searcher, "remove user", Which::Both)),
        ["remove_user"]
    );
    let query = Query {
        which: Which::Dense,
        ..Query::new("remove user")
    };
    let error = searcher.search(&query).unwrap_err();
    assert!(matches!(error, SearchError::NoMeaning(Meaning::NoModel)));
    assert!(
        error.to_string().contains("`ptk models pull wordllama`"),
        "{error}"
    );
    assert!(!scene.vectors().exists());
}

#[test]
fn a_model_that_comes_later_needs_no_file_to_be_read_again() {
    let scene = Scene::new(&FILES);
    update(&scene.by_words());
    let index = scene.index();
    let searcher = index.searcher().unwrap();
    assert_eq!(searcher.meaning(), Meaning::Partly { with: 0, of: 3 });
    // Found by words at least.
    assert_eq!(
        symbols(&ask(&searcher, "remove_user", Which::Both)),
        ["remove_user"]
    );
    let report = update(&index);
    assert_eq!((report.added, report.changed, report.embedded), (0, 0, 3));
    // A searcher that is already open sees it.
    assert_eq!(searcher.meaning(), Meaning::Whole);
    assert_eq!(
        symbols(&ask(&searcher, "delete account", Which::Dense)),
        ["remove_user"]
    );
}

#[test]
fn only_what_has_changed_is_embedded_and_what_is_gone_is_not_found() {
    let scene = Scene::new(&FILES);
    let index = scene.index();
    update(&index);
    assert_eq!(update(&index).embedded, 0);
    let searcher = index.searcher().unwrap();
    scene.write("b.py", "def erase(name):\n    return name\n");
    fs::remove_file(scene.root().join("a.py")).unwrap();
    assert_eq!(update(&index).embedded, 1);
    assert_eq!(symbols(&ask(&searcher, "delete", Which::Dense)), ["erase"]);
    assert!(ask(&searcher, "load", Which::Dense).is_empty());
    // A text that comes back still has its vector.
    scene.write("a.py", FILES[0].1);
    assert_eq!(update(&index).embedded, 0);
    assert_eq!(
        symbols(&ask(&searcher, "account", Which::Dense)),
        ["remove_user"]
    );
}

#[test]
fn a_filter_holds_for_meaning_too() {
    let scene = Scene::new(&[
        ("a/one.py", "def remove_one():\n    pass\n"),
        ("b/two.py", "def delete_two():\n    pass\n"),
    ]);
    let index = scene.index();
    update(&index);
    let query = Query {
        which: Which::Dense,
        filter: Filter {
            paths: vec!["b/".to_owned()],
            ..Filter::default()
        },
        ..Query::new("erase")
    };
    let hits = index.searcher().unwrap().search(&query).unwrap();
    assert_eq!(symbols(&hits), ["delete_two"]);
}

/// A file with so many functions that they are embedded in several batches.
fn many() -> String {
    (0..3000).fold(String::new(), |text, it| {
        text + &format!("def load_{it}():\n    pass\n\n\n")
    })
}

#[test]
fn whoever_is_stopped_goes_on_where_they_were() {
    let scene = Scene::new(&[("many.py", &many())]);
    let index = scene.index();
    let cancel = AtomicBool::new(false);
    let report = index.update(&cancel, &mut |progress| {
        cancel.store(progress.embedded > 0, Ordering::Relaxed);
    });
    let report = report.unwrap();
    assert!(report.is_cancelled && (1..3000).contains(&report.embedded));
    let searcher = index.searcher().unwrap();
    let with = report.embedded;
    assert_eq!(searcher.meaning(), Meaning::Partly { with, of: 3000 });
    let rest = update(&index);
    assert_eq!((rest.embedded, rest.is_cancelled), (3000 - with, false));
    assert_eq!(searcher.meaning(), Meaning::Whole);
}

#[test]
fn a_damaged_file_of_vectors_is_made_again() {
    let scene = Scene::new(&FILES);
    let index = scene.index();
    update(&index);
    let whole = fs::read(scene.vectors()).unwrap();
    let asked = |index: &Index| {
        let searcher = index.searcher().unwrap();
        symbols(&ask(&searcher, "erase an account", Which::Both)).len()
    };
    for damaged in [
        &whole[..whole.len() - 1],
        &whole[..10],
        b"",
        b"something else",
    ] {
        fs::write(scene.vectors(), damaged).unwrap();
        assert_eq!(asked(&index), 0);
        assert_eq!(update(&index).embedded, 3);
        assert_eq!(asked(&index), 1);
    }
}

/// An embedder that fails.
#[derive(Debug)]
struct Broken;

impl Embedder for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Failed("no more".to_owned()))
    }
}

#[test]
fn where_the_model_fails_the_words_are_there() {
    let scene = Scene::new(&FILES);
    let index = scene.by_words().with_embedder(Arc::new(Broken));
    let error = index
        .update(&AtomicBool::new(false), &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, IndexError::Embed(_)), "{error}");
    let searcher = index.searcher().unwrap();
    assert_eq!(
        symbols(&ask(&searcher, "remove_user", Which::Both)),
        ["remove_user"]
    );
}

#[test]
fn the_order_in_which_files_came_has_no_say() {
    let file = |it: usize| {
        (
            format!("f{it}.py"),
            format!("def load_{it}():\n    read({it})\n"),
        )
    };
    let ids = |order: &mut dyn Iterator<Item = usize>| {
        let scene = Scene::new(&[]);
        let index = scene.index();
        for it in order {
            let (path, text) = file(it);
            scene.write(&path, &text);
            update(&index);
        }
        let searcher = index.searcher().unwrap();
        let asked = |which| ask(&searcher, "load and read 3 or 5", which);
        [Which::Dense, Which::Both].map(|which| {
            let hits = asked(which).into_iter();
            hits.map(|hit| (hit.id, hit.score.to_bits()))
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(ids(&mut (0..12)), ids(&mut (0..12).rev()));
}

#[test]
fn the_folder_of_the_index_may_be_anywhere() {
    let scene = Scene::new(&FILES);
    let inside = scene.root().join("cache");
    let workspace = Workspace::open(scene.root()).unwrap();
    let index = Index::new(&inside, workspace).with_embedder(scene.model());
    assert_eq!(update(&index).embedded, 3);
    assert!(Path::new(&inside).join("vectors").exists());
    assert_eq!(update(&index).files, 3);
}
