//! Decoders of other crates, some of which panic on damaged input.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would become an error: whoever sets a panic hook may want to say nothing then.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// What `read` gives, or the message of its panic. What it borrows must be of no use after a panic.
pub(super) fn guard<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(before);
    result.map_err(|panic| message_of(&*panic).to_owned())
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the decoder gave up")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_message() {
        assert_eq!(guard(is_guarded), Ok(true));
        assert_eq!(guard(|| -> u8 { panic!("no page {}", 7) }), Err("no page 7".to_owned()));
        assert!(!is_guarded());
    }
}
