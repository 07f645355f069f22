//! Texts as vectors, by a small table.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use ptk_search::embed::{EmbedError, Embedder as _, Table};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use tempfile::TempDir;

/// 1.0 in half precision.
const ONE: u16 = 0x3c00;

/// A model in a folder.
struct Scene {
    folder: TempDir,
}

/// A table with one dimension for each piece, so that a vector shows its words.
const PIECES: [&str; 6] = ["▁parse", "▁json", "▁read", "▁file", "s", "the"];

impl Scene {
    fn new() -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let count = PIECES.len();
        let row = |at: usize| (0..count).map(move |it| if it == at { ONE } else { 0 });
        let numbers: Vec<u16> = (0..count).flat_map(row).collect();
        fs::write(
            scene.table(),
            table(Dtype::F16, vec![count, count], &numbers),
        )
        .unwrap();
        scene.list(&PIECES.iter().copied().zip(0..).collect());
        scene
    }

    fn list(&self, pieces: &HashMap<&str, usize>) {
        let text = serde_json::json!({ "model": { "type": "BPE", "vocab": pieces } });
        fs::write(self.pieces(), text.to_string()).unwrap();
    }

    fn table(&self) -> PathBuf {
        self.folder.path().join("table.safetensors")
    }

    fn pieces(&self) -> PathBuf {
        self.folder.path().join("tokenizer.json")
    }

    fn read(&self) -> Result<Table, EmbedError> {
        Table::read(&self.table(), &self.pieces())
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let table = self.read().unwrap();
        table.embed(&[text]).unwrap().remove(0)
    }
}

fn table(kind: Dtype, shape: Vec<usize>, numbers: &[u16]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
    let view = TensorView::new(kind, shape, &bytes).unwrap();
    safetensors::serialize([("embedding.weight", view)], None).unwrap()
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|it| it * it).sum::<f32>().sqrt()
}

#[test]
fn a_text_is_the_sum_of_its_words_however_they_are_written() {
    let scene = Scene::new();
    let vector = scene.vector("parse_json");
    assert!(vector[0] > 0.5 && vector[1] > 0.5, "{vector:?}");
    assert_eq!(vector[2..4], [0.0, 0.0]);
    assert!((length(&vector) - 1.0).abs() < 1e-6);
    for same in ["parseJson", "JSON::parse", "Parse; json!", "json\n\tparse"] {
        assert_eq!(scene.vector(same), vector, "{same}");
    }
    // The longest pieces are used.
    let files = scene.vector("files");
    assert!(files[3] > 0.5 && files[4] > 0.5, "{files:?}");
}

#[test]
fn what_occurs_often_counts_a_little_more() {
    let scene = Scene::new();
    let often = scene.vector("read read read read file");
    assert!(
        often[2] > often[3] && often[2] < 4.0 * often[3],
        "{often:?}"
    );
}

#[test]
fn texts_without_words_are_near_to_nothing() {
    let scene = Scene::new();
    for text in ["", " \n", "!?{}", "ẞ漢字🦀"] {
        assert_eq!(scene.vector(text), [0.0; 6], "{text}");
    }
}

#[test]
fn many_texts_have_the_vectors_that_each_has_alone() {
    let scene = Scene::new();
    let model = scene.read().unwrap();
    let texts: Vec<String> = (0..1000_usize)
        .map(|it| PIECES[it % 4].repeat(it % 7).replace('▁', " ") + " files")
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = model.embed(&texts).unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(together).step_by(37) {
        assert_eq!(model.embed(&[text]).unwrap(), [vector]);
    }
    assert_eq!(model.dimensions(), 6);
    assert!(model.embed(&[]).unwrap().is_empty());
}

#[test]
fn another_table_and_another_list_have_another_id() {
    let scene = Scene::new();
    let id = scene.read().unwrap().id().to_owned();
    assert_eq!(scene.read().unwrap().id(), id);
    scene.list(&HashMap::from([("▁parse", 0)]));
    let other = scene.read().unwrap().id().to_owned();
    assert_ne!(other, id);
    fs::write(scene.table(), table(Dtype::F16, vec![2, 1], &[ONE, 0])).unwrap();
    assert_ne!(scene.read().unwrap().id(), other);
}

#[test]
fn nothing_in_the_files_is_believed() {
    let scene = Scene::new();
    let refused = |why: &str| {
        let error = scene.read().unwrap_err();
        assert!(matches!(error, EmbedError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    scene.list(&HashMap::from([("▁parse", 6)]));
    refused("`▁parse` is in row 6, and there are 6");
    for wrong in [
        "",
        "{",
        "[]",
        "{\"model\":{}}",
        "{\"model\":{\"vocab\":{\"a\":-1}}}",
    ] {
        fs::write(scene.pieces(), wrong).unwrap();
        refused("tokenizer.json is not an embedding model: ");
    }
    scene.list(&HashMap::new());
    let numbers = [ONE; 4];
    for (kind, shape, why) in [
        (Dtype::F16, vec![4], "is not a table"),
        (Dtype::F16, vec![2, 2, 1], "is not a table"),
        (Dtype::BF16, vec![2, 2], "BF16, not F16"),
        (Dtype::F32, vec![2, 1], "F32, not F16"),
    ] {
        fs::write(scene.table(), table(kind, shape, &numbers)).unwrap();
        refused(why);
    }
    for shape in [vec![0, 4], vec![4, 0]] {
        fs::write(scene.table(), table(Dtype::F16, shape, &[])).unwrap();
        refused("rows of");
    }
    fs::write(scene.table(), [0xff; 64]).unwrap();
    refused("table.safetensors is not an embedding model: ");
    fs::remove_file(scene.table()).unwrap();
    assert!(matches!(scene.read(), Err(EmbedError::Io { .. })));
}

#[test]
fn files_that_are_cut_off_or_changed_are_refused_or_read_but_never_worse() {
    let scene = Scene::new();
    let (whole, list) = (
        fs::read(scene.table()).unwrap(),
        fs::read(scene.pieces()).unwrap(),
    );
    for cut in 0..whole.len() {
        fs::write(scene.table(), &whole[..cut]).unwrap();
        assert!(scene.read().is_err(), "cut at {cut}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x7f;
        fs::write(scene.table(), &changed).unwrap();
        if let Ok(table) = scene.read() {
            let vectors = table.embed(&["parse files"]).unwrap();
            assert!(vectors[0].iter().all(|it| it.is_finite()), "byte {at}");
        }
    }
    fs::write(scene.table(), &whole).unwrap();
    for cut in 0..list.len() {
        fs::write(scene.pieces(), &list[..cut]).unwrap();
        assert!(scene.read().is_err(), "cut at {cut}");
    }
}
