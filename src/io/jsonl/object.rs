//! The values of some keys in an object, as they stand there.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A key that is looked for: a name, or names of objects within objects with dots between.
#[derive(Debug)]
pub(super) struct Path(String);

/// What a key holds: raw JSON, which is sound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found<'o> {
    pub(super) raw: Option<&'o str>,
    /// Octets of the path that the key has.
    key_len: usize,
}

impl Path {
    pub(super) fn new(path: &str) -> Path {
        Path(path.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a key is the path, or names the object that the rest of it leads on from.
    #[inline]
    fn begins_with(&self, key: &str) -> bool {
        self.0.as_bytes().starts_with(key.as_bytes()) && matches!(self.0.as_bytes().get(key.len()), None | Some(b'.'))
    }
}

/// What `paths` lead to in the object that `octets` are; `false` where they are none. Of keys of one name the last counts, and of keys that begin a path the
/// longest: a name with dots in it more than objects within objects.
pub(super) fn find<'o>(octets: &'o [u8], paths: &[Path], found: &mut [Found<'o>]) -> bool {
    found.fill(Found::default());
    let mut json = serde_json::Deserializer::from_slice(octets);
    if json.deserialize_map(Object { paths, found }).is_err() || json.end().is_err() {
        return false;
    }
    for (path, found) in paths.iter().zip(found) {
        if found.raw.is_some() && found.key_len < path.0.len() {
            found.raw = found.raw.and_then(|raw| inner(raw, &path.0[found.key_len + 1..]));
        }
    }
    true
}

/// What a path leads to within a value.
fn inner<'o>(raw: &'o str, path: &str) -> Option<&'o str> {
    let mut found = [Found::default()];
    find(raw.as_bytes(), &[Path::new(path)], &mut found);
    found[0].raw
}

/// The names of an object's keys.
pub(super) fn keys(octets: &[u8]) -> Option<Vec<String>> {
    serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(octets)
        .ok()
        .map(|object| object.into_iter().map(|(key, _)| key).collect())
}

struct Object<'a, 'o> {
    paths: &'a [Path],
    found: &'a mut [Found<'o>],
}

impl<'o> Visitor<'o> for Object<'_, 'o> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'o>>(self, mut object: M) -> Result<(), M::Error> {
        // Paths are asked in turn, so that nothing is kept of a key but its length.
        while let Some(key) = object.next_key_seed(Key(self.paths))? {
            let Some(key) = key else {
                object.next_value::<IgnoredAny>()?;
                continue;
            };
            let raw = object.next_value::<&RawValue>()?.get();
            for (path, found) in self.paths.iter().zip(&mut *self.found) {
                if key.begins(path) && key.0.len() >= found.key_len {
                    *found = Found { raw: Some(raw), key_len: key.0.len() };
                }
            }
        }
        Ok(())
    }
}

/// Tells whether a key begins a path, and gives the part of the path that it is.
struct Key<'a>(&'a [Path]);

struct Begun<'a>(&'a str);

impl Begun<'_> {
    fn begins(&self, path: &Path) -> bool {
        path.begins_with(self.0)
    }
}

impl<'o, 'a> DeserializeSeed<'o> for Key<'a> {
    type Value = Option<Begun<'a>>;

    fn deserialize<D: Deserializer<'o>>(self, key: D) -> Result<Option<Begun<'a>>, D::Error> {
        key.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Key<'a> {
    type Value = Option<Begun<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_str<E>(self, key: &str) -> Result<Option<Begun<'a>>, E> {
        Ok(self.0.iter().find(|path| path.begins_with(key)).map(|path| Begun(&path.0[..key.len()])))
    }
}
