//! Files made to hurt, of any size: rules that are all wildcards, each kind going for another place.

use super::random::Random;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// A kind of file: its name, a rule by number, and what its targets are made of.
pub struct Kind {
    pub name: &'static str,
    rule: fn(&mut Random, usize) -> String,
    front: &'static str,
    letters: &'static str,
}

/// The kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "four letters", rule: |random, _| format!("/{}", random.starred(LETTERS, 4)), front: "/", letters: LETTERS },
    Kind { name: "pairs of letters", rule: pairs, front: "/", letters: LETTERS },
    Kind { name: "one letter again and again", rule: |random, _| format!("/*a*a*a*{}", random.text(LETTERS, 3)), front: "/", letters: "a" },
    Kind {
        name: "segments within segments",
        rule: |random, at| format!("/*{}*{}", "a".repeat(at % 24 + 1), random.text(LETTERS, 2)),
        front: "/",
        letters: "aaab",
    },
    Kind {
        name: "tails within tails",
        rule: |random, at| format!("/*{}*{}$", random.text(LETTERS, 2), "a".repeat(at % 24 + 1)),
        front: "/",
        letters: "a",
    },
    Kind {
        name: "gated pairs",
        rule: |random, _| format!("/{}{}", random.text(LETTERS, 2), pairs(random, 0).trim_start_matches('/')),
        front: "/ab",
        letters: "abcdefg",
    },
    Kind { name: "one gate for all", rule: |random, _| format!("/ab*{}*!", random.text(LETTERS, 3)), front: "/ab", letters: LETTERS },
    Kind { name: "escaped slashes", rule: |random, _| format!("/*%2F{}*!", random.text(LETTERS, 3)), front: "/?", letters: "/abc" },
    Kind { name: "24 letters, never the last", rule: |random, _| format!("{}*!", random.starred("abcd", 24)), front: "/", letters: "abcd" },
    Kind { name: "200 letters, never the last", rule: |random, _| format!("{}*!", random.starred("ab", 200)), front: "/", letters: "ab" },
];

fn pairs(random: &mut Random, _: usize) -> String {
    let mut pair = || random.text(LETTERS, 2);
    format!("/*{}*{}*{}", pair(), pair(), pair())
}

impl Kind {
    /// A robots.txt of nearly `len` octets.
    pub fn robots(&self, len: usize) -> Vec<u8> {
        let mut random = Random(len as u64);
        let mut text = String::from("user-agent: *\n");
        for at in 0.. {
            let line = format!("disallow: {}\n", (self.rule)(&mut random, at));
            if text.len() + line.len() > len {
                break;
            }
            text.push_str(&line);
        }
        text.into_bytes()
    }

    /// A target of `len` octets.
    pub fn target(&self, len: usize, seed: u64) -> Vec<u8> {
        let mut random = Random(seed);
        format!("{}{}", self.front, random.text(self.letters, len - self.front.len())).into_bytes()
    }
}
