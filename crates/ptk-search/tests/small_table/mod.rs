//! A model of a few words, for tests.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use ptk_search::embed::Table;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

/// 1.0 in half precision.
const ONE: u16 = 0x3c00;

/// A table whose pieces have one meaning each: those with the same number are
/// synonyms. It is written to a folder, and read from there.
pub(crate) fn of(meanings: &[(&str, usize)], folder: &Path) -> Table {
    let dimensions = meanings.iter().map(|(_, at)| at + 1).max().unwrap();
    let row = |at: usize| (0..dimensions).map(move |it| u16::from(it == at) * ONE);
    let numbers = meanings.iter().flat_map(|(_, at)| row(*at));
    let bytes: Vec<u8> = numbers.flat_map(u16::to_le_bytes).collect();
    let shape = vec![meanings.len(), dimensions];
    let view = TensorView::new(Dtype::F16, shape, &bytes).unwrap();
    let table = folder.join("table.safetensors");
    let file = safetensors::serialize([("embedding.weight", view)], None).unwrap();
    fs::write(&table, file).unwrap();
    let pieces: HashMap<&str, usize> = meanings.iter().map(|it| it.0).zip(0..).collect();
    let list = folder.join("tokenizer.json");
    let text = serde_json::json!({ "model": { "vocab": pieces } }).to_string();
    fs::write(&list, text).unwrap();
    Table::read(&table, &list).unwrap()
}
