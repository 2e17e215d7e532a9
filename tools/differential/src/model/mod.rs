//! The model: robots.txt read naively, with a switch for every quirk.
//!
//! It shares no code with robosieve. With no quirk it must answer as robosieve's dialect `rfc9309` does, and with those of a peer as that peer does; where
//! it does not, the difference is not explained.

#[cfg(test)]
mod examples;
mod lines;
mod pattern;

use std::cmp::Reverse;

use crate::question::Agent;
use crate::quirk::{Quirk, Quirks};
use lines::Line;
use pattern::Pattern;

/// One robots.txt, read.
pub struct Reading {
    quirks: Quirks,
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    tokens: Vec<Token>,
    rules: Vec<Rule>,
}

#[derive(Clone, PartialEq)]
enum Token {
    Star,
    Name(Vec<u8>),
}

struct Rule {
    allows: bool,
    pattern: Pattern,
}

impl Reading {
    /// Reads `body`.
    pub fn of(body: &[u8], quirks: Quirks) -> Reading {
        let mut reading = Reading { quirks, groups: Vec::new() };
        // Rules before any group bind nobody.
        let mut before = Group::default();
        let mut in_run = false;
        for line in lines::read(body, quirks) {
            match line {
                Line::Agent(value) => {
                    if !in_run {
                        reading.groups.push(Group::default());
                        in_run = true;
                    }
                    let tokens = reading.tokens(&value);
                    reading.groups.last_mut().expect("opened above").tokens.extend(tokens);
                }
                Line::Rule { allows, value } => {
                    in_run = false;
                    let rules = reading.rules(allows, &value);
                    reading.groups.last_mut().unwrap_or(&mut before).rules.extend(rules);
                }
                Line::EndsRun => in_run = false,
            }
        }
        if quirks.has(Quirk::NoGroupBindsAll) && reading.groups.is_empty() {
            before.tokens.push(Token::Star);
            reading.groups.push(before);
        }
        reading
    }

    fn tokens(&self, value: &[u8]) -> Vec<Token> {
        if self.quirks.has(Quirk::AgentWithin) {
            return tokens_of_protego(value);
        }
        if self.quirks.has(Quirk::TokenWhole) {
            return match value {
                b"*" => vec![Token::Star],
                b"" => vec![],
                _ => vec![Token::Name(value.to_vec())],
            };
        }
        if value.strip_prefix(b"*").is_some_and(|rest| rest.is_empty() || lines::starts_with_space(rest, self.quirks)) {
            return vec![Token::Star];
        }
        let letters = self.quirks.has(Quirk::TokenLetters);
        let in_token = |octet: &&u8| match octet {
            b'-' | b'_' => true,
            b'.' => !letters,
            octet if octet.is_ascii_digit() => !letters,
            octet => octet.is_ascii_alphabetic(),
        };
        let token: Vec<u8> = value.iter().take_while(in_token).copied().collect();
        if token.is_empty() { vec![] } else { vec![Token::Name(token)] }
    }

    fn rules(&self, allows: bool, value: &[u8]) -> Vec<Rule> {
        let quirks = self.quirks;
        if value.is_empty() {
            let allow_all = quirks.has(Quirk::EmptyDisallowAllows) && !allows;
            return allow_all.then(|| Rule { allows: true, pattern: Pattern::new(b"/", quirks) }).into_iter().collect();
        }
        if quirks.has(Quirk::DropInvalidPattern) && std::str::from_utf8(value).is_err() {
            return vec![];
        }
        let mut values = vec![value.to_vec()];
        if quirks.has(Quirk::DollarTwice) && value.contains(&b'$') {
            values.push(value.iter().flat_map(|&octet| if octet == b'$' { b"%24".to_vec() } else { vec![octet] }).collect());
        }
        let mut rules = Vec::new();
        for value in values {
            let pattern = Pattern::new(&value, quirks);
            let index = if allows { pattern.without_index(quirks) } else { None };
            rules.extend([Some(pattern), index].into_iter().flatten().map(|pattern| Rule { allows, pattern }));
        }
        rules
    }

    /// Whether `agent` may fetch `url`.
    pub fn allows(&self, agent: &Agent, url: &[u8]) -> bool {
        let target = pattern::Target::new(url, self.quirks);
        if target.is_exempt {
            return true;
        }
        let rules = self.bound(agent).into_iter().flat_map(|group| &group.rules);
        let matching = rules.filter(|rule| rule.pattern.matches(&target));
        matching.min_by_key(|rule| (Reverse(rule.pattern.specificity), !rule.allows)).is_none_or(|rule| rule.allows)
    }

    fn bound(&self, agent: &Agent) -> Vec<&Group> {
        let naming = |token: &Token| self.groups.iter().filter(|group| group.tokens.contains(token)).collect::<Vec<_>>();
        if self.quirks.has(Quirk::AgentWithin) {
            return self.token_within(&agent.text).map(naming).unwrap_or_default();
        }
        let name = if self.quirks.has(Quirk::AgentAsGiven) { Some(agent.text.as_str()) } else { agent.token.as_deref() };
        let is_named = |token: &Token| match token {
            Token::Star => false,
            Token::Name(token) => name.is_some_and(|name| token.eq_ignore_ascii_case(name.as_bytes())),
        };
        let named: Vec<_> = self.groups.iter().filter(|group| group.tokens.iter().any(is_named)).collect();
        if named.is_empty() { naming(&Token::Star) } else { named }
    }

    /// The token with the most characters that begins a word of `agent`, the first of several; `*` counts one character.
    fn token_within(&self, agent: &str) -> Option<&Token> {
        let agent = lines::trim_python(agent).to_lowercase();
        let score = |token: &Token| match token {
            Token::Star => 1,
            Token::Name(name) => {
                let name = String::from_utf8_lossy(name);
                if begins_a_word(&agent, &name) { name.chars().count() } else { 0 }
            }
        };
        let tokens = self.groups.iter().flat_map(|group| &group.tokens);
        tokens
            .map(|token| (score(token), token))
            .filter(|&(score, _)| score > 0)
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|best| best.1)
    }
}

/// The value in lower case, and the same without its stars.
fn tokens_of_protego(value: &[u8]) -> Vec<Token> {
    let lower = String::from_utf8_lossy(value).to_lowercase();
    if lower == "*" {
        return vec![Token::Star];
    }
    let mut names = vec![lower.clone()];
    if lower.contains('*') {
        names.push(lower.replace('*', ""));
    }
    names.into_iter().filter(|name| !name.is_empty()).map(|name| Token::Name(name.into_bytes())).collect()
}

fn begins_a_word(text: &str, word: &str) -> bool {
    let starts = text.char_indices().map(|(at, _)| at).filter(|&at| text[at..].starts_with(word));
    let is_boundary =
        |at: usize| text[..at].chars().next_back().is_none_or(|before| !(before.is_alphanumeric() || matches!(before, '-' | '_')));
    starts.into_iter().any(is_boundary)
}
