//! The body of a response, within bounds.

use futures_util::StreamExt as _;
use reqwest::Response;

/// The most bytes of an answer that came as a whole, or of one event.
pub(super) const MAX_WHOLE: usize = 64 * 1024 * 1024;

/// The beginning of a response, as far as it came.
pub(super) async fn start_of(response: Response, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            bytes.truncate(most);
            break;
        }
    }
    bytes
}
