//! What is at a path: as much of it as can be put back.

use std::path::PathBuf;

use ptk_sandbox::{Attributes, Fingerprint, Kind, Moment, Node, PathError, Place};
use serde::{Deserialize, Serialize};

/// The content of a file: its size and its hash, by which it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Content {
    /// The BLAKE3 hash.
    #[serde(with = "hex")]
    pub hash: [u8; 32],
    /// The size in bytes.
    pub size: u64,
}

impl Content {
    /// The name under which it is kept.
    #[must_use]
    pub fn name(&self) -> String {
        hex::text(&self.hash)
    }

    pub(crate) const fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from_hash(self.size, self.hash)
    }
}

impl From<Fingerprint> for Content {
    fn from(fingerprint: Fingerprint) -> Self {
        Self {
            hash: fingerprint.hash(),
            size: fingerprint.size(),
        }
    }
}

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// Nothing.
    Missing,
    /// A regular file.
    File {
        /// What it holds; `None` where that was not looked at: it is too
        /// large, or cannot be read.
        content: Option<Content>,
        /// Its size in bytes.
        size: u64,
        /// Permissions, time and owner.
        #[serde(flatten)]
        about: NodeAttributes,
    },
    /// A symbolic link.
    Link {
        /// The path that it leads to.
        #[serde(with = "path_text")]
        target: PathBuf,
        /// Permissions, time and owner.
        #[serde(flatten)]
        about: NodeAttributes,
    },
    /// A folder.
    Folder {
        /// Permissions, time and owner.
        #[serde(flatten)]
        about: NodeAttributes,
    },
    /// Not known: it was changed by others before it was looked at. Not even
    /// the same as itself.
    Unknown,
    /// A pipe, a socket, a device: something that cannot be kept.
    Special {
        /// What it is.
        what: String,
    },
}

/// The attributes of a file beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAttributes {
    /// The permissions.
    pub mode: u32,
    /// When it was last modified.
    pub modified: Moment,
    /// The user and the group.
    pub owner: (u32, u32),
}

impl From<&Node> for NodeAttributes {
    fn from(node: &Node) -> Self {
        Self {
            mode: node.mode,
            modified: node.modified,
            owner: node.owner,
        }
    }
}

impl From<NodeAttributes> for Attributes {
    fn from(about: NodeAttributes) -> Self {
        Self {
            mode: about.mode,
            modified: about.modified,
            owner: about.owner,
        }
    }
}

impl State {
    /// The state of a place now. Reads a file of at most `largest` bytes.
    pub(crate) fn of(place: &Place, largest: u64) -> Result<Self, PathError> {
        Self::with(place, largest, |place| Ok(place.fingerprint()?.into()))
    }

    /// The state of a place, with a function that reads the content.
    pub(crate) fn with<E: From<PathError>>(
        place: &Place,
        largest: u64,
        content: impl FnOnce(&Place) -> Result<Content, E>,
    ) -> Result<Self, E> {
        // What is behind a link has another path.
        if !is_direct(place)? {
            return Ok(Self::Missing);
        }
        let Some(node) = place.node()? else {
            return Ok(Self::Missing);
        };
        let about = NodeAttributes::from(&node);
        Ok(match node.kind {
            Kind::File => Self::File {
                content: if node.size <= largest && is_readable(place)? {
                    Some(content(place)?)
                } else {
                    None
                },
                size: node.size,
                about,
            },
            Kind::Link => Self::Link {
                target: place.link_target()?,
                about,
            },
            Kind::Folder => Self::Folder { about },
            kind => Self::Special {
                what: kind.to_string(),
            },
        })
    }

    /// Whether both are the same apart from times: to touch a file is not work
    /// that could be lost.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File {
                    content: one,
                    size: one_size,
                    about: one_about,
                },
                Self::File {
                    content: two,
                    size: two_size,
                    about: two_about,
                },
            ) => {
                let is_same_content = match (one, two) {
                    (Some(one), Some(two)) => one == two,
                    _ => one_size == two_size && one_about.modified == two_about.modified,
                };
                is_same_content && one_about.mode == two_about.mode
            }
            (Self::Link { target: one, .. }, Self::Link { target: two, .. }) => one == two,
            (Self::Folder { about: one }, Self::Folder { about: two }) => one.mode == two.mode,
            (Self::Special { what: one }, Self::Special { what: two }) => one == two,
            (Self::Missing, Self::Missing) => true,
            _ => false,
        }
    }

    /// Whether it can be put back.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        !matches!(
            self,
            Self::Special { .. } | Self::Unknown | Self::File { content: None, .. }
        )
    }

    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    pub(crate) const fn content(&self) -> Option<Content> {
        match self {
            Self::File { content, .. } => *content,
            _ => None,
        }
    }
}

/// Whether no link stands above a place. What leads outside is not direct.
pub(crate) fn is_direct(place: &Place) -> Result<bool, PathError> {
    match place.is_direct() {
        Err(PathError::Outside { .. } | PathError::LinkLoop { .. }) => Ok(false),
        Err(PathError::NotAFolder { .. }) => Ok(true),
        direct => direct,
    }
}

fn is_readable(place: &Place) -> Result<bool, PathError> {
    match place.open() {
        Ok(_) => Ok(true),
        Err(PathError::PermissionDenied { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Hashes as hexadecimal digits.
mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn text(hash: &[u8; 32]) -> String {
        blake3::Hash::from_bytes(*hash).to_hex().to_string()
    }

    pub(super) fn serialize<S: Serializer>(
        hash: &[u8; 32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text).map_err(D::Error::custom)?;
        Ok(*hash.as_bytes())
    }
}

/// Paths as text, or as bytes where they are not text.
pub(crate) mod path_text {
    use std::path::{Path, PathBuf};

    use bstr::ByteVec as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Text {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => to.serialize_str(text),
            None => Text::Bytes(path.as_os_str().as_encoded_bytes().to_vec()).serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Text::deserialize(from)? {
            Text::Text(text) => PathBuf::from(text),
            Text::Bytes(bytes) => bytes.into_path_buf_lossy(),
        })
    }
}
