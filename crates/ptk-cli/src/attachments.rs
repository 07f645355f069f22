//! Files whose content is added to a prompt: texts, and images.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ptk::Prompt;
use ptk::protocol::Image;

/// The most bytes of one text.
const MAX_TEXT: usize = 1024 * 1024;
/// The most bytes of one image, which is about what services take.
const MAX_IMAGE: usize = 5 * 1024 * 1024;
/// The most images of a prompt.
const MAX_IMAGES: usize = 20;
/// The most bytes of all images of a prompt: services take requests of about
/// 30 MB, in which an image takes a third more.
const MAX_ALL_IMAGES: usize = 20 * 1024 * 1024;
/// The shortest fence around a content.
const FENCE: &str = "```";

/// Adds the content of a file to a prompt. An image goes beside the text, which
/// then names it.
pub(crate) fn add(prompt: &mut Prompt, path: &Path) -> Result<()> {
    let bytes = read(path)?;
    add_content(prompt, &path.display().to_string(), bytes)
}

/// Adds a content to a prompt, under a name.
pub(crate) fn add_content(prompt: &mut Prompt, name: &str, bytes: Vec<u8>) -> Result<()> {
    let shown = if let Some(image) = Image::new(&bytes) {
        if bytes.len() > MAX_IMAGE {
            bail!("{name} has more than 5 MiB; scale the image down");
        }
        if prompt.images.len() == MAX_IMAGES {
            bail!("{name} is one image too many; a prompt takes {MAX_IMAGES}");
        }
        let before: usize = prompt.images.iter().map(Image::size).sum();
        if before + bytes.len() > MAX_ALL_IMAGES {
            bail!(
                "with {name}, the images have more than 20 MiB together; scale them down, or leave some out"
            );
        }
        prompt.images.push(image);
        format!("{name}: image {}", prompt.images.len())
    } else {
        if bytes.len() > MAX_TEXT {
            bail!("{name} has more than 1 MiB; the model can read parts of it with its tools");
        }
        let Ok(text) = String::from_utf8(bytes) else {
            bail!("{name} is neither a text file nor a PNG, JPEG, GIF or WebP image");
        };
        fenced(name, &text)
    };
    prompt.text.push_str("\n\n");
    prompt.text.push_str(&shown);
    Ok(())
}

/// The start of a file, or all of it if it is not too long for a prompt.
fn read(path: &Path) -> Result<Vec<u8>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    if file.metadata().is_ok_and(|it| it.is_dir()) {
        bail!("{name} is a folder; name a file in it");
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_IMAGE as u64 + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{name} cannot be read"))?;
    Ok(bytes)
}

/// A text with its name above, in a fence.
fn fenced(name: &str, text: &str) -> String {
    let fence = fence(text);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{name}:\n{fence}\n{text}{end}{fence}")
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

    fn added(path: &Path) -> Result<Prompt> {
        let mut prompt = Prompt::from("See");
        add(&mut prompt, path)?;
        Ok(prompt)
    }

    #[test]
    fn a_text_stands_in_a_fence_that_it_does_not_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.md");
        for (text, shown) in [
            ("one\n", "```\none\n```"),
            ("one", "```\none\n```"),
            ("", "```\n```"),
            ("```\ncode\n```\n", "````\n```\ncode\n```\n````"),
        ] {
            std::fs::write(&path, text).unwrap();
            let prompt = added(&path).unwrap();
            assert_eq!(prompt.text, format!("See\n\n{}:\n{shown}", path.display()));
            assert_eq!(prompt.images, []);
        }
        for (bytes, why) in [
            (vec![b'x'; 2 << 20], "more than 1 MiB"),
            (vec![0xff, 0xfe, 0xff], "neither a text file nor a PNG"),
            (b"GIF89a".repeat(1 << 20), "more than 5 MiB"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = added(&path).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let error = added(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is a folder"), "{error}");
    }

    #[test]
    fn images_go_beside_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cat.gif");
        std::fs::write(&path, b"GIF89a").unwrap();
        let mut prompt = Prompt::from("See");
        for _ in 0..MAX_IMAGES {
            add(&mut prompt, &path).unwrap();
        }
        assert_eq!(prompt.images.len(), MAX_IMAGES);
        let named = format!("{}: image 2", path.display());
        assert!(prompt.text.contains(&named), "{}", prompt.text);
        let error = add(&mut prompt, &path).unwrap_err().to_string();
        assert!(error.contains("one image too many"), "{error}");
    }

    #[test]
    fn images_have_a_limit_together() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cat.gif");
        let mut image = b"GIF89a".to_vec();
        image.resize(MAX_IMAGE, 0);
        std::fs::write(&path, image).unwrap();
        let mut prompt = Prompt::from("See");
        for _ in 0..4 {
            add(&mut prompt, &path).unwrap();
        }
        let error = add(&mut prompt, &path).unwrap_err().to_string();
        assert!(error.contains("more than 20 MiB together"), "{error}");
    }
}
