//! Metadata of model files, and files that are damaged.

use std::path::Path;

use proptest::prelude::*;
use ptk_local::Gguf;

use crate::sample::{Sample, list, text};

/// Reads the metadata in these bytes; the error without the path.
fn read(bytes: &[u8]) -> Result<Gguf, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    Gguf::read(&path).map_err(|error| error.fault.to_string())
}

fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err()
}

const DAMAGED: &str = "is damaged: it says that it has more than fits into it; get it again";

#[test]
fn a_model_tells_about_itself() {
    let expected = Gguf {
        architecture: "llama".to_owned(),
        name: Some("Tiny".to_owned()),
        parameters: 1056,
        quantisation: Some("Q4_0".to_owned()),
        context_length: Some(2048),
        licence: Some("mit".to_owned()),
        has_chat_template: true,
    };
    assert_eq!(read(&Sample::model().bytes()), Ok(expected));
}

#[test]
fn what_a_model_does_not_say_is_not_made_up() {
    let bytes = Sample::bare(2)
        .text("general.architecture", "gemma")
        .number("llama.context_length", 2048)
        .number("general.file_type", 999)
        .text("general.name", "")
        .bytes();
    let model = read(&bytes).unwrap();
    assert_eq!(model.architecture, "gemma");
    assert_eq!(
        (model.name, model.quantisation, model.context_length),
        (None, None, None)
    );
    assert_eq!((model.parameters, model.has_chat_template), (0, false));
}

#[test]
fn numbers_are_read_whatever_their_kind() {
    for (kind, bytes) in [
        (0, &[200_u8][..]),
        (2, &[200, 0]),
        (3, &[200, 0]),
        (5, &[200, 0, 0, 0]),
        (10, &[200, 0, 0, 0, 0, 0, 0, 0]),
        (11, &[200, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let sample = Sample::bare(3).text("general.architecture", "a");
        let model = read(&sample.value("a.context_length", kind, bytes).bytes());
        assert_eq!(model.unwrap().context_length, Some(200), "{kind}");
    }
    // Negative, a float, a boolean.
    for (kind, bytes) in [(1, &[200_u8][..]), (6, &[1, 2, 3, 4]), (7, &[1])] {
        let sample = Sample::bare(3).text("general.architecture", "a");
        let model = read(&sample.value("a.context_length", kind, bytes).bytes());
        assert_eq!(model.unwrap().context_length, None, "{kind}");
    }
}

#[test]
fn what_is_no_model_is_told_from_one_that_is_damaged() {
    let not = "is no GGUF file; models for llama.cpp are, and their names end in .gguf";
    assert_eq!(error(b""), not);
    assert_eq!(error(b"GGU"), not);
    assert_eq!(error(b"PK\x03\x04 and so on"), not);
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    assert_eq!(
        error(pointer),
        "only says where the model is; fetch it with `git lfs pull`"
    );
    assert_eq!(
        error(b"GGUF"),
        "is cut off: it has 4 bytes and would need 8; get it again"
    );
    for version in [0, 1, 4, 70_000] {
        let told = error(&Sample::bare(version).bytes());
        assert!(told.starts_with(&format!("is GGUF of version {version},")));
    }
    let told = error(&Sample::bare(3_u32.swap_bytes()).bytes());
    assert!(
        told.starts_with("is for machines with big-endian"),
        "{told}"
    );
    let told = error(&Sample::bare(3).bytes());
    assert_eq!(
        told,
        "is damaged: it does not name its architecture; get it again"
    );
}

#[test]
fn a_folder_and_a_file_that_is_not_there_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = Gguf::read(folder.path()).unwrap_err().to_string();
    assert_eq!(told, format!("{} is not a file", folder.path().display()));
    let told = Gguf::read(Path::new("/nowhere/a.gguf")).unwrap_err();
    assert!(
        told.to_string()
            .starts_with("/nowhere/a.gguf cannot be read: ")
    );
}

#[test]
fn every_cut_is_noticed() {
    let whole = Sample::model().bytes();
    for length in 4..whole.len() {
        let told = error(&whole[..length]);
        let is_told = told.starts_with("is cut off: ") || told == DAMAGED;
        assert!(is_told, "{length}: {told}");
    }
    // Weights alone are missing.
    assert_eq!(
        error(&whole[..whole.len() - 1]),
        format!(
            "is cut off: it has {} bytes and would need {}; get it again",
            whole.len() - 1,
            whole.len()
        )
    );
}

#[test]
fn numbers_that_cannot_be_are_not_followed() {
    let huge = u64::MAX.to_le_bytes();
    let with = |at: usize| {
        let mut bytes = Sample::model().bytes();
        bytes[at..at + 8].copy_from_slice(&huge);
        error(&bytes)
    };
    // The numbers of tensors and pairs.
    assert_eq!(with(8), DAMAGED);
    assert_eq!(with(16), DAMAGED);
    // The length of a key.
    assert_eq!(with(24), DAMAGED);
    let base = || Sample::bare(3).text("general.architecture", "a");
    for value in [
        // A text, a list of texts, of numbers, of lists, all far too long.
        base().value("k", 8, &huge),
        base().value("k", 9, &list(8, u64::MAX)),
        base().value("k", 9, &list(12, u64::MAX / 8)),
        base().value("k", 9, &list(9, 1 << 60)),
        base().value("k", 9, &[&list(8, 1)[..], &huge].concat()),
    ] {
        assert_eq!(error(&value.bytes()), DAMAGED);
    }
    let told = error(&base().tensor("t", &[1 << 40, 1 << 40], 0, 0).bytes());
    assert_eq!(told, DAMAGED);
    let told = error(&base().tensor("t", &[1; 9], 0, 0).bytes());
    assert_eq!(
        told,
        "is damaged: a tensor has too many dimensions; get it again"
    );
    let told = error(&base().number("general.alignment", 0).bytes());
    assert_eq!(
        told,
        "is damaged: its alignment makes no sense; get it again"
    );
    let told = error(&base().value("k", 13, &huge).bytes());
    assert_eq!(
        told,
        "is damaged: a value is of no known kind; get it again"
    );
}

#[test]
fn lists_in_lists_are_passed_over_but_not_forever() {
    let nested = |depth: usize| {
        let mut bytes = list(9, 1).repeat(depth);
        bytes.extend(list(0, 1));
        bytes.push(1);
        let sample = Sample::bare(3).text("general.architecture", "a");
        read(&sample.value("k", 9, &bytes).bytes())
    };
    assert!(nested(4).is_ok());
    assert_eq!(
        nested(5).unwrap_err(),
        "is damaged: lists lie in lists too deeply; get it again"
    );
    assert!(nested(100_000).is_err());
}

#[test]
fn a_part_of_a_model_is_told_to_be_one() {
    let part = Sample::model()
        .value("split.no", 2, &[1, 0])
        .value("split.count", 2, &[3, 0]);
    assert_eq!(
        error(&part.bytes()),
        "is part 2 of 3 of a model; join them with llama.cpp's `llama-gguf-split --merge`"
    );
    let only = Sample::model().value("split.count", 2, &[1, 0]);
    assert!(read(&only.bytes()).is_ok());
}

#[test]
fn what_is_kept_of_a_text_is_bounded() {
    let long = "x".repeat(1_000_000);
    let sample = Sample::model().text("general.name", &long);
    assert_eq!(read(&sample.bytes()).unwrap().name.unwrap().len(), 512);
    let mut sample = Sample::model().bytes();
    sample.splice(24.., text(&long));
    let told = error(&sample);
    assert_eq!(told, "is damaged: a key is too long; get it again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any bytes are parsed or rejected, and the result is bounded.
    #[test]
    fn any_bytes_are_answered(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
        version in 2_u32..4,
    ) {
        drop(read(&bytes));
        bytes.splice(0..0, [&b"GGUF"[..], &version.to_le_bytes()].concat());
        let told = read(&bytes);
        prop_assert!(told.map_or_else(|told| told.len(), |model| model.architecture.len()) < 600);
    }

    /// The same for a valid model with random changes.
    #[test]
    fn any_change_of_a_model_is_answered(
        changes in proptest::collection::vec((0_usize..400, any::<u8>()), 1..20),
        cut in 0_usize..2000,
    ) {
        let mut bytes = Sample::model().bytes();
        for (at, byte) in changes {
            if let Some(old) = bytes.get_mut(at) {
                *old = byte;
            }
        }
        bytes.truncate(cut);
        let told = read(&bytes);
        prop_assert!(told.map_or_else(|told| told.len(), |model| model.architecture.len()) < 600);
    }
}
