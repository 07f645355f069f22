//! A tree of files as a project has them, the same every time.

use std::fs;
use std::io;
use std::path::Path;

/// How many files a folder has, its ignored ones not counted.
const PER_FOLDER: usize = 16;
const WORDS: [&str; 24] = [
    "let", "value", "result", "match", "fn", "return", "struct", "self", "config", "buffer",
    "index", "error", "message", "parse", "token", "stream", "async", "await", "option", "string",
    "vector", "iterator", "Request", "Response",
];
const ENDINGS: [&str; 5] = ["rs", "ts", "py", "md", "json"];

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % end
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.get(self.below(all.len())).copied().unwrap_or("")
    }
}

/// Writes about `files` files: source text of 1 to 6 KB, every fiftieth file
/// binary, ignore files at the top and in every tenth folder, and ignored
/// folders with files of their own.
pub(crate) fn plant(root: &Path, files: usize) -> io::Result<()> {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    fs::create_dir_all(root.join(".git/info"))?;
    fs::write(
        root.join(".gitignore"),
        "target/\nnode_modules/\n*.log\n*.tmp\n",
    )?;
    for folder in 0..files.div_ceil(PER_FOLDER) {
        let (package, module) = (folder / 40, folder % 40);
        let path = match module % 4 {
            0 => format!("package{package}/src/module{module}"),
            1 => format!("package{package}/src/deep/er/module{module}"),
            2 => format!("package{package}/tests/module{module}"),
            _ => format!("package{package}/module{module}"),
        };
        let path = root.join(path);
        fs::create_dir_all(&path)?;
        if folder % 10 == 0 {
            fs::write(path.join(".gitignore"), "/generated\n*.bak\n!keep.bak\n")?;
            fs::create_dir_all(path.join("generated"))?;
            for number in 0..4 {
                fs::write(
                    path.join(format!("generated/g{number}.rs")),
                    text(&mut numbers),
                )?;
            }
            fs::write(path.join("debug.log"), text(&mut numbers))?;
        }
        for file in 0..PER_FOLDER {
            let number = folder * PER_FOLDER + file;
            if number >= files {
                break;
            }
            let ending = numbers.pick(&ENDINGS);
            let path = path.join(format!("file_{file}.{ending}"));
            if number % 50 == 49 {
                let bytes: Vec<u8> = (0..4_096)
                    .map(|_| u8::try_from(numbers.below(256)).unwrap_or(0))
                    .collect();
                fs::write(path, bytes)?;
            } else {
                fs::write(path, text(&mut numbers))?;
            }
        }
    }
    Ok(())
}

fn text(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for _ in 0..20 + numbers.below(100) {
        for _ in 0..numbers.below(4) {
            text.push_str("    ");
        }
        for _ in 0..2 + numbers.below(9) {
            text.push_str(numbers.pick(&WORDS));
            text.push(' ');
        }
        if numbers.below(20_000) == 0 {
            text.push_str("needle_in_the_haystack");
        }
        text.push('\n');
    }
    text
}
