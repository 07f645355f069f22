//! Indexes of workspaces, through the public face.

mod damage;
mod filters;
mod incremental;
mod odd_files;
mod workspace;
