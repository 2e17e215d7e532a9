//! Metadata: the small things, through a general codec. All of the dependency on that codec is here.

use serde::{Deserialize, Serialize};

use super::error::StoreError;

/// No metadata is larger.
const LIMIT: usize = 1 << 16;

/// What a store was made from and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Meta {
    /// The version of robosieve that wrote it.
    pub version: String,
    /// The dialect the policies were read in.
    pub dialect: String,
    /// How many octets of each body were read; `None` for all.
    pub byte_limit: Option<u64>,
    /// Whether bodies were kept.
    pub has_bodies: bool,
    /// Whether its one policy answers for every origin.
    pub any_origin: bool,
    /// What origins are hashed with.
    pub hash_seed: u64,
}

impl Meta {
    fn config() -> impl bincode::config::Config {
        bincode::config::standard().with_little_endian().with_fixed_int_encoding().with_limit::<LIMIT>()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        bincode::serde::encode_to_vec(self, Meta::config()).expect("plain fields have an encoding")
    }

    pub(super) fn decode(octets: &[u8]) -> Result<Meta, StoreError> {
        let damaged = || StoreError::damaged("metadata");
        let (meta, used) = bincode::serde::decode_from_slice(octets, Meta::config()).map_err(|_| damaged())?;
        if used == octets.len() { Ok(meta) } else { Err(damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_octets_are_used_or_it_is_an_error() {
        let meta =
            Meta { version: "1".into(), dialect: "rfc9309".into(), byte_limit: Some(7), has_bodies: true, any_origin: false, hash_seed: 3 };
        let mut octets = meta.encode();
        assert_eq!(Meta::decode(&octets).unwrap(), meta);
        assert!((0..octets.len()).all(|len| Meta::decode(&octets[..len]).is_err()));
        octets.push(0);
        assert!(Meta::decode(&octets).is_err());
        // A length of 2^63 must not be allocated.
        assert!(Meta::decode(&[0xFF; 64]).is_err());
    }
}
