//! Numbers that look random and are the same every time.

/// The `SplitMix64` generator: the same cuts every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Cuts a text: one cut in two to thirty-three characters on average.
    pub(crate) fn pieces<'t>(&mut self, text: &'t str) -> Vec<&'t str> {
        let every = self.next() % 32 + 2;
        let mut pieces = Vec::new();
        let mut start = 0;
        for (at, _) in text.char_indices().skip(1) {
            if self.next().is_multiple_of(every) {
                pieces.push(text.get(start..at).unwrap_or_default());
                start = at;
            }
        }
        pieces.push(text.get(start..).unwrap_or_default());
        pieces
    }
}
