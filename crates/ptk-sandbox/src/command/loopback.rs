//! The loopback of a network of its own, so that a program can talk to itself.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// The type of a request that changes an interface.
const NEW_LINK: u16 = 16;
/// The flags of a request that wants an answer.
const REQUEST: u16 = 1 | 4;
/// The first interface that there is.
const LOOPBACK: i32 = 1;
/// The flag of an interface that is up.
const UP: u32 = 1;
/// The length of a request: a head and the description of an interface.
const LENGTH: u32 = 32;

/// Switches the loopback interface on.
pub(super) fn up() -> io::Result<()> {
    // Protocol 0 of this family is that of interfaces and routes.
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::RAW, flags, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(), SendFlags::empty(), &kernel)?;
    let mut answer = [0; 64];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // Behind the head of an answer there is the number of an error, negative.
    let error = answer.get(16..20).filter(|_| length >= 20);
    let error = error.and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(NEW_LINK.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // The number of the request and of its sender: neither matters here.
    bytes.extend([0; 8]);
    // Any family, any kind.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    // The flags, and which of them are meant.
    bytes.extend(UP.to_ne_bytes());
    bytes.extend(UP.to_ne_bytes());
    bytes
}
