//! What becomes of a file that is cut short while it is mapped.

#![allow(unsafe_code)]

use std::io;

use crate::exit::Exit;

const MESSAGE: &[u8] =
    b"robosieve: a file became shorter, or its disk failed, while it was read: let whoever writes it finish, or read a copy\n";

/// Ends the process with a message where the system has no octets for a page of a map (SIGBUS).
///
/// Sources look at the length of their file before each batch; this is for what happens between two looks. What was to be written is not put in its place.
pub fn watch() -> io::Result<()> {
    let end = || {
        _ = rustix::io::write(rustix::stdio::stderr(), MESSAGE);
        signal_hook::low_level::exit(Exit::Error as i32);
    };
    // SAFETY: what runs in the handler may be run there: a system call on a constant, and `_exit`. It allocates nothing, takes no lock and can not panic.
    unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, end) }.map(drop)
}
