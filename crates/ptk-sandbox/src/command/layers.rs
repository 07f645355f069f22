//! Folders that a program changes only in appearance: overlayfs lays another
//! folder over them, and all changes go there.

use std::io;

use nix::mount::{MsFlags, mount};

use super::mounts::{self, by_handle, handle};
use super::policy::Layer;

/// Lays layers over their folders.
pub(super) fn lay(layers: &[Layer]) -> io::Result<()> {
    mounts::make_private()?;
    let folder = std::env::current_dir()?;
    layers.iter().try_for_each(lay_one)?;
    // The same name, but what is there now.
    std::env::set_current_dir(folder)
}

fn lay_one(layer: &Layer) -> io::Result<()> {
    let none = None::<&str>;
    let below = mounts::list()?
        .into_iter()
        .find(|mounted| mounted.path != layer.lower && mounted.path.starts_with(&layer.lower));
    if let Some(mounted) = below {
        // It would not be seen below the layer.
        let text = format!("something is mounted at {}", mounted.path.display());
        return Err(io::Error::other(text));
    }
    let handles = [&layer.lower, &layer.upper, &layer.work].map(|path| handle(path));
    let [lower, upper, work] = handles;
    let (lower, upper, work) = (lower?, upper?, work?);
    let through = layer.through.iter().map(|path| Ok((path, handle(path)?)));
    let through: Vec<_> = through.collect::<io::Result<_>>()?;
    // By handles, for a path may hold signs that mean something here. What is
    // written is moved to its place later, and need not be on the disk before.
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr,volatile",
        by_handle(&lower).display(),
        by_handle(&upper).display(),
        by_handle(&work).display(),
    );
    let harmless = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = Some(options.as_str());
    mount(
        Some("overlay"),
        &layer.lower,
        Some("overlay"),
        harmless,
        options,
    )?;
    for (path, file) in through {
        let source = by_handle(&file);
        mount(Some(&source), path, none, MsFlags::MS_BIND, none)?;
    }
    Ok(())
}
