//! Prompts of the user.

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
    /// The images. A model that takes none refuses the prompt.
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
