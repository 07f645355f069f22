//! Parses the header of a GGUF file: a model's metadata. Files are not trusted:
//! every length is checked against the size of the file before it is used, and
//! what is kept is bounded.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The first bytes of every GGUF file.
const MAGIC: [u8; 4] = *b"GGUF";
/// The first bytes of a Git LFS pointer, whose content was not fetched.
const POINTER: &[u8] = b"version https://git-lfs";
/// The longest header: the largest vocabularies take 20 MB.
const MAX_HEADER: u64 = 128 * 1024 * 1024;
/// The longest key, by the format.
const MAX_KEY: u64 = 65_535;
/// The most bytes of a text value that are kept.
const MAX_TEXT: u64 = 512;
/// How deep lists may be nested.
const MAX_DEPTH: u8 = 4;
/// The most dimensions of a tensor. Today's have at most four.
const MAX_DIMENSIONS: u32 = 8;
/// The largest alignment that makes sense.
const MAX_ALIGNMENT: u64 = 1024 * 1024;
/// The default alignment.
const ALIGNMENT: u64 = 32;
/// The most context lengths that are kept until the architecture is known.
const MAX_LENGTHS: usize = 16;
/// The fewest bytes of a key with its value.
const LEAST_PAIR: u64 = 8 + 4 + 1;
/// The fewest bytes that describe a tensor.
const LEAST_TENSOR: u64 = 8 + 4 + 4 + 8;

/// The metadata of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gguf {
    /// The architecture, such as `llama`.
    pub architecture: String,
    /// The name that its authors gave it.
    pub name: Option<String>,
    /// The number of parameters.
    pub parameters: u64,
    /// The quantisation, such as `Q4_1`.
    pub quantisation: Option<String>,
    /// The context length that it was trained for, in tokens.
    pub context_length: Option<u64>,
    /// The licence, as its authors name it.
    pub licence: Option<String>,
    /// Whether it has a chat template.
    pub has_chat_template: bool,
}

/// Why a file cannot be read as a model.
#[derive(Debug, thiserror::Error)]
#[error("{} {fault}", path.display())]
pub struct GgufError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system would not let it be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is a folder, a pipe or a device.
    #[error("is not a file")]
    NoFile,
    /// It is not a GGUF file.
    #[error("is no GGUF file; models for llama.cpp are, and their names end in .gguf")]
    NotGguf,
    /// It is a Git LFS pointer.
    #[error("only says where the model is; fetch it with `git lfs pull`")]
    Pointer,
    /// Its version is too old or too new.
    #[error(
        "is GGUF of version {0}, and 2 and 3 can be read; convert it anew with llama.cpp's scripts"
    )]
    Version(u32),
    /// It is big-endian.
    #[error("is for machines with big-endian numbers; get the ordinary one")]
    BigEndian,
    /// It is shorter than its header says.
    #[error("is cut off: it has {there} bytes and would need {wanted}; get it again")]
    Truncated {
        /// Its size in bytes.
        there: u64,
        /// The size that it should have at least.
        wanted: u64,
    },
    /// It contradicts itself.
    #[error("is damaged: {0}; get it again")]
    Damaged(&'static str),
    /// It is one part of a split model.
    #[error(
        "is part {part} of {parts} of a model; join them with llama.cpp's `llama-gguf-split --merge`"
    )]
    Split {
        /// The number of the part, from 1.
        part: u64,
        /// The number of parts.
        parts: u64,
    },
}

impl Gguf {
    /// Reads the metadata of the model in a file.
    ///
    /// # Errors
    ///
    /// If it is not a whole model.
    pub fn read(path: &Path) -> Result<Self, GgufError> {
        let read = || {
            // Opening a pipe would block.
            let about = std::fs::metadata(path).map_err(Fault::Unreadable)?;
            if !about.is_file() {
                return Err(Fault::NoFile);
            }
            let file = File::open(path).map_err(Fault::Unreadable)?;
            Header::of(BufReader::new(file), about.len()).read()
        };
        read().map_err(|fault| GgufError {
            path: path.to_owned(),
            fault,
        })
    }
}

/// A parsed value.
enum Value {
    Number(u64),
    Text(String),
    Other,
}

/// The types of values, by their numbers in the format.
#[derive(Clone, Copy)]
enum Kind {
    /// An unsigned integer of this many bytes.
    Whole(u64),
    /// A signed integer of this many bytes.
    Signed(u64),
    /// Any other value of this many bytes.
    Bytes(u64),
    Text,
    List,
}

impl Kind {
    const fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Whole(1),
            1 => Self::Signed(1),
            2 => Self::Whole(2),
            3 => Self::Signed(2),
            4 => Self::Whole(4),
            5 => Self::Signed(4),
            6 => Self::Bytes(4),
            7 => Self::Bytes(1),
            8 => Self::Text,
            9 => Self::List,
            10 => Self::Whole(8),
            11 => Self::Signed(8),
            12 => Self::Bytes(8),
            _ => return None,
        })
    }

    /// The fewest bytes of such a value.
    const fn least(self) -> u64 {
        match self {
            Self::Whole(bytes) | Self::Signed(bytes) | Self::Bytes(bytes) => bytes,
            Self::Text => 8,
            Self::List => 12,
        }
    }
}

/// Metadata collected from the key-value pairs.
#[derive(Default)]
struct Said {
    architecture: Option<String>,
    name: Option<String>,
    licence: Option<String>,
    file_type: Option<u64>,
    alignment: Option<u64>,
    has_chat_template: bool,
    part: Option<u64>,
    parts: Option<u64>,
    lengths: Vec<(String, u64)>,
}

impl Said {
    fn take(&mut self, key: &str, value: Value) {
        match (key, value) {
            ("general.architecture", Value::Text(text)) => self.architecture = Some(text),
            ("general.name", Value::Text(text)) => self.name = Some(text),
            ("general.license", Value::Text(text)) => self.licence = Some(text),
            ("general.file_type", Value::Number(number)) => self.file_type = Some(number),
            ("general.alignment", Value::Number(number)) => self.alignment = Some(number),
            ("tokenizer.chat_template", Value::Text(text)) => {
                self.has_chat_template = !text.is_empty();
            }
            ("split.no", Value::Number(number)) => self.part = Some(number),
            ("split.count", Value::Number(number)) => self.parts = Some(number),
            (key, Value::Number(number)) => {
                let architecture = key.strip_suffix(".context_length");
                if let Some(name) = architecture.filter(|_| self.lengths.len() < MAX_LENGTHS) {
                    self.lengths.push((name.to_owned(), number));
                }
            }
            _ => {}
        }
    }
}

struct Header<R> {
    reader: BufReader<R>,
    at: u64,
    size: u64,
}

impl<R: Read + Seek> Header<R> {
    const fn of(reader: BufReader<R>, size: u64) -> Self {
        Self {
            reader,
            at: 0,
            size,
        }
    }

    fn read(mut self) -> Result<Gguf, Fault> {
        self.begin()?;
        let tensors = self.u64()?;
        let pairs = self.u64()?;
        self.hold(tensors, LEAST_TENSOR)?;
        self.hold(pairs, LEAST_PAIR)?;
        let mut said = Said::default();
        for _ in 0..pairs {
            let key = self.key()?;
            let value = self.value()?;
            said.take(&key, value);
        }
        if let Some(parts) = said.parts.filter(|parts| *parts > 1) {
            let part = said.part.unwrap_or_default().saturating_add(1);
            return Err(Fault::Split { part, parts });
        }
        let (parameters, weights) = self.tensors(tensors)?;
        let alignment = said.alignment.unwrap_or(ALIGNMENT);
        if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return Err(Fault::Damaged("its alignment makes no sense"));
        }
        let begin = self.at.next_multiple_of(alignment);
        let wanted = begin.checked_add(weights).ok_or(LIES)?;
        if tensors > 0 && wanted > self.size {
            return Err(self.truncated(wanted));
        }
        let architecture = said
            .architecture
            .filter(|text| !text.is_empty())
            .ok_or(Fault::Damaged("it does not name its architecture"))?;
        let mut lengths = said.lengths.into_iter();
        let length = lengths.find(|(name, _)| *name == architecture);
        Ok(Gguf {
            architecture,
            name: said.name.filter(|text| !text.is_empty()),
            parameters,
            quantisation: said.file_type.and_then(quantisation).map(str::to_owned),
            context_length: length.map(|(_, tokens)| tokens),
            licence: said.licence.filter(|text| !text.is_empty()),
            has_chat_template: said.has_chat_template,
        })
    }

    /// Reads the magic and the version.
    fn begin(&mut self) -> Result<(), Fault> {
        let mut first = [0; POINTER.len()];
        let mut taken = 0;
        // A file may be shorter than the longest beginning.
        while let Some(rest) = first.get_mut(taken..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest).map_err(Fault::Unreadable)? {
                0 => break,
                read => taken += read,
            }
        }
        self.reader.rewind().map_err(Fault::Unreadable)?;
        if first == POINTER {
            return Err(Fault::Pointer);
        }
        if !first.starts_with(&MAGIC) {
            return Err(Fault::NotGguf);
        }
        self.skip(4)?;
        match self.u32()? {
            2 | 3 => Ok(()),
            version if (1..=0xff).contains(&version.swap_bytes()) => Err(Fault::BigEndian),
            version => Err(Fault::Version(version)),
        }
    }

    /// Counts the parameters and the bytes of all tensors.
    fn tensors(&mut self, count: u64) -> Result<(u64, u64), Fault> {
        let (mut parameters, mut weights) = (0_u64, 0_u64);
        for _ in 0..count {
            let name = self.length()?;
            self.skip(name)?;
            let dimensions = self.u32()?;
            if dimensions > MAX_DIMENSIONS {
                return Err(Fault::Damaged("a tensor has too many dimensions"));
            }
            let mut numbers = 1_u64;
            for _ in 0..dimensions {
                numbers = numbers.checked_mul(self.u64()?).ok_or(LIES)?;
            }
            let kind = self.u32()?;
            let offset = self.u64()?;
            // The size of an unknown type is not known, only its offset.
            let bytes = match block(kind) {
                Some((per_block, bytes)) => {
                    let blocks = numbers.div_ceil(per_block);
                    blocks.checked_mul(bytes).ok_or(LIES)?
                }
                None => 0,
            };
            weights = weights.max(offset.checked_add(bytes).ok_or(LIES)?);
            parameters = parameters.checked_add(numbers).ok_or(LIES)?;
        }
        Ok((parameters, weights))
    }

    fn key(&mut self) -> Result<String, Fault> {
        let length = self.length()?;
        if length > MAX_KEY {
            return Err(Fault::Damaged("a key is too long"));
        }
        self.text(length)
    }

    fn value(&mut self) -> Result<Value, Fault> {
        match self.kind()? {
            Kind::Whole(bytes) => Ok(Value::Number(self.number(bytes)?)),
            Kind::Signed(bytes) => {
                let number = self.number(bytes)?;
                let is_negative = number >> (bytes * 8 - 1) != 0;
                Ok(if is_negative {
                    Value::Other
                } else {
                    Value::Number(number)
                })
            }
            Kind::Bytes(bytes) => {
                self.skip(bytes)?;
                Ok(Value::Other)
            }
            Kind::Text => {
                let length = self.length()?;
                let kept = length.min(MAX_TEXT);
                let text = self.text(kept)?;
                self.skip(length - kept)?;
                Ok(Value::Text(text))
            }
            Kind::List => {
                self.list(MAX_DEPTH)?;
                Ok(Value::Other)
            }
        }
    }

    fn kind(&mut self) -> Result<Kind, Fault> {
        let number = self.u32()?;
        Kind::of(number).ok_or(Fault::Damaged("a value is of no known kind"))
    }

    fn number(&mut self, bytes: u64) -> Result<u64, Fault> {
        let mut number = [0; 8];
        let into = usize::try_from(bytes).ok();
        let into = into.and_then(|bytes| number.get_mut(..bytes));
        self.fill(into.unwrap_or_default())?;
        Ok(u64::from_le_bytes(number))
    }

    /// Skips a list.
    fn list(&mut self, depth: u8) -> Result<(), Fault> {
        let kind = self.kind()?;
        let count = self.u64()?;
        self.hold(count, kind.least())?;
        match kind {
            Kind::Whole(bytes) | Kind::Signed(bytes) | Kind::Bytes(bytes) => {
                self.skip(count.checked_mul(bytes).ok_or(LIES)?)
            }
            Kind::Text => (0..count).try_for_each(|_| {
                let length = self.length()?;
                self.skip(length)
            }),
            Kind::List => {
                let depth = depth.checked_sub(1);
                let depth = depth.ok_or(Fault::Damaged("lists lie in lists too deeply"))?;
                (0..count).try_for_each(|_| self.list(depth))
            }
        }
    }

    /// Reads a text of this many bytes.
    fn text(&mut self, length: u64) -> Result<String, Fault> {
        self.need(length)?;
        let mut bytes = Vec::new();
        let mut limited = (&mut self.reader).take(length);
        limited.read_to_end(&mut bytes).map_err(Fault::Unreadable)?;
        self.at += length;
        if bytes.len() as u64 != length {
            return Err(self.truncated(self.at));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the length of the text that follows.
    fn length(&mut self) -> Result<u64, Fault> {
        let length = self.u64()?;
        self.need(length)?;
        Ok(length)
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        let length = bytes.len() as u64;
        self.need(length)?;
        self.reader.read_exact(bytes).map_err(Fault::Unreadable)?;
        self.at += length;
        Ok(())
    }

    fn skip(&mut self, length: u64) -> Result<(), Fault> {
        self.need(length)?;
        let signed = i64::try_from(length).map_err(|_| LIES)?;
        self.reader
            .seek_relative(signed)
            .map_err(Fault::Unreadable)?;
        self.at += length;
        Ok(())
    }

    /// Checks that this many values fit into the rest of the file.
    fn hold(&self, count: u64, least: u64) -> Result<(), Fault> {
        let rest = self.size.min(MAX_HEADER).saturating_sub(self.at);
        match count.checked_mul(least) {
            Some(bytes) if bytes <= rest => Ok(()),
            _ => Err(LIES),
        }
    }

    /// Checks that the file, and the longest header, have this many more bytes.
    fn need(&self, bytes: u64) -> Result<(), Fault> {
        let end = self.at.checked_add(bytes).ok_or(LIES)?;
        if end > self.size {
            return Err(self.truncated(end));
        }
        if end > MAX_HEADER {
            return Err(Fault::Damaged("its header has no end"));
        }
        Ok(())
    }

    const fn truncated(&self, wanted: u64) -> Fault {
        Fault::Truncated {
            there: self.size,
            wanted,
        }
    }
}

/// A count or length exceeds the size of the file.
const LIES: Fault = Fault::Damaged("it says that it has more than fits into it");

/// The name of a quantisation, by its number (`general.file_type`).
const fn quantisation(file_type: u64) -> Option<&'static str> {
    /// The flag for a number that was guessed.
    const GUESSED: u64 = 1024;
    Some(match file_type & !GUESSED {
        0 => "F32",
        1 => "F16",
        2 => "Q4_0",
        3 => "Q4_1",
        7 => "Q8_0",
        8 => "Q5_0",
        9 => "Q5_1",
        10 => "Q2_K",
        11 => "Q3_K_S",
        12 => "Q3_K_M",
        13 => "Q3_K_L",
        14 => "Q4_K_S",
        15 => "Q4_K_M",
        16 => "Q5_K_S",
        17 => "Q5_K_M",
        18 => "Q6_K",
        19 => "IQ2_XXS",
        20 => "IQ2_XS",
        21 => "Q2_K_S",
        22 => "IQ3_XS",
        23 => "IQ3_XXS",
        24 => "IQ1_S",
        25 => "IQ4_NL",
        26 => "IQ3_S",
        27 => "IQ3_M",
        28 => "IQ2_S",
        29 => "IQ2_M",
        30 => "IQ4_XS",
        31 => "IQ1_M",
        32 => "BF16",
        36 => "TQ1_0",
        37 => "TQ2_0",
        38 => "MXFP4",
        39 => "NVFP4",
        40 => "Q1_0",
        _ => return None,
    })
}

/// The block size of a tensor type, in numbers and in bytes.
const fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        24 => (1, 1),
        27 | 28 => (1, 8),
        29 => (256, 56),
        34 => (256, 54),
        39 => (32, 17),
        40 => (64, 36),
        41 => (128, 18),
        _ => return None,
    })
}
