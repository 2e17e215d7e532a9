//! A policy: one parsed robots.txt.
//!
//! One pass over the [directives](super::parse) builds groups, rules with canonical patterns, records outside the protocol and
//! findings. It cannot fail: whatever the octets, there is a policy, and the findings say what was left out of it and why.

use std::fmt;
use std::ops::Range;

use super::agent::{LineToken, line_token};
use super::decision::RuleId;
use super::dialect::{AgentLine as LineReading, Dialect, RunEnd};
use super::parse::{Directive, Forgiven, Line, RecordKind, directives, is_ascii_space};
use super::record::RecordValue;
use super::text::{Encoding, Text};
use super::usage::{ContentUsage, Preference, UsageKey};

/// One parsed robots.txt.
///
/// ```
/// use robosieve::{dialect::RFC9309, policy::Policy};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /private/\nSitemap: https://example.com/s.xml\n", &RFC9309);
/// let group = policy.groups().next().unwrap();
/// let rule = group.rules().next().unwrap();
/// assert_eq!((rule.line(), rule.pattern()), (2, &b"/private/"[..]));
/// assert_eq!(policy.records().count(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Policy {
    dialect: Dialect,
    groups: Vec<GroupEntry>,
    agents: Vec<AgentEntry>,
    rules: Vec<RuleEntry>,
    records: Vec<RecordEntry>,
    findings: Vec<Finding>,
    /// Values as written, and behind each the patterns that are not spelled as it is.
    values: Vec<u8>,
    read_len: usize,
    encoding: Encoding,
}

#[derive(Debug, Clone)]
struct GroupEntry {
    agents: Range<u32>,
    rules: Range<u32>,
    has_empty_rule: bool,
}

#[derive(Debug, Clone)]
struct AgentEntry {
    line: u32,
    token: Token,
}

#[derive(Debug, Clone)]
enum Token {
    Star,
    Product(Range<u32>),
    Nobody,
}

#[derive(Debug, Clone)]
struct RuleEntry {
    line: u32,
    group: u32,
    allows: bool,
    value: Range<u32>,
    pattern: Range<u32>,
    specificity: u32,
}

#[derive(Debug, Clone)]
struct RecordEntry {
    line: u32,
    kind: RecordKind,
    group: Option<u32>,
    value: Range<u32>,
}

/// Something in a robots.txt that is not as the protocol has it, or that its author may not expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Finding {
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What was found.
    pub code: FindingCode,
}

/// The kinds of [`Finding`]. Their names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingCode {
    /// The body is larger than the limit; what lies behind it was not read.
    OverLimit,
    /// The limit cut this line, which was left out.
    CutLine,
    /// A UTF-8 byte order mark.
    ByteOrderMark,
    /// The body is UTF-16.
    Utf16,
    /// A rule before any group: it binds nobody.
    RuleBeforeGroup,
    /// A user-agent line that names nobody.
    NamesNobody,
    /// A product token with characters outside the grammar of RFC 9309, section 2.2.1 (digits and dots).
    TokenOutsideGrammar,
    /// Something behind the product token was left out.
    TokenTail,
    /// A line without a colon.
    NoColon,
    /// A key that is one letter away from one of the protocol's.
    MisspelledKey,
    /// A record that nobody knows.
    UnknownKey,
    /// A pattern that starts with neither `/` nor `*`: it matches nothing.
    MatchesNothing,
    /// The value of a record outside the protocol is not of the record's format.
    MalformedRecord,
    /// The body looks like a page (HTML), not like a robots.txt.
    Html,
    /// A line that some crawlers do not read to its end.
    LongLine,
    /// Two rules match the same, and one allows what the other disallows.
    ConflictingRules,
    /// A group for a name leaves out rules that `*` has.
    LacksStarRules,
    /// A line that another dialect reads otherwise.
    ReadDifferently,
    /// A rule that decides nothing: wherever it matches, others outrank it.
    ShadowedRule,
    /// A pattern that no canonical target matches.
    NeverMatches,
    /// Whether some rules decide anything was not found out.
    NotProved,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// It is good to know.
    Note,
    /// Some crawlers do, or all do, something that the author may not want.
    Warning,
    /// A part of the file, or all of it, does not count.
    Error,
}

impl Severity {
    /// Every severity, the lightest first.
    pub const ALL: [Severity; 3] = [Severity::Note, Severity::Warning, Severity::Error];

    /// `note`, `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FindingCode {
    /// Every code.
    pub const ALL: [FindingCode; 21] = [
        FindingCode::OverLimit,
        FindingCode::CutLine,
        FindingCode::ByteOrderMark,
        FindingCode::Utf16,
        FindingCode::Html,
        FindingCode::RuleBeforeGroup,
        FindingCode::NamesNobody,
        FindingCode::TokenOutsideGrammar,
        FindingCode::TokenTail,
        FindingCode::NoColon,
        FindingCode::MisspelledKey,
        FindingCode::UnknownKey,
        FindingCode::MatchesNothing,
        FindingCode::MalformedRecord,
        FindingCode::LongLine,
        FindingCode::ConflictingRules,
        FindingCode::LacksStarRules,
        FindingCode::ReadDifferently,
        FindingCode::ShadowedRule,
        FindingCode::NeverMatches,
        FindingCode::NotProved,
    ];

    /// How much it weighs.
    pub const fn severity(self) -> Severity {
        match self {
            FindingCode::OverLimit | FindingCode::CutLine | FindingCode::Html | FindingCode::MatchesNothing => Severity::Error,
            FindingCode::Utf16
            | FindingCode::RuleBeforeGroup
            | FindingCode::NamesNobody
            | FindingCode::TokenTail
            | FindingCode::NoColon
            | FindingCode::MisspelledKey
            | FindingCode::MalformedRecord
            | FindingCode::LongLine
            | FindingCode::ConflictingRules
            | FindingCode::ReadDifferently
            | FindingCode::NeverMatches => Severity::Warning,
            FindingCode::ByteOrderMark
            | FindingCode::TokenOutsideGrammar
            | FindingCode::UnknownKey
            | FindingCode::LacksStarRules
            | FindingCode::ShadowedRule
            | FindingCode::NotProved => Severity::Note,
        }
    }

    /// A sentence that says what it means and what to do.
    pub const fn advice(self) -> &'static str {
        match self {
            FindingCode::OverLimit => {
                "the file is larger than crawlers need to read: shorten it, what lies behind the limit does not count"
            }
            FindingCode::CutLine => "the limit on the file's size cuts this line: shorten the file",
            FindingCode::ByteOrderMark => "the file starts with a byte order mark: save it as UTF-8 without one",
            FindingCode::Utf16 => "the file is UTF-16, which most crawlers do not read: save it as UTF-8",
            FindingCode::Html => "this is a page, not a robots.txt: serve the file itself, or answer with status 404 where there is none",
            FindingCode::RuleBeforeGroup => "a rule before any user-agent line binds nobody: put a user-agent line above it",
            FindingCode::NamesNobody => "this user-agent line names nobody: write a product token, or *",
            FindingCode::TokenOutsideGrammar => "the grammar has letters, - and _ in tokens: crawlers that keep to it read another name",
            FindingCode::TokenTail => "what stands behind the token does not count: write the token alone",
            FindingCode::NoColon => "there is no colon behind the key: write key: value",
            FindingCode::MisspelledKey => {
                "the key is misspelled, and many crawlers leave the line out: write user-agent, allow or disallow"
            }
            FindingCode::UnknownKey => "the protocol does not know this key: crawlers leave the line out",
            FindingCode::MatchesNothing => "the rule matches nothing: let it begin with / or *",
            FindingCode::MalformedRecord => "the value is not of the format that this record has: crawlers leave it out",
            FindingCode::LongLine => "the line is longer than some crawlers read: split it",
            FindingCode::ConflictingRules => "two rules for the same URLs say the opposite: delete one",
            FindingCode::LacksStarRules => {
                "a named group stands alone, rules for * do not bind it: repeat in it those that are meant for it too"
            }
            FindingCode::ReadDifferently => "crawlers read this line in different ways: write it so that they agree",
            FindingCode::ShadowedRule => {
                "the rule decides nothing, others outrank it wherever it matches: delete it, or make it more specific"
            }
            FindingCode::NeverMatches => {
                "no URL can match this pattern once escapes have their canonical form: write it as URLs are written"
            }
            FindingCode::NotProved => "the proofs ran out of their budget: whether some rules decide anything is not known",
        }
    }

    /// The code of that name.
    pub fn by_name(name: &str) -> Option<FindingCode> {
        FindingCode::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            FindingCode::OverLimit => "over-limit",
            FindingCode::CutLine => "cut-line",
            FindingCode::ByteOrderMark => "byte-order-mark",
            FindingCode::Utf16 => "utf-16",
            FindingCode::RuleBeforeGroup => "rule-before-group",
            FindingCode::NamesNobody => "names-nobody",
            FindingCode::TokenOutsideGrammar => "token-outside-grammar",
            FindingCode::TokenTail => "token-tail",
            FindingCode::NoColon => "no-colon",
            FindingCode::MisspelledKey => "misspelled-key",
            FindingCode::UnknownKey => "unknown-key",
            FindingCode::MatchesNothing => "matches-nothing",
            FindingCode::Html => "html",
            FindingCode::LongLine => "long-line",
            FindingCode::ConflictingRules => "conflicting-rules",
            FindingCode::LacksStarRules => "lacks-star-rules",
            FindingCode::ReadDifferently => "read-differently",
            FindingCode::ShadowedRule => "shadowed-rule",
            FindingCode::NeverMatches => "never-matches",
            FindingCode::NotProved => "not-proved",
            FindingCode::MalformedRecord => "malformed-record",
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Policy {
    /// Parses the octets of a robots.txt.
    pub fn parse(body: &[u8], dialect: &Dialect) -> Policy {
        let text = Text::read(body, dialect);
        let mut builder = Builder::new(*dialect, &text, body.len());
        let mut last_line = 0;
        for line in directives(&text) {
            last_line = line.number;
            builder.line(line);
        }
        if text.cut_line() {
            builder.find(text.lines().last().map_or(last_line, |(line, _)| line) + 1, FindingCode::CutLine);
        }
        builder.policy
    }

    /// The dialect it was read in.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The groups, in file order.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = Group<'_>> {
        self.groups.iter().map(|entry| Group { policy: self, entry })
    }

    /// The group at `index`.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn group(&self, index: u32) -> Group<'_> {
        Group { policy: self, entry: &self.groups[index as usize] }
    }

    /// The rules of all groups, in file order: a rule's position here is its [`RuleId`]. A line for which the dialect has
    /// several patterns is as many rules.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = Rule<'_>> {
        self.rules.iter().map(|entry| Rule { policy: self, entry })
    }

    /// The rule of that id, if there is one.
    pub fn rule(&self, id: RuleId) -> Option<Rule<'_>> {
        let entry = self.rules.get(id.index()? as usize)?;
        Some(Rule { policy: self, entry })
    }

    /// The records outside the protocol, in file order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        self.records.iter().map(|entry| Record { policy: self, entry })
    }

    /// What is not as the protocol has it, those of the file as a whole first, then by line.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many octets of the body were looked at.
    pub fn read_len(&self) -> usize {
        self.read_len
    }

    /// How the body announced its encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The same groups with what their `content-usage` records state about a use as rules: *no* as `allow` and *yes* as `disallow`.
    ///
    /// So the most restrictive preference wins a tie, as `allow` does among rules. A record without a path is less specific than any other. One that
    /// states nothing about the use is no rule: it hides none that does. There is no exemption of robots.txt.
    pub fn usage_rules(&self, key: &UsageKey) -> Policy {
        let dialect = Dialect { form: self.dialect.form.without_exemption(), ..self.dialect };
        let (groups, agents, values) = (self.groups.clone(), self.agents.clone(), self.values.clone());
        let (rules, records, findings) = Default::default();
        let (read_len, encoding) = (self.read_len, self.encoding);
        let mut policy = Policy { dialect, groups, agents, rules, records, findings, values, read_len, encoding };
        for entry in self.records.iter().filter(|entry| entry.kind == RecordKind::ContentUsage) {
            let Some(record) = ContentUsage::parse(self.value(&entry.value)) else { continue };
            if let (Some(group), Some(preference)) = (entry.group, record.preference(key)) {
                policy.push_usage_rule(entry, group, preference, record.path);
            }
        }
        let mut start = 0;
        for (index, group) in policy.groups.iter_mut().enumerate() {
            // Records stand in file order, and so in that of their groups.
            let len = policy.rules[start..].iter().take_while(|rule| rule.group as usize == index).count();
            group.rules = start as u32..(start + len) as u32;
            start += len;
        }
        policy
    }

    fn push_usage_rule(&mut self, entry: &RecordEntry, group: u32, preference: Preference, path: Option<&[u8]>) {
        let (line, allows, patterns, rules) = (entry.line, preference == Preference::No, &mut self.values, &mut self.rules);
        let value = entry.value.start..entry.value.start + path.map_or(0, <[u8]>::len) as u32;
        let mut push = |pattern: &[u8], specificity: usize| {
            let start = patterns.len() as u32;
            patterns.extend_from_slice(pattern);
            let pattern = start..patterns.len() as u32;
            rules.push(RuleEntry { line, group, allows, value: value.clone(), pattern, specificity: specificity as u32 });
        };
        match path {
            // The flag is for quirks of allow rules, which these are not.
            Some(path) => (self.dialect.rewrite)(path, false, &mut |pattern| push(pattern, pattern.len())),
            None => push(b"/", 0),
        }
    }

    fn value(&self, range: &Range<u32>) -> &[u8] {
        &self.values[range.start as usize..range.end as usize]
    }
}

/// A group: the agents it names, and the rules that bind them.
#[derive(Debug, Clone, Copy)]
pub struct Group<'p> {
    policy: &'p Policy,
    entry: &'p GroupEntry,
}

impl<'p> Group<'p> {
    /// Its user-agent lines, in file order.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = AgentLine<'p>> + use<'p> {
        let policy = self.policy;
        indexed(&policy.agents, &self.entry.agents).iter().map(move |entry| AgentLine { policy, entry })
    }

    /// Its rules, in file order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = Rule<'p>> + use<'p> {
        let policy = self.policy;
        indexed(&policy.rules, &self.entry.rules).iter().map(move |entry| Rule { policy, entry })
    }

    /// Whether it has an allow or disallow line without a value. That is no rule, but it may be all that a group says: everything is allowed.
    pub fn has_empty_rule(&self) -> bool {
        self.entry.has_empty_rule
    }

    /// The ids of its rules.
    pub fn rule_range(&self) -> Range<u32> {
        self.entry.rules.clone()
    }
}

fn indexed<'a, T>(all: &'a [T], range: &Range<u32>) -> &'a [T] {
    &all[range.start as usize..range.end as usize]
}

/// A user-agent line.
#[derive(Debug, Clone, Copy)]
pub struct AgentLine<'p> {
    policy: &'p Policy,
    entry: &'p AgentEntry,
}

impl<'p> AgentLine<'p> {
    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.entry.line
    }

    /// Whom it names, as written; `None` for nobody.
    pub fn token(&self) -> Option<LineToken<'p>> {
        match &self.entry.token {
            Token::Star => Some(LineToken::Star),
            Token::Product(range) => Some(LineToken::Product(self.policy.value(range))),
            Token::Nobody => None,
        }
    }
}

/// A rule of a group.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'p> {
    policy: &'p Policy,
    entry: &'p RuleEntry,
}

impl<'p> Rule<'p> {
    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.entry.line
    }

    /// The index of its group.
    pub fn group(&self) -> u32 {
        self.entry.group
    }

    /// Whether it is an `allow` rule.
    pub fn allows(&self) -> bool {
        self.entry.allows
    }

    /// The value as written: the octets between the colon and the comment or the line's end, trimmed.
    pub fn value(&self) -> &'p [u8] {
        self.policy.value(&self.entry.value)
    }

    /// The pattern as the dialect compares it (see [`rewrite`](super::rewrite)); empty when the rule matches nothing.
    pub fn pattern(&self) -> &'p [u8] {
        self.policy.value(&self.entry.pattern)
    }

    /// The octets of the pattern: of the rules that match, the one with the most decides (RFC 9309, section 2.2.2).
    pub fn specificity(&self) -> u32 {
        self.entry.specificity
    }
}

/// A record outside the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Record<'p> {
    policy: &'p Policy,
    entry: &'p RecordEntry,
}

impl<'p> Record<'p> {
    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.entry.line
    }

    /// Which record.
    pub fn kind(&self) -> RecordKind {
        self.entry.kind
    }

    /// The index of the group it stands in, for kinds that speak to a group and stand in one.
    pub fn group(&self) -> Option<u32> {
        self.entry.group
    }

    /// The value as written.
    pub fn value(&self) -> &'p [u8] {
        self.policy.value(&self.entry.value)
    }

    /// What the value says; `None` when it is not of the record's format.
    ///
    /// ```
    /// use robosieve::{dialect::RFC9309, policy::Policy, record::RecordValue};
    ///
    /// let policy = Policy::parse(b"User-agent: *\nCrawl-delay: 2.5\nCrawl-delay: soon\n", &RFC9309);
    /// let said: Vec<_> = policy.records().map(|record| record.parsed()).collect();
    /// assert_eq!(said, [Some(RecordValue::CrawlDelay(2.5)), None]);
    /// ```
    pub fn parsed(&self) -> Option<RecordValue<'p>> {
        RecordValue::parse(self.kind(), self.value())
    }
}

/// Octets of a line of a file that is mostly rules.
const USUAL_LINE_LEN: usize = 24;
/// Lines for which room is made beforehand, at most: a page that stands in the place of a robots.txt has long text and no rules.
const MAX_FORESEEN: usize = 512;

/// The state of the one pass.
struct Builder {
    policy: Policy,
    /// Whether a user-agent line goes on with the group before it: only an allow or disallow line ends a run.
    in_run: bool,
}

impl Builder {
    fn new(dialect: Dialect, text: &Text<'_>, body_len: usize) -> Builder {
        let policy = Policy {
            dialect,
            groups: Vec::new(),
            agents: Vec::new(),
            rules: Vec::with_capacity((text.len() / USUAL_LINE_LEN).min(MAX_FORESEEN)),
            records: Vec::new(),
            findings: Vec::new(),
            values: Vec::with_capacity(text.len().min(MAX_FORESEEN * USUAL_LINE_LEN)),
            read_len: text.read_len(),
            encoding: text.encoding(),
        };
        let mut builder = Builder { policy, in_run: false };
        if body_len > text.read_len() {
            builder.find(0, FindingCode::OverLimit);
        }
        match text.encoding() {
            Encoding::Plain => {}
            Encoding::Utf8Bom => builder.find(0, FindingCode::ByteOrderMark),
            Encoding::Utf16Le | Encoding::Utf16Be => builder.find(0, FindingCode::Utf16),
        }
        if text.looks_like_html() {
            builder.find(0, FindingCode::Html);
        }
        builder
    }

    fn find(&mut self, line: u32, code: FindingCode) {
        self.policy.findings.push(Finding { line, code });
    }

    fn line(&mut self, line: Line<'_>) {
        let number = line.number;
        match line.forgiven {
            Some(Forgiven::Colon) => self.find(number, FindingCode::NoColon),
            Some(Forgiven::Spelling) if !matches!(line.directive, Directive::Record(..)) => self.find(number, FindingCode::MisspelledKey),
            _ => {}
        }
        if self.policy.dialect.run_end == RunEnd::Record {
            self.in_run &= matches!(
                line.directive,
                Directive::UserAgent(_) | Directive::NoColon(_) | Directive::Record(RecordKind::Sitemap | RecordKind::Host, _)
            );
        }
        match line.directive {
            Directive::UserAgent(value) => self.user_agent(number, &value),
            Directive::Allow(value) => self.rule(number, true, &value),
            Directive::Disallow(value) => self.rule(number, false, &value),
            Directive::Record(kind, value) => self.record(number, kind, &value),
            Directive::Unknown(key, _) if is_misspelled(key) => self.find(number, FindingCode::MisspelledKey),
            Directive::Unknown(..) => self.find(number, FindingCode::UnknownKey),
            Directive::NoColon(_) => self.find(number, FindingCode::NoColon),
        }
    }

    fn user_agent(&mut self, line: u32, value: &[u8]) {
        if !self.in_run {
            let (agents, rules) = (self.policy.agents.len() as u32, self.policy.rules.len() as u32);
            self.policy.groups.push(GroupEntry { agents: agents..agents, rules: rules..rules, has_empty_rule: false });
            self.in_run = true;
        }
        match self.policy.dialect.agent_line {
            LineReading::Token => self.name(line, line_token(value), value),
            LineReading::Letters => self.name(line, letters_token(value), value),
            LineReading::Whole => self.name_whole(line, value),
        }
    }

    fn name(&mut self, line: u32, token: Option<LineToken<'_>>, value: &[u8]) {
        let token = match token {
            Some(LineToken::Star) => Token::Star,
            Some(LineToken::Product(token)) => {
                self.token_findings(line, token, value);
                Token::Product(self.keep(token))
            }
            None => {
                self.find(line, FindingCode::NamesNobody);
                Token::Nobody
            }
        };
        self.push_agent(line, token);
    }

    /// As Protego names agents: by the whole value, and if that holds stars by the value without them as well.
    fn name_whole(&mut self, line: u32, value: &[u8]) {
        let lower = String::from_utf8_lossy(value).to_lowercase();
        let without_stars = lower.replace('*', "");
        match &lower[..] {
            "" => {
                self.find(line, FindingCode::NamesNobody);
                self.push_agent(line, Token::Nobody);
            }
            "*" => self.push_agent(line, Token::Star),
            _ => {
                let token = self.keep(lower.as_bytes());
                self.push_agent(line, Token::Product(token));
                if without_stars != lower && !without_stars.is_empty() {
                    let token = self.keep(without_stars.as_bytes());
                    self.push_agent(line, Token::Product(token));
                }
            }
        }
    }

    fn push_agent(&mut self, line: u32, token: Token) {
        self.policy.agents.push(AgentEntry { line, token });
        let group = self.policy.groups.last_mut().expect("a user-agent line opens a group");
        group.agents.end += 1;
    }

    fn token_findings(&mut self, line: u32, token: &[u8], value: &[u8]) {
        if token.iter().any(|octet| !octet.is_ascii_alphabetic() && !matches!(octet, b'-' | b'_')) {
            self.find(line, FindingCode::TokenOutsideGrammar);
        }
        if token.len() < value.len() {
            self.find(line, FindingCode::TokenTail);
        }
    }

    fn rule(&mut self, line: u32, allows: bool, value: &[u8]) {
        self.in_run = false;
        if value.is_empty() {
            if let Some(group) = self.policy.groups.last_mut() {
                group.has_empty_rule = true;
            }
            return;
        }
        let Some(group) = self.policy.groups.len().checked_sub(1) else {
            return self.find(line, FindingCode::RuleBeforeGroup);
        };
        let kept = self.keep(value);
        let Policy { dialect, rules, values, .. } = &mut self.policy;
        let first = rules.len();
        let mut push = |pattern: &[u8]| {
            let specificity = pattern.len() as u32;
            let pattern = if pattern == value { kept.clone() } else { append(values, pattern) };
            rules.push(RuleEntry { line, group: group as u32, allows, value: kept.clone(), pattern, specificity });
        };
        (dialect.rewrite)(value, allows, &mut push);
        if rules.len() == first {
            let end = kept.end;
            rules.push(RuleEntry { line, group: group as u32, allows, value: kept, pattern: end..end, specificity: 0 });
            self.find(line, FindingCode::MatchesNothing);
        }
        self.policy.groups[group].rules.end = self.policy.rules.len() as u32;
    }

    fn record(&mut self, line: u32, kind: RecordKind, value: &[u8]) {
        let group = self.policy.groups.len().checked_sub(1).filter(|_| kind.is_grouped()).map(|index| index as u32);
        if RecordValue::parse(kind, value).is_none() {
            self.find(line, FindingCode::MalformedRecord);
        }
        let value = self.keep(value);
        self.policy.records.push(RecordEntry { line, kind, group, value });
    }

    fn keep(&mut self, value: &[u8]) -> Range<u32> {
        append(&mut self.policy.values, value)
    }
}

fn append(octets: &mut Vec<u8>, more: &[u8]) -> Range<u32> {
    let start = octets.len() as u32;
    octets.extend_from_slice(more);
    start..octets.len() as u32
}

/// Whom Google's parser takes a user-agent line to name (`HandleUserAgent` and `ExtractUserAgent` of robots.cc).
fn letters_token(value: &[u8]) -> Option<LineToken<'_>> {
    match value {
        [b'*'] => return Some(LineToken::Star),
        [b'*', next, ..] if is_ascii_space(*next) => return Some(LineToken::Star),
        _ => {}
    }
    let len = value.iter().take_while(|octet| octet.is_ascii_alphabetic() || matches!(octet, b'-' | b'_')).count();
    (len > 0).then(|| LineToken::Product(&value[..len]))
}

/// Whether a key is one edit away from one of the protocol's three (a letter too many, too few, another, or two swapped), or lacks
/// its hyphen.
fn is_misspelled(key: &[u8]) -> bool {
    let lower = key.to_ascii_lowercase();
    ["user-agent", "disallow", "allow"].iter().any(|right| is_one_edit_away(&lower, right.as_bytes())) || lower == b"user agent"
}

fn is_one_edit_away(a: &[u8], b: &[u8]) -> bool {
    let front = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[front..], &b[front..]);
    match (a, b) {
        ([_, a_rest @ ..], _) if a_rest == b => true,
        (_, [_, b_rest @ ..]) if a == b_rest => true,
        ([_, a_rest @ ..], [_, b_rest @ ..]) if a_rest == b_rest => true,
        ([x1, x2, a_rest @ ..], [y1, y2, b_rest @ ..]) => x1 == y2 && x2 == y1 && a_rest == b_rest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::RFC9309;

    fn parse(body: &str) -> Policy {
        Policy::parse(body.as_bytes(), &RFC9309)
    }

    fn findings(body: &str) -> Vec<(u32, &'static str)> {
        parse(body).findings().iter().map(|finding| (finding.line, finding.code.name())).collect()
    }

    #[test]
    fn only_rules_end_a_run_of_agents() {
        let policy = parse("User-agent: a\nCrawl-delay: 1\n\nSitemap: x\nfoo: bar\nUser-agent: b\nDisallow:\nUser-agent: c\n");
        let agents: Vec<Vec<u32>> = policy.groups().map(|group| group.agents().map(|agent| agent.line()).collect()).collect();
        assert_eq!(agents, [vec![1, 6], vec![8]]);
        assert_eq!(policy.rules().len(), 0);
    }

    #[test]
    fn records_keep_their_scope() {
        let policy = parse("Crawl-delay: 1\nUser-agent: a\nCrawl-Delay: 2\nSitemap: https://a/#x\n");
        let records: Vec<_> = policy.records().map(|record| (record.line(), record.kind().key(), record.group(), record.value())).collect();
        assert_eq!(records, [(1, "crawl-delay", None, &b"1"[..]), (3, "crawl-delay", Some(0), b"2"), (4, "sitemap", None, b"https://a/")]);
    }

    #[test]
    fn findings_have_lines() {
        assert_eq!(
            findings("Disallow: /x\nUser-agent:\nUser-agent: MJ12bot/1\nDisalow: /\nfoo: bar\nbaz\nAllow: x\nUseragent: b\n"),
            [
                (1, "rule-before-group"),
                (2, "names-nobody"),
                (3, "token-outside-grammar"),
                (3, "token-tail"),
                (4, "misspelled-key"),
                (5, "unknown-key"),
                (6, "no-colon"),
                (7, "matches-nothing"),
                (8, "misspelled-key"),
            ]
        );
        let cut = Policy::parse(b"User-agent: *\nDisallow: /ab", &RFC9309.with_byte_limit(Some(26)));
        assert_eq!(cut.findings(), [Finding { line: 0, code: FindingCode::OverLimit }, Finding { line: 2, code: FindingCode::CutLine }]);
        assert_eq!(cut.rules().len(), 0);
    }

    #[test]
    fn malformed_records_are_kept_and_found() {
        let body = "User-agent: *\nCrawl-delay: soon\nContent-Usage: train-ai = n\nSitemap: /s.xml\nSitemap: https://e.example/s.xml\n";
        assert_eq!(findings(body), [(2, "malformed-record"), (3, "malformed-record"), (4, "malformed-record")]);
        assert_eq!(parse(body).records().count(), 4);
    }

    #[test]
    fn preferences_as_rules() {
        let body = "Content-Usage: train-ai=n\nUser-agent: a\nContent-Usage: train-ai=y, search=n\nDisallow: /x\nUser-agent: b\nDisallow: /y\n\
            User-agent: c\nContent-Usage: /%7Ec* train-ai=n\nContent-Usage: /d search=n\nContent-Usage: / train-ai=maybe\n";
        let policy = parse(body).usage_rules(&UsageKey::new("train-ai").unwrap());
        let groups: Vec<Vec<_>> = policy
            .groups()
            .map(|group| group.rules().map(|rule| (rule.line(), rule.allows(), rule.pattern(), rule.specificity())).collect())
            .collect();
        assert_eq!(groups, [vec![(3, false, &b"/"[..], 0)], vec![], vec![(8, true, b"/~c*", 4)]]);
        assert_eq!(policy.group(2).rules().next().unwrap().value(), b"/%7Ec*");
    }

    #[test]
    fn one_edit() {
        for key in ["disalow", "dissallow", "disallo", "dsiallow", "diasllow", "useragent", "user_agent", "alow", "allows", "user agent"] {
            assert!(is_misspelled(key.as_bytes()), "{key}");
        }
        for key in ["host", "disallowed-x", "agent", "", "llwo", "sitemap"] {
            assert!(!is_misspelled(key.as_bytes()), "{key}");
        }
    }
}
