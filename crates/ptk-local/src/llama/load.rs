//! Loads a model from a file, if there is enough memory for it.

use std::path::Path;
use std::sync::OnceLock;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

use super::trouble::Trouble;

/// The memory in bytes needed beside the model: compute buffers, and the rest
/// of the program.
const BESIDE: u64 = 64 * 1024 * 1024;
const MB: u64 = 1024 * 1024;

/// The llama.cpp backend, initialised once.
pub(super) fn backend() -> Result<&'static LlamaBackend, Trouble> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        // Its log would appear between the lines of answers.
        backend.void_logs();
        Ok(backend)
    });
    backend
        .as_ref()
        .map_err(|error| Trouble::Failed(error.clone()))
}

/// Loads the model in a file. `progress` is called with a value from 0 to 1,
/// and returns whether to continue.
pub(super) fn load(
    file: &Path,
    progress: impl FnMut(f32) -> bool + 'static,
) -> Result<LlamaModel, Trouble> {
    if !fits_processor() {
        return Err(Trouble::Processor);
    }
    let params = LlamaModelParams::default().with_progress_callback(progress);
    LlamaModel::load_from_file(backend()?, file, &params).map_err(|error| Trouble::Refused {
        what: "load",
        file: file.to_owned(),
        why: error.to_string(),
    })
}

/// Checks that the model and a window of this many tokens fit into memory.
pub(super) fn check_memory(file: &Path, model: &LlamaModel, window: u32) -> Result<(), Trouble> {
    let wanted = model.size() + u64::from(window) * bytes_of_a_token(model) + BESIDE;
    match available_memory() {
        Some(free) if free < wanted => Err(Trouble::Memory {
            file: file.display().to_string(),
            window,
            wanted: wanted / MB,
            free: free / MB,
        }),
        _ => Ok(()),
    }
}

/// The bytes that a token takes in the KV cache: keys and values of all layers,
/// in two bytes each.
fn bytes_of_a_token(model: &LlamaModel) -> u64 {
    let width = u64::try_from(model.n_embd()).unwrap_or(0);
    let heads = u64::from(model.n_head()).max(1);
    let head = width / heads;
    u64::from(model.n_layer()) * u64::from(model.n_head_kv()) * head * 4
}

/// The available memory in bytes.
fn available_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(target_arch = "x86_64")]
fn fits_processor() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

#[cfg(not(target_arch = "x86_64"))]
const fn fits_processor() -> bool {
    true
}
