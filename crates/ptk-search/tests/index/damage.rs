//! Indexes that are damaged, or of another version.

use std::fs;

use ptk_search::Rebuilt;

use super::workspace::{Fixture, names};

/// A damage: the bytes of a file become others, or the file is removed.
type Harm = fn(Vec<u8>) -> Option<Vec<u8>>;

fn made() -> Fixture {
    let fixture = Fixture::with(&[("a.rs", "fn open_door() {}\n"), ("b.rs", "fn shut() {}\n")]);
    fixture.update();
    fixture
}

#[test]
fn any_file_that_is_changed_cut_or_gone_is_noticed() {
    let harms: [(&str, Harm); 3] = [
        ("changed", |mut bytes| {
            let middle = bytes.len() / 2;
            *bytes.get_mut(middle)? ^= 0x55;
            Some(bytes)
        }),
        ("cut", |bytes| Some(bytes[..bytes.len() / 2].to_vec())),
        ("gone", |_| None),
    ];
    for (name, harm) in harms {
        let files = names(&made().index_folder().join("words")).len();
        for at in 0..=files {
            let fixture = made();
            let words = fixture.index_folder().join("words");
            let path = match names(&words).get(at) {
                Some(name) => words.join(name),
                None => fixture.index_folder().join("files-1"),
            };
            let bytes = fs::read(&path).unwrap();
            match harm(bytes) {
                Some(harmed) => fs::write(&path, harmed).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let report = fixture.update();
            assert_eq!(report.files, 2, "{name} {}", path.display());
            assert_eq!(
                fixture.hits("openDoor")[0].id,
                "a.rs#1:1",
                "{name} {}",
                path.display()
            );
            let is_segment = path
                .extension()
                .is_some_and(|it| it != "json" && it != "lock");
            let is_manifest = path.ends_with("files-1");
            if is_segment || is_manifest {
                let rebuilt = report.rebuilt;
                assert!(
                    matches!(rebuilt, Some(Rebuilt::Damaged { .. })),
                    "{name} {} {rebuilt:?}",
                    path.display()
                );
            }
            assert_eq!(fixture.update().rebuilt, None);
        }
    }
}

#[test]
fn what_another_version_made_is_built_anew() {
    let fixture = made();
    let path = fixture.index_folder().join("files-1");
    let mut bytes = fs::read(&path).unwrap();
    // The first number is the version; the last bytes are the checksum.
    bytes[0] += 1;
    let content = bytes.len() - 32;
    let sum = *blake3::hash(&bytes[..content]).as_bytes();
    bytes[content..].copy_from_slice(&sum);
    fs::write(&path, bytes).unwrap();
    let report = fixture.update();
    assert_eq!(report.rebuilt, Some(Rebuilt::OtherVersion));
    assert_eq!(fixture.hits("shut").len(), 1);
}

#[test]
fn only_the_last_list_of_files_is_kept() {
    let fixture = made();
    fixture.write("c.rs", "fn more() {}\n");
    fixture.update();
    let kept = names(&fixture.index_folder());
    assert_eq!(kept, ["files-2", "lock", "words"]);
}
