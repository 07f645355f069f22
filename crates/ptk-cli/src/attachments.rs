//! Files whose content is added to a prompt.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// The most bytes of one file.
const MAX_FILE: u64 = 1024 * 1024;
/// The shortest fence around a content.
const FENCE: &str = "```";

/// The content of a file, as the prompt shows it.
pub(crate) fn of(path: &Path) -> Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    if file.metadata().is_ok_and(|it| it.is_dir()) {
        bail!("{name} is a folder; name a file in it");
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{name} cannot be read"))?;
    if bytes.len() as u64 > MAX_FILE {
        bail!("{name} has more than 1 MiB; the model can read parts of it with its tools");
    }
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{name} is not a text file; only text can be added to a prompt");
    };
    let fence = fence(&text);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    Ok(format!("{name}:\n{fence}\n{text}{end}{fence}"))
}

/// A fence that does not stand in the text.
fn fence(text: &str) -> String {
    let mut fence = FENCE.to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stands_in_a_fence_that_it_does_not_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.md");
        for (text, shown) in [
            ("one\n", "```\none\n```"),
            ("one", "```\none\n```"),
            ("", "```\n```"),
            ("```\ncode\n```\n", "````\n```\ncode\n```\n````"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(of(&path).unwrap(), format!("{}:\n{shown}", path.display()));
        }
        for (bytes, why) in [
            (vec![b'x'; 2 << 20], "more than 1 MiB"),
            (vec![0xff, 0xd8, 0xff], "not a text file"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert!(of(&path).unwrap_err().to_string().contains(why));
        }
        assert!(
            of(folder.path())
                .unwrap_err()
                .to_string()
                .contains("is a folder")
        );
    }
}
