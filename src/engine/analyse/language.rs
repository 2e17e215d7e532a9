//! The canonical targets of a form, as a language: which octets may follow which.
//!
//! A proof that no target exists speaks of canonical targets alone: rules meet nothing else. What they are is read off the form's own pass, on inputs of
//! a few octets, and not written down a second time.

use crate::target::form::TargetForm;

/// The canonical targets of a form.
pub(super) struct Language {
    form: &'static TargetForm,
    /// Whether an escape in a canonical target is one the pass would keep: there the targets are the pass's fixed points. Otherwise any text of octets
    /// that stay can be spelled (`%%341` gives `%41`), and a `%` is an octet like others.
    keeps_escapes: bool,
}

/// What the octets read so far allow behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Place {
    /// Whether a `?` was read.
    pub(super) in_query: bool,
    /// Octets since a `%` without two digits, itself counted; 0 when it is out of reach. It is the state of the pass before what is open.
    since_broken: u8,
    open: Open,
}

/// The beginning of what may become an escape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Open {
    #[default]
    Nothing,
    Percent,
    Digit(u8),
}

impl Language {
    pub(super) fn of(form: &'static TargetForm) -> Language {
        let mut buffer = Vec::new();
        Language { form, keeps_escapes: form.canonical(b"/%%341", &mut buffer) != b"/%41" }
    }

    /// Whether escapes depend on what stands around them.
    pub(super) fn keeps_escapes(&self) -> bool {
        self.keeps_escapes
    }

    /// Whether a canonical target can hold `octet`.
    pub(super) fn holds(&self, octet: u8) -> bool {
        self.is_fixed(&[b'/', octet])
    }

    /// The place behind `octet`, unless no canonical target has it there.
    pub(super) fn step(&self, place: Place, octet: u8) -> Option<Place> {
        if !self.keeps_escapes {
            return self.holds(octet).then_some(Place { in_query: place.in_query || octet == b'?', ..place });
        }
        let Place { in_query, since_broken, open } = place;
        match open {
            Open::Digit(first) if octet.is_ascii_hexdigit() => {
                self.keeps(place, first, octet).then_some(Place { since_broken: 0, open: Open::Nothing, in_query })
            }
            // No escape after all: its `%` is one without two digits, the digit is an octet like others.
            Open::Digit(_) => self.plain(Place { since_broken: 2, open: Open::Nothing, in_query }, octet),
            Open::Percent if octet.is_ascii_hexdigit() => Some(Place { open: Open::Digit(octet), ..place }),
            Open::Percent => self.plain(Place { since_broken: 1, open: Open::Nothing, in_query }, octet),
            Open::Nothing => self.plain(Place { since_broken, ..place }, octet),
        }
    }

    /// An octet that ends no escape.
    fn plain(&self, place: Place, octet: u8) -> Option<Place> {
        if octet == b'%' {
            return Some(Place { open: Open::Percent, ..place });
        }
        let since_broken = if place.since_broken == 1 { 2 } else { 0 };
        self.holds(octet).then_some(Place { in_query: place.in_query || octet == b'?', since_broken, open: Open::Nothing })
    }

    /// Whether the pass keeps an escape of these digits as it is.
    fn keeps(&self, place: Place, first: u8, second: u8) -> bool {
        let mut text = vec![b'/'];
        if place.in_query {
            text.push(b'?');
        }
        if place.since_broken > 0 {
            text.push(b'%');
        }
        text.extend_from_slice(&[b'%', first, second]);
        self.is_fixed(&text)
    }

    fn is_fixed(&self, text: &[u8]) -> bool {
        self.form.canonical(text, &mut Vec::new()) == text
    }

    /// A raw target whose canonical form is `target` and which the form does not exempt as it is written, if there is one.
    ///
    /// Octets whose escapes are decoded can be written as escapes, so a few spellings are enough: as it stands, with its second octet as an escape (no
    /// exemption is known from that), and with an escape behind each `%` (so that it is none before two digits).
    pub(super) fn raw(&self, target: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let mut is_spelling = |raw: &[u8]| !self.form.is_exempt_as_written(raw) && self.form.canonical(raw, &mut buffer) == target;
        if is_spelling(target) {
            return Some(target.to_vec());
        }
        let with_escapes = |is_escaped: &dyn Fn(usize) -> bool| {
            let mut raw = Vec::with_capacity(target.len() * 3);
            for (at, &octet) in target.iter().enumerate() {
                if is_escaped(at) && octet != b'%' && octet != b'/' {
                    raw.extend_from_slice(format!("%{octet:02X}").as_bytes());
                } else {
                    raw.push(octet);
                }
            }
            raw
        };
        let is_behind_percent = |at: usize| at > 0 && target[at - 1] == b'%';
        [with_escapes(&|at| at == 1), with_escapes(&is_behind_percent), with_escapes(&|at| at == 1 || is_behind_percent(at))]
            .into_iter()
            .find(|raw| is_spelling(raw))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const FORMS: [&TargetForm; 3] = [TargetForm::RFC9309, TargetForm::GOOGLE, TargetForm::SCRAPY];

    /// All strings of at most `len` of these octets behind a `/`.
    pub(in crate::engine::analyse) fn strings(octets: &[u8], len: usize) -> Vec<Vec<u8>> {
        let mut all = vec![b"/".to_vec()];
        let mut from = 0;
        for _ in 0..len {
            let end = all.len();
            for at in from..end {
                let text = all[at].clone();
                all.extend(octets.iter().map(|&octet| [&text[..], &[octet]].concat()));
            }
            from = end;
        }
        all
    }

    fn accepts(language: &Language, target: &[u8]) -> bool {
        let first = Some(Place::default());
        target.iter().fold(first, |place, &octet| language.step(place?, octet)).is_some()
    }

    #[test]
    fn fixed_points_are_accepted_and_nothing_else() {
        for form in FORMS {
            let language = Language::of(form);
            assert_eq!(language.keeps_escapes(), form.name() != "scrapy");
            for text in strings(b"%24fFA?a#", 5).into_iter().chain(strings(b"%27dz\xE9", 6)) {
                let is_fixed = form.canonical(&text, &mut Vec::new()) == text;
                if language.keeps_escapes() {
                    assert_eq!(accepts(&language, &text), is_fixed, "{} in {}", text.escape_ascii(), form.name());
                } else {
                    assert!(accepts(&language, &text) || !is_fixed, "{}", text.escape_ascii());
                }
            }
        }
    }

    /// The other direction where the targets are no fixed points: what is accepted can be spelled, and what the pass gives is accepted.
    #[test]
    fn accepted_targets_can_be_spelled() {
        for form in FORMS {
            let language = Language::of(form);
            for text in strings(b"%24fF/?", 5) {
                let canonical = form.canonical(&text, &mut Vec::new()).to_vec();
                assert!(accepts(&language, &canonical), "{} in {}", text.escape_ascii(), form.name());
                if accepts(&language, &text) {
                    let raw = language.raw(&text).unwrap_or_else(|| panic!("{} in {}", text.escape_ascii(), form.name()));
                    assert_eq!(form.canonical(&raw, &mut Vec::new()), text);
                }
            }
        }
    }

    #[test]
    fn a_spelling_is_not_exempt() {
        let language = Language::of(TargetForm::SCRAPY);
        for target in [&b"/robots.txt"[..], b"/robots.txt%3Fx", b"/robots.txt%3Ba", b"/robots.txt%41"] {
            let raw = language.raw(target).unwrap();
            assert!(!TargetForm::SCRAPY.is_exempt_as_written(&raw), "{}", raw.escape_ascii());
        }
    }
}
