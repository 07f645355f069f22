//! Vectors in a file that may be damaged, and the search among them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use ptk_search::dense::{Vectors, VectorsError};
use tempfile::TempDir;

const MODEL: &str = "some model";
const DIMENSIONS: usize = 3;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(folder: &Path) -> Vectors {
    Vectors::open(folder, MODEL, DIMENSIONS).unwrap()
}

/// A vector for each key, unlike that of any other.
fn vector(key: u64) -> Vec<f32> {
    let angle = key as f32 * 0.1;
    vec![angle.cos(), angle.sin(), 0.5]
}

fn batch(keys: impl IntoIterator<Item = u64>) -> Vec<(u64, Vec<f32>)> {
    keys.into_iter().map(|key| (key, vector(key))).collect()
}

/// The keys whose vectors are found at their own places.
fn found(vectors: &Vectors, keys: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let keys: Vec<u64> = keys.into_iter().collect();
    let neighbours = vectors.neighbours(keys.iter().map(|key| (*key, *key)));
    let is_itself = |key: &u64| {
        let nearest = neighbours.nearest(&vector(*key), 1, None);
        nearest.first().is_some_and(|(place, _)| place == key)
    };
    keys.into_iter().filter(is_itself).collect()
}

#[test]
fn what_was_kept_is_there_after_opening_it_again() {
    let folder = folder();
    let mut vectors = open(folder.path());
    assert!(vectors.is_empty());
    vectors.append(&batch(0..5)).unwrap();
    vectors.append(&batch(3..9)).unwrap();
    vectors.sync().unwrap();
    for vectors in [vectors, open(folder.path())] {
        assert_eq!(vectors.len(), 9);
        assert!(vectors.contains(8) && !vectors.contains(9));
        assert_eq!(found(&vectors, 0..12), (0..9).collect::<Vec<_>>());
    }
}

#[test]
fn wherever_the_file_is_cut_off_whole_batches_stay_and_the_next_one_fits() {
    let folder = folder();
    let file = folder.path().join("vectors");
    let mut vectors = open(folder.path());
    let mut ends = Vec::new();
    for keys in [0..2, 2..5, 5..6] {
        vectors.append(&batch(keys.clone())).unwrap();
        ends.push((fs::metadata(&file).unwrap().len(), keys.end));
    }
    let whole = fs::read(&file).unwrap();
    for cut in 0..whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        let kept = ends.iter().rev().find(|(end, _)| *end <= cut as u64);
        let kept = kept.map_or(0, |(_, count)| *count);
        let mut vectors = open(folder.path());
        assert_eq!(vectors.len() as u64, kept, "cut at {cut}");
        vectors.append(&batch([77])).unwrap();
        let vectors = open(folder.path());
        assert_eq!(vectors.len() as u64, kept + 1, "cut at {cut}");
        assert_eq!(found(&vectors, [77]), [77]);
    }
}

#[test]
fn a_byte_that_changed_costs_no_more_than_what_comes_after_it() {
    let folder = folder();
    let file = folder.path().join("vectors");
    let mut vectors = open(folder.path());
    vectors.append(&batch(0..2)).unwrap();
    let first = fs::metadata(&file).unwrap().len();
    vectors.append(&batch(2..4)).unwrap();
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        for flip in [1, 0x80] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            fs::write(&file, &changed).unwrap();
            let vectors = open(folder.path());
            let left = if (at as u64) < first { 0 } else { 2 };
            assert_eq!(vectors.len(), left, "byte {at}");
        }
    }
}

#[test]
fn those_of_another_model_are_not_taken_for_its_own() {
    let folder = folder();
    open(folder.path()).append(&batch(0..3)).unwrap();
    for (model, dimensions) in [("another", DIMENSIONS), (MODEL, DIMENSIONS + 1)] {
        let other = Vectors::open(folder.path(), model, dimensions).unwrap();
        assert!(other.is_empty());
    }
    // Reading alone changes nothing.
    assert_eq!(open(folder.path()).len(), 3);
    let mut other = Vectors::open(folder.path(), "another", DIMENSIONS).unwrap();
    other.append(&batch(5..6)).unwrap();
    let other = Vectors::open(folder.path(), "another", DIMENSIONS).unwrap();
    assert_eq!(found(&other, 0..9), [5]);
    assert!(open(folder.path()).is_empty());
}

#[test]
fn those_that_nobody_needs_go_and_the_file_gets_smaller() {
    let folder = folder();
    let mut vectors = open(folder.path());
    vectors.append(&batch(0..100)).unwrap();
    let before = fs::metadata(folder.path().join("vectors")).unwrap().len();
    vectors.compact(&HashSet::from([3, 50, 1000])).unwrap();
    assert!(fs::metadata(folder.path().join("vectors")).unwrap().len() * 10 < before);
    vectors.append(&batch([7])).unwrap();
    for vectors in [vectors, open(folder.path())] {
        assert_eq!(found(&vectors, 0..100), [3, 7, 50]);
    }
}

#[test]
fn a_folder_that_cannot_be_used_and_dimensions_that_cannot_be_are_told() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let mut nowhere = Vectors::open(&folder.path().join("nowhere"), MODEL, 3).unwrap();
    let error = nowhere.append(&batch(0..1)).unwrap_err().to_string();
    assert!(
        error.contains("nowhere/vectors cannot be written: "),
        "{error}"
    );
    let error = Vectors::open(&file, MODEL, 3).unwrap_err();
    assert!(matches!(error, VectorsError::Io { .. }));
    for dimensions in [0, 1 << 40] {
        let error = Vectors::open(folder.path(), MODEL, dimensions).unwrap_err();
        assert!(matches!(error, VectorsError::Dimensions(it) if it == dimensions));
    }
}

#[test]
fn vectors_that_are_none_do_no_harm() {
    let folder = folder();
    let mut vectors = open(folder.path());
    let odd = [
        (1, vec![]),
        (2, vec![f32::NAN, f32::INFINITY, 1.0]),
        (3, vec![0.0; 9]),
        (4, vec![f32::MAX, f32::MIN, f32::MIN_POSITIVE]),
    ];
    vectors.append(&odd).unwrap();
    let neighbours = open(folder.path()).neighbours((1..=4).map(|key| (key, key)));
    for query in [
        vec![],
        vec![0.0, 0.0, 1.0],
        vec![f32::NAN; 3],
        vec![1.0; 99],
    ] {
        assert_eq!(neighbours.nearest(&query, 9, None).len(), 4);
    }
    assert_eq!(neighbours.nearest(&[0.0, 0.0, 1.0], 1, None)[0].0, 2);
}

#[test]
fn of_those_that_are_as_near_the_lower_place_comes_first() {
    let folder = folder();
    let mut vectors = open(folder.path());
    vectors.append(&batch([1, 2])).unwrap();
    let places = [(1, 40), (2, 5), (1, 10), (1, 30), (9, 1)];
    let neighbours = vectors.neighbours(places);
    let places = |keep: Option<&dyn Fn(u64) -> bool>, count| {
        let nearest = neighbours.nearest(&vector(1), count, keep);
        nearest.iter().map(|(place, _)| *place).collect::<Vec<_>>()
    };
    assert_eq!(places(None, 9), [10, 30, 40, 5]);
    assert_eq!(places(None, 2), [10, 30]);
    assert_eq!(places(None, 0), [0; 0]);
    assert_eq!(places(Some(&|place| place != 30), 3), [10, 40, 5]);
    assert_eq!(places(Some(&|_| false), 3), [0; 0]);
    assert!(
        vectors
            .neighbours([])
            .nearest(&vector(1), 3, None)
            .is_empty()
    );
}

/// Deterministic pseudo-random numbers between -1 and 1.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let hash = blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof();
    let mut hash = hash;
    let mut bytes = vec![0; count];
    hash.fill(&mut bytes);
    let numbers = bytes.iter().map(|byte| f32::from(*byte) / 127.5 - 1.0);
    numbers.collect()
}

#[test]
fn the_nearest_are_those_that_multiplying_everything_out_finds() {
    const LONG: usize = 256;
    let folder = folder();
    let mut vectors = Vectors::open(folder.path(), MODEL, LONG).unwrap();
    // All have much in common, as vectors of texts do, and some more than that.
    let common = numbers(1, LONG);
    let one = |key: u64| -> Vec<f32> {
        let topic = numbers(1_000_000 + key % 50, LONG);
        let own = numbers(2_000_000 + key, LONG);
        let parts = common.iter().zip(topic).zip(own);
        parts
            .map(|((common, topic), own)| common + topic + own)
            .collect()
    };
    let all: Vec<(u64, Vec<f32>)> = (0..5000).map(|key| (key, one(key))).collect();
    vectors.append(&all).unwrap();
    let neighbours = vectors.neighbours((0..5000).map(|key| (key, key)));
    let mut shared = 0;
    for question in 0..50 {
        let query = one(9000 + question);
        let exact: Vec<(u64, f32)> = neighbours.nearest_of_all(&query, 10);
        let near: HashMap<u64, f32> = neighbours.nearest(&query, 10, None).into_iter().collect();
        shared += exact
            .iter()
            .filter(|(place, _)| near.contains_key(place))
            .count();
    }
    assert!(shared >= 490, "{shared} of 500");
}

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<u64>),
    Compact(HashSet<u64>),
    Open,
    Cut(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || proptest::collection::vec(0..40_u64, 0..8);
    let step = prop_oneof![
        4 => keys().prop_map(Step::Append),
        1 => keys().prop_map(|keys| Step::Compact(keys.into_iter().collect())),
        2 => Just(Step::Open),
        // A batch that was never finished.
        1 => (1..30_u64).prop_map(Step::Cut),
    ];
    proptest::collection::vec(step, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_done_what_should_be_there_is_there(steps in steps()) {
        let folder = folder();
        let mut vectors = open(folder.path());
        let mut should: HashSet<u64> = HashSet::new();
        for step in steps {
            match step {
                Step::Append(keys) => {
                    vectors.append(&batch(keys.clone())).unwrap();
                    should.extend(keys);
                }
                Step::Compact(live) => {
                    vectors.compact(&live).unwrap();
                    should.retain(|key| live.contains(key));
                }
                Step::Open => vectors = open(folder.path()),
                Step::Cut(bytes) => {
                    let file = folder.path().join("vectors");
                    let before = fs::metadata(&file).map_or(0, |about| about.len());
                    let new: Vec<u64> = (100..105).collect();
                    vectors.append(&batch(new)).unwrap();
                    let after = fs::metadata(&file).unwrap();
                    if before > 0 {
                        let short = (after.len() - bytes).max(before);
                        fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(short).unwrap();
                    } else {
                        fs::remove_file(&file).unwrap();
                    }
                    vectors = open(folder.path());
                }
            }
            let keys: HashSet<u64> = (0..105).filter(|key| vectors.contains(*key)).collect();
            prop_assert_eq!(&keys, &should);
        }
    }
}
