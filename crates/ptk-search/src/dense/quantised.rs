//! Vectors quantised to one byte for each dimension.

/// The greatest absolute value of a byte.
const GREATEST: f32 = 127.0;

/// Vectors of the same length, one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Quantised {
    dimensions: usize,
    /// The scale of each vector, by which its bytes are multiplied.
    scales: Vec<f32>,
    bytes: Vec<i8>,
}

impl Quantised {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions: dimensions.max(1),
            ..Self::default()
        }
    }

    pub(crate) const fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(crate) const fn len(&self) -> usize {
        self.scales.len()
    }

    /// Adds a vector. Missing values and values that are not numbers become
    /// zero, and excess ones are dropped.
    pub(crate) fn push(&mut self, vector: &[f32]) {
        let finite = |value: &f32| if value.is_finite() { *value } else { 0.0 };
        let values = vector.iter().map(finite).chain(std::iter::repeat(0.0));
        let values = values.take(self.dimensions);
        let greatest = values.clone().fold(0.0_f32, |most, it| most.max(it.abs()));
        let scale = greatest / GREATEST;
        let by = if scale > 0.0 { scale.recip() } else { 0.0 };
        #[allow(
            clippy::cast_possible_truncation,
            reason = "rounded, and no more than 127 either way"
        )]
        self.bytes
            .extend(values.map(|value| (value * by).round() as i8));
        self.scales.push(scale);
    }

    /// Adds a vector that is already quantised.
    pub(crate) fn push_kept(&mut self, scale: f32, bytes: impl Iterator<Item = i8>) {
        self.scales.push(scale);
        self.bytes.extend(bytes);
        self.bytes.resize(self.scales.len() * self.dimensions, 0);
    }

    pub(crate) fn get(&self, place: usize) -> Option<(f32, &[i8])> {
        let begin = place.checked_mul(self.dimensions)?;
        let bytes = self.bytes.get(begin..begin.checked_add(self.dimensions)?)?;
        Some((*self.scales.get(place)?, bytes))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (f32, &[i8])> {
        let vectors = self.bytes.chunks_exact(self.dimensions);
        self.scales.iter().copied().zip(vectors)
    }
}

/// The dot product of a vector and a query.
pub(crate) fn product(scale: f32, bytes: &[i8], query: &[f32]) -> f32 {
    // Eight independent sums, which the compiler vectorises.
    let mut sums = [0.0_f32; 8];
    let (bytes, last_bytes) = bytes.as_chunks::<8>();
    let (query, last_query) = query.as_chunks::<8>();
    for (bytes, query) in bytes.iter().zip(query) {
        for ((sum, byte), value) in sums.iter_mut().zip(bytes).zip(query) {
            *sum += f32::from(*byte) * value;
        }
    }
    for ((sum, byte), value) in sums.iter_mut().zip(last_bytes).zip(last_query) {
        *sum += f32::from(*byte) * value;
    }
    scale * sums.iter().sum::<f32>()
}
