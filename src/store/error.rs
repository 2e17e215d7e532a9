//! What can be wrong with a store.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use crate::engine::program::Corrupt;

/// Why a store can not be opened, read or written.
#[derive(Debug)]
pub struct StoreError {
    path: Option<PathBuf>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Io(io::Error),
    Foreign,
    Version(u32),
    ByteOrder,
    UnknownDialect(String),
    Truncated { says: u64, has: u64 },
    Damaged(&'static str),
    Corrupt(Corrupt),
    TooLarge(&'static str),
    NoBodies,
    NoRecords,
}

impl StoreError {
    fn new(kind: Kind) -> StoreError {
        StoreError { path: None, kind }
    }

    pub(crate) fn io(error: io::Error) -> StoreError {
        StoreError::new(Kind::Io(error))
    }

    pub(crate) fn foreign() -> StoreError {
        StoreError::new(Kind::Foreign)
    }

    pub(crate) fn version(version: u32) -> StoreError {
        StoreError::new(Kind::Version(version))
    }

    pub(crate) fn byte_order() -> StoreError {
        StoreError::new(Kind::ByteOrder)
    }

    pub(crate) fn unknown_dialect(name: &str) -> StoreError {
        StoreError::new(Kind::UnknownDialect(name.to_owned()))
    }

    pub(crate) fn truncated(says: u64, has: u64) -> StoreError {
        StoreError::new(Kind::Truncated { says, has })
    }

    pub(crate) fn damaged(what: &'static str) -> StoreError {
        StoreError::new(Kind::Damaged(what))
    }

    pub(crate) fn corrupt(corrupt: Corrupt) -> StoreError {
        StoreError::new(Kind::Corrupt(corrupt))
    }

    pub(crate) fn too_large(what: &'static str) -> StoreError {
        StoreError::new(Kind::TooLarge(what))
    }

    pub(crate) fn no_bodies() -> StoreError {
        StoreError::new(Kind::NoBodies)
    }

    pub(crate) fn no_records() -> StoreError {
        StoreError::new(Kind::NoRecords)
    }

    /// The same error, of the file at `path`.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        StoreError { path: Some(path.to_path_buf()), ..self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Io(error) => write!(f, "{error}"),
            Kind::Foreign => f.write_str("not a store of compiled policies (make one with `robosieve compile`)"),
            Kind::Version(version) => write!(
                f,
                "a store of format version {version}, and this robosieve reads version {}: compile the policies again, or use the robosieve that wrote it",
                super::layout::VERSION
            ),
            Kind::ByteOrder => f.write_str("the byte order mark is wrong: the file was converted on its way; copy it again as binary"),
            Kind::UnknownDialect(name) => {
                write!(
                    f,
                    "the policies were read in the dialect {name:?}, which this robosieve does not know: use a newer one, or compile them again"
                )
            }
            Kind::Truncated { says, has } => {
                write!(f, "the store says it has {says} octets, and the file has {has}: copy it again, or compile the policies again")
            }
            Kind::Damaged(what) => write!(f, "the store is damaged ({what}): copy it again, or compile the policies again"),
            Kind::Corrupt(corrupt) => write!(f, "{corrupt}"),
            Kind::NoBodies => f.write_str(
                "the store keeps no bodies, so it can not be read in another dialect: compile the policies again without --no-bodies, or in that dialect with --dialect",
            ),
            Kind::NoRecords => f.write_str(
                "the store keeps no bodies, and what sites state about uses stands in them alone: compile the policies again without --no-bodies",
            ),
            Kind::TooLarge(what) => write!(f, "{what}: split the policies over several stores"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            Kind::Corrupt(corrupt) => Some(corrupt),
            _ => None,
        }
    }
}
