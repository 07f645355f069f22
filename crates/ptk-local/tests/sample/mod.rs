//! Builds GGUF files for tests.

/// A file under construction.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    version: u32,
    pairs: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    weights: usize,
}

impl Sample {
    /// A file with nothing but its version.
    pub(crate) fn bare(version: u32) -> Self {
        Self {
            version,
            pairs: Vec::new(),
            tensors: Vec::new(),
            weights: 0,
        }
    }

    /// A tiny model with all the metadata that is read: 1,056 parameters.
    pub(crate) fn model() -> Self {
        Self::bare(3)
            .text("general.architecture", "llama")
            .text("general.name", "Tiny")
            .text("general.license", "mit")
            .number("general.file_type", 2)
            .number("llama.context_length", 2048)
            .texts("tokenizer.ggml.tokens", &["<s>", "a", "b"])
            .text("tokenizer.chat_template", "{{ messages }}")
            .tensor("a", &[32, 32], 2, 32 * 18)
            .tensor("b", &[32], 0, 32 * 4)
    }

    /// Adds a value of this type.
    pub(crate) fn value(mut self, key: &str, kind: u32, bytes: &[u8]) -> Self {
        let pair = [&text(key), &kind.to_le_bytes()[..], bytes].concat();
        self.pairs.push(pair);
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.value(key, 8, &text(value))
    }

    pub(crate) fn number(self, key: &str, value: u32) -> Self {
        self.value(key, 4, &value.to_le_bytes())
    }

    pub(crate) fn texts(self, key: &str, values: &[&str]) -> Self {
        let mut list = list(8, values.len() as u64);
        list.extend(values.iter().flat_map(|value| text(value)));
        self.value(key, 9, &list)
    }

    /// Adds a tensor after the last one.
    pub(crate) fn tensor(
        mut self,
        name: &str,
        dimensions: &[u64],
        kind: u32,
        bytes: usize,
    ) -> Self {
        let mut tensor = text(name);
        tensor.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        for size in dimensions {
            tensor.extend(size.to_le_bytes());
        }
        tensor.extend(kind.to_le_bytes());
        tensor.extend((self.weights as u64).to_le_bytes());
        self.tensors.push(tensor);
        self.weights += bytes;
        self
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.pairs.len() as u64).to_le_bytes());
        bytes.extend(self.pairs.concat());
        bytes.extend(self.tensors.concat());
        let begin = bytes.len().next_multiple_of(32);
        bytes.resize(begin + self.weights, 7);
        bytes
    }
}

/// A text as it is encoded in the file.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let length = (text.len() as u64).to_le_bytes();
    [&length, text.as_bytes()].concat()
}

/// The head of an encoded list.
pub(crate) fn list(kind: u32, count: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes()[..]].concat()
}
