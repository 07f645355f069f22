//! Says to the linker which functions `ptk serve` runs. They lie side by side
//! then, and the system, which maps a good many pages around each that is asked
//! for, does not hold half of the program in memory for the sake of a tenth.
//!
//! `scripts/serve-order` makes the list. What is not in it, and what is in it
//! and no longer in the program, does no harm.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const LIST: &str = "serve.order";
/// The first C library whose loader reads packed relocations. They take a
/// fiftieth of the others, all of which are read when a program starts.
const PACKED: (u32, u32) = (2, 36);

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if !is_known_linker() {
        return Ok(());
    }
    let script = Path::new(&env::var("OUT_DIR")?).join("serve.ld");
    fs::write(&script, linker_script(&fs::read_to_string(LIST)?)?)?;
    println!("cargo::rustc-link-arg-bin=ptk=-T{}", script.display());
    if c_library().is_some_and(|version| version >= PACKED) {
        println!("cargo::rustc-link-arg-bin=ptk=-Wl,-z,pack-relative-relocs");
    }
    Ok(())
}

/// Whether a release is made with the linker that comes with Rust, for the
/// system that it is made on.
fn is_known_linker() -> bool {
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("PROFILE", "release")
        && is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && !flags.contains("link")
}

/// A section with all functions of the list, before all others, and one with
/// the constants of their crates. Each line of the list has a crate, or `*`, and
/// the name of a function; a line with nothing in it stands between those that
/// run often and others.
fn linker_script(list: &str) -> Result<String, std::fmt::Error> {
    let mut code = String::new();
    let mut all = BTreeSet::new();
    for part in list.split("\n\n") {
        let mut crates: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (of, name) in part.lines().filter_map(|line| line.split_once(' ')) {
            crates.entry(of).or_default().push(name);
        }
        for (of, names) in crates {
            write!(code, "    {}(", files(of))?;
            for name in names {
                // The compiler puts aside what seldom runs.
                write!(code, ".text.{name}* .text.unlikely.{name}* ")?;
            }
            code.push_str(")\n");
            all.insert(of);
        }
    }
    let mut constants = String::new();
    for of in all.into_iter().filter(|of| *of != "*") {
        writeln!(constants, "    {}(.rodata .rodata.*)", files(of))?;
    }
    Ok(format!(
        "SECTIONS {{\n  .text.serve : {{\n{code}  }}\n}}\nINSERT BEFORE .text;\n\
         SECTIONS {{\n  .rodata.serve : {{\n{constants}  }}\n}}\nINSERT AFTER .rodata;\n"
    ))
}

/// What the compiler has made of a crate.
fn files(of: &str) -> String {
    match of {
        "*" => of.to_owned(),
        of => format!("*.{of}.*-cgu.*"),
    }
}

/// The version of the C library here.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let told = String::from_utf8(told.ok()?.stdout).ok()?;
    let (major, minor) = told.trim().rsplit(' ').next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
