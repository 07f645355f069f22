//! The gateway through HTTP: a real one on a port of its own, in front of a
//! scripted model.

mod chat;
mod messages;
mod ollama;
mod pages;
mod responses;
mod scene;
