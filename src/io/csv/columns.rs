//! Which columns are read, by the names in the header.

use std::io;

use csv::ByteRecord;

use crate::io::stretches::{Decoded, Span};
use crate::io::tables::{SPLIT, are_parts, listed, why_no_surt};
use crate::io::text::to_terminal_text;

/// What is read of a record.
#[derive(Debug)]
pub(super) struct Columns {
    /// The fields, in ascending order.
    pub(super) fields: Vec<usize>,
    /// Where the URL is, by places in `fields`.
    url: Url,
    /// What is carried, by places in `fields`.
    carried: Vec<usize>,
    /// What the column of the URLs is called.
    pub(super) url_name: String,
    /// What the user may want to know.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
enum Url {
    One(usize),
    Split([usize; 5]),
}

impl Columns {
    pub(super) fn find(header: &ByteRecord, url: Option<&str>, carry: &[String]) -> io::Result<Columns> {
        let mut notes = Vec::new();
        let urls = url_fields(header, url, &mut notes)?;
        let carried = carry.iter().map(|name| named(header, name, &mut notes)).collect::<io::Result<Vec<_>>>()?;
        let mut fields: Vec<usize> = urls.iter().chain(&carried).copied().collect();
        fields.sort_unstable();
        fields.dedup();
        let place = |field: &usize| fields.binary_search(field).expect("every field that is read is there");
        let url_name = String::from_utf8_lossy(&header[urls[0]]).into_owned();
        let url = match <[usize; 5]>::try_from(&urls[..]) {
            Ok(split) => Url::Split(split.map(|field| place(&field))),
            Err(_) => Url::One(place(&urls[0])),
        };
        let carried = carried.iter().map(place).collect();
        Ok(Columns { fields, url, carried, url_name, notes })
    }

    /// The URL of a record in `octets` of which `found` are the fields, and whether the record has the fields for one.
    #[inline]
    pub(super) fn url(&self, octets: &[u8], found: &[Span], decoded: &mut Decoded) -> (Span, bool) {
        match self.url {
            Url::One(place) => (found[place], !found[place].is_none()),
            Url::Split(places) => {
                let parts = places.map(|place| found[place]);
                let [protocol, host, ..] = parts.map(|part| decoded.get(octets, part));
                match protocol.is_empty() || host.is_empty() {
                    true => (Span::NONE, parts.iter().all(|part| !part.is_none())),
                    false => (join(octets, parts, decoded), true),
                }
            }
        }
    }

    pub(super) fn carried<'f>(&self, found: &'f [Span]) -> impl Iterator<Item = Span> + use<'_, 'f> {
        self.carried.iter().map(|&place| found[place])
    }

    pub(super) fn carried_count(&self) -> usize {
        self.carried.len()
    }
}

/// Puts a URL together. In CSV nothing tells an empty query from none.
fn join(octets: &[u8], parts: [Span; 5], decoded: &mut Decoded) -> Span {
    let mut url = Vec::new();
    if !are_parts(decoded.get(octets, parts[1]), decoded.get(octets, parts[3])) {
        return decoded.add(octets, |_| {});
    }
    for (part, before) in parts.into_iter().zip(["", "://", ":", "", "?"]) {
        let part = decoded.get(octets, part);
        if !part.is_empty() {
            url.extend_from_slice(before.as_bytes());
            url.extend_from_slice(part);
        }
    }
    decoded.add(octets, |out| out.extend_from_slice(&url))
}

/// The field of the URL, or the five of its parts.
fn url_fields(header: &ByteRecord, asked: Option<&str>, notes: &mut Vec<String>) -> io::Result<Vec<usize>> {
    match asked {
        Some(asked @ "url_surtkey") => Err(io::Error::other(why_no_surt(asked))),
        Some(asked) => Ok(vec![named(header, asked, notes)?]),
        None if header.iter().any(|name| name == b"url") => Ok(vec![named(header, "url", notes)?]),
        None => {
            let parts: Option<Vec<usize>> = SPLIT.iter().map(|name| header.iter().position(|field| field == name.as_bytes())).collect();
            parts.ok_or_else(|| no_url(header))
        }
    }
}

fn no_url(header: &ByteRecord) -> io::Error {
    let hint = match header.iter().any(|name| memchr::memmem::find(name, b"://").is_some()) {
        true => "the first line seems to hold a URL: a list without a header is read with --input-format lines",
        false => "say which holds the URLs (--url-column)",
    };
    io::Error::other(format!("no column url, nor {}: there are {}; {hint}", SPLIT.join(", "), listed(names(header))))
}

fn names(header: &ByteRecord) -> impl ExactSizeIterator<Item = &[u8]> {
    (0..header.len()).map(|field| &header[field])
}

/// The first column of that name.
fn named(header: &ByteRecord, name: &str, notes: &mut Vec<String>) -> io::Result<usize> {
    let mut fields = (0..header.len()).filter(|&field| header[field] == *name.as_bytes());
    let shown = to_terminal_text(name.as_bytes());
    let first = fields.next().ok_or_else(|| io::Error::other(format!("no column {shown}: there are {}", listed(names(header)))))?;
    let more = fields.count();
    if more > 0 {
        notes.push(format!("{} columns are called {shown}: the first of them is read, field {}", more + 1, first + 1));
    }
    Ok(first)
}
