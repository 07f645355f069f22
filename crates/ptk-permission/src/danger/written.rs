//! Files that are written, and those that are lost by it.

use std::path::Path;

use super::targets::{Location, real, size};
use super::{Inspector, has_any};
use crate::shell::{RedirectMode, ShellCommand, Word};

/// Devices that can be written without harm.
const HARMLESS: [&str; 6] = ["null", "stdout", "stderr", "full", "zero", "tty"];

impl Inspector<'_> {
    pub(super) fn redirects(&mut self, command: &ShellCommand) {
        let by = command.name().unwrap_or("it").to_owned();
        for redirect in &command.redirects {
            if redirect.mode != RedirectMode::Read {
                let is_emptied = redirect.mode == RedirectMode::Write;
                self.written(&by, &redirect.target, command, is_emptied);
            }
        }
    }

    /// Checks a file that is written, and whether it is emptied before.
    fn written(&mut self, by: &str, target: &Word, command: &ShellCommand, is_emptied: bool) {
        let Some(path) = self.around.path(target, &command.folder) else {
            self.warn(format!(
                "which file {by} writes with {target} is not known before it runs"
            ));
            return;
        };
        let path = real(&path);
        if let Some(device) = device(&path) {
            self.refuse(format!("{by} would overwrite the device {device}"));
            return;
        }
        if path.starts_with("/dev") {
            return;
        }
        let shown = self.around.shown(&path);
        if self.around.lies(&path) != Location::Inside {
            self.warn(format!("{by} would write {shown}, outside the workspace"));
        }
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file);
        if let Some(metadata) = metadata.filter(|it| is_emptied && it.len() > 0) {
            let size = size(metadata.len());
            self.warn(format!("{by} would overwrite {shown} ({size})"));
        }
    }

    pub(super) fn copied(&mut self, command: &ShellCommand) {
        let target = command.args().iter().find_map(|arg| arg.without("of="));
        if let Some(target) = target {
            self.written("dd", &target, command, true);
        }
    }

    /// Checks files that are moved or copied over others.
    pub(super) fn moved(&mut self, name: &str, command: &ShellCommand) {
        let args = command.args();
        if has_any(command, &["-n", "--no-clobber", "-i", "--interactive"])
            || name == "ln" && !has_any(command, &["-f", "-sf", "-fs", "-sfn", "-nsf", "--force"])
        {
            return;
        }
        let words: Vec<&Word> = args
            .iter()
            .filter(|arg| !arg.start().starts_with('-'))
            .collect();
        let Some((target, sources)) = words
            .split_last()
            .filter(|(_, sources)| !sources.is_empty())
        else {
            return;
        };
        let target_path = self.around.path(target, &command.folder);
        let folder = target_path.filter(|path| path.is_dir());
        let Some(folder) = folder else {
            self.written(name, target, command, true);
            return;
        };
        for source in sources {
            let files = self
                .around
                .files(source, &command.folder)
                .unwrap_or_default();
            for file in files.iter().filter_map(|file| file.file_name()) {
                let path = folder.join(file);
                let target = Word::plain(&path.to_string_lossy());
                self.written(name, &target, command, true);
            }
        }
    }

    pub(super) fn written_by_name(&mut self, name: &str, command: &ShellCommand) {
        let is_emptied = name == "truncate" || !has_any(command, &["-a", "--append"]);
        let words = command.args().iter();
        for target in words.filter(|arg| !arg.start().starts_with('-')) {
            self.written(name, target, command, is_emptied);
        }
    }
}

/// A device that must not be written, by its path.
fn device(path: &Path) -> Option<String> {
    let device = path.strip_prefix("/dev").ok()?.to_str()?;
    let is_harmless = device.is_empty()
        || HARMLESS.contains(&device)
        || ["fd/", "shm/", "pts/", "tcp/", "udp/"]
            .iter()
            .any(|it| device.starts_with(it));
    (!is_harmless).then(|| path.display().to_string())
}
