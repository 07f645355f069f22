//! Prompts of the user.

use std::borrow::Cow;

use ptk_protocol::{Image, Message};

/// A prompt: a text, and images beside it.
///
/// A text alone is a prompt, too.
///
/// ```
/// use ptk::Prompt;
/// use ptk::protocol::Image;
///
/// let image = Image::new(b"GIF89a\x01\0\x01\0").unwrap();
/// let prompt = Prompt::from("What does this show?").with_image(image);
/// assert_eq!(prompt.images.len(), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The images. The run fails if the model takes no images.
    pub images: Vec<Image>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
        }
    }
}

impl Prompt {
    /// Adds an image.
    #[must_use]
    pub fn with_image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }

    pub(crate) fn into_message(self) -> Message {
        Message {
            images: self.images,
            ..Message::user(self.text)
        }
    }
}

/// A prompt as people are shown it: its text, and how many images are beside it.
pub(crate) fn with_images(text: &str, images: usize) -> Cow<'_, str> {
    match images {
        0 => Cow::Borrowed(text),
        1 => Cow::Owned(format!("{text}\n\n(1 image)")),
        several => Cow::Owned(format!("{text}\n\n({several} images)")),
    }
}
