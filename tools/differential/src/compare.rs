//! Verdicts held against each other, and every difference explained or not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use crate::model::Reading;
use crate::peer::{Answer, Job};
use crate::question::Agent;
use crate::quirk::{Quirk, Quirks};

/// Differences that nothing explains are shown up to this many.
const SHOWN: usize = 20;
/// And so many of one file.
const SHOWN_OF_ONE: usize = 2;
/// Of a body, so much is shown.
const SHOWN_LEN: usize = 1_500;

/// Why two verdicts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// These quirks, and no fewer, turn the one verdict into the other; with all of the peer's the model answers as it does.
    Quirks(Quirks),
    /// The model of the dialect does not answer as robosieve does.
    NotOurModel,
    /// The model of the peer does not answer as the peer does.
    NotTheirModel,
}

/// Explains the differences of one file.
pub struct Explainer<'j> {
    body: &'j [u8],
    ours: Quirks,
    theirs: Quirks,
    readings: HashMap<Quirks, Reading>,
}

impl<'j> Explainer<'j> {
    /// For `body`, read with `ours` and with `theirs`.
    pub fn new(body: &'j [u8], ours: Quirks, theirs: Quirks) -> Explainer<'j> {
        Explainer { body, ours, theirs, readings: HashMap::new() }
    }

    fn allows(&mut self, quirks: Quirks, agent: &Agent, url: &[u8]) -> bool {
        self.readings.entry(quirks).or_insert_with(|| Reading::of(self.body, quirks)).allows(agent, url)
    }

    /// Whether both models answer so.
    pub fn both_models_say(&mut self, agent: &Agent, url: &[u8], ours: bool, theirs: Option<bool>) -> bool {
        self.allows(self.ours, agent, url) == ours && theirs.is_none_or(|theirs| self.allows(self.theirs, agent, url) == theirs)
    }

    /// Why they say `theirs` and we do not.
    pub fn explain(&mut self, agent: &Agent, url: &[u8], theirs: bool) -> Cause {
        if self.allows(self.ours, agent, url) == theirs {
            return Cause::NotOurModel;
        }
        if self.allows(self.theirs, agent, url) != theirs {
            return Cause::NotTheirModel;
        }
        Cause::Quirks(self.smallest_change(agent, url, theirs))
    }

    /// One quirk, else two, else what is left of all when none more can be left out.
    fn smallest_change(&mut self, agent: &Agent, url: &[u8], theirs: bool) -> Quirks {
        let change = self.ours.flipped(self.theirs);
        let single: Vec<Quirks> = change.iter().map(|quirk| Quirks::of(&[quirk])).collect();
        let pairs = single.iter().enumerate().flat_map(|(at, one)| single[..at].iter().map(|other| one.flipped(*other)));
        let few: Vec<Quirks> = single.iter().copied().chain(pairs).collect();
        if let Some(found) = few.into_iter().find(|&few| self.allows(self.ours.flipped(few), agent, url) == theirs) {
            return found;
        }
        single.into_iter().fold(change, |rest, quirk| {
            let fewer = rest.flipped(quirk);
            if self.allows(self.ours.flipped(fewer), agent, url) == theirs { fewer } else { rest }
        })
    }
}

/// Differences with a cause in common.
#[derive(Default)]
struct Class {
    /// Those that have no other cause.
    alone: u64,
    /// Those that need others too.
    with_others: u64,
    example: String,
    example_rank: (bool, usize),
}

impl Class {
    fn add(&mut self, job: &Job, agent: &Agent, url: &[u8], is_alone: bool) {
        let is_first = self.alone + self.with_others == 0;
        *(if is_alone { &mut self.alone } else { &mut self.with_others }) += 1;
        // The best example has no other cause and is short.
        let rank = (!is_alone, job.body.len());
        if is_first || rank < self.example_rank {
            self.example_rank = rank;
            let body = if job.body.len() <= 160 { format!(" in `{}`", job.body.escape_ascii()) } else { String::new() };
            self.example = format!("{}: `{}` for `{}`{body}", job.name, url.escape_ascii(), agent.text.escape_debug()).replace('|', "\\|");
        }
    }
}

/// What came of a comparison.
#[derive(Default)]
pub struct Tally {
    compared: u64,
    agreed: u64,
    files: u64,
    causes: BTreeMap<Quirk, Class>,
    sets: HashSet<Quirks>,
    answers: BTreeMap<&'static str, Class>,
    unexplained: u64,
    shown: String,
    shown_count: usize,
    shown_of: (String, usize),
    not_as_modelled: u64,
}

impl Tally {
    /// Compares the answers to `job`. With `check_models`, the models are held to every verdict, not only to those that differ.
    pub fn add(&mut self, job: &Job, readings: (Quirks, Quirks), answers: (&[Answer], &[Answer]), check_models: bool) {
        let mut explainer = Explainer::new(&job.body, readings.0, readings.1);
        self.files += 1;
        let questions = job.questions.agents.iter().flat_map(|agent| job.questions.urls.iter().map(move |url| (agent, url.as_slice())));
        for ((agent, url), (&ours, &theirs)) in questions.zip(answers.0.iter().zip(answers.1)) {
            let we_allow = ours.allows().expect("robosieve answers");
            if check_models && !explainer.both_models_say(agent, url, we_allow, theirs.allows()) {
                self.not_as_modelled += 1;
                self.show(job, agent, url, ours, theirs, "a model answers otherwise");
            }
            let Some(they_allow) = theirs.allows() else {
                self.answers.entry(theirs.name()).or_default().add(job, agent, url, true);
                continue;
            };
            self.compared += 1;
            if we_allow == they_allow {
                self.agreed += 1;
                continue;
            }
            match explainer.explain(agent, url, they_allow) {
                Cause::Quirks(quirks) => {
                    let is_alone = quirks.iter().count() == 1;
                    quirks.iter().for_each(|quirk| self.causes.entry(quirk).or_default().add(job, agent, url, is_alone));
                    self.sets.insert(quirks);
                }
                Cause::NotOurModel => self.unexplained(job, agent, url, ours, theirs, "the model of the dialect answers as the peer does"),
                Cause::NotTheirModel => self.unexplained(job, agent, url, ours, theirs, "the model of the peer answers as robosieve does"),
            }
        }
    }

    fn unexplained(&mut self, job: &Job, agent: &Agent, url: &[u8], ours: Answer, theirs: Answer, why: &str) {
        self.unexplained += 1;
        self.show(job, agent, url, ours, theirs, why);
    }

    fn show(&mut self, job: &Job, agent: &Agent, url: &[u8], ours: Answer, theirs: Answer, why: &str) {
        if self.shown_of.0 != job.name {
            self.shown_of = (job.name.clone(), 0);
        }
        if self.shown_count == SHOWN || self.shown_of.1 == SHOWN_OF_ONE {
            return;
        }
        self.shown_count += 1;
        self.shown_of.1 += 1;
        let body = &job.body[..job.body.len().min(SHOWN_LEN)];
        let _ = writeln!(
            self.shown,
            "{}: agent {:?}, URL {}: robosieve {}, peer {}: {why}",
            job.name,
            agent.text,
            url.escape_ascii(),
            ours.name(),
            theirs.name()
        );
        let _ = writeln!(self.shown, "    {}{}", body.escape_ascii(), if body.len() < job.body.len() { "..." } else { "" });
    }

    /// Whether every difference is explained.
    pub fn is_explained(&self) -> bool {
        self.unexplained == 0 && self.not_as_modelled == 0
    }

    /// The tables, in Markdown.
    pub fn report(&self, title: &str) -> String {
        let mut out = String::new();
        let share = 100.0 * self.agreed as f64 / self.compared.max(1) as f64;
        let _ = writeln!(
            out,
            "## {title}\n\n{} files, {} verdicts compared, {} differ: {share:.4} % agree.",
            self.files,
            self.compared,
            self.compared - self.agreed
        );
        for (name, class) in &self.answers {
            let _ = writeln!(out, "{} questions: {name}; as {}", class.alone, class.example);
        }
        if !self.causes.is_empty() {
            let _ = writeln!(
                out,
                "\nCauses ({} combinations of them):\n\n| alone | with others | cause | what it does | who is right | example |\n|---:|---:|---|---|---|---|",
                self.sets.len()
            );
        }
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, class)| std::cmp::Reverse((class.alone, class.with_others)));
        for (quirk, class) in causes {
            let (name, says, right) = (quirk.name(), quirk.says(), quirk.right());
            let _ = writeln!(out, "| {} | {} | {name} | {says} | {right} | {} |", class.alone, class.with_others, class.example);
        }
        if !self.is_explained() {
            let _ = writeln!(
                out,
                "\n{} differences unexplained, {} verdicts not as modelled:\n\n{}",
                self.unexplained, self.not_as_modelled, self.shown
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Questions;

    fn cause(body: &[u8], ours: &[Quirk], theirs: &[Quirk], rest: &str) -> Cause {
        let (agent, url) = (Agent::token("*").unwrap(), format!("https://example.com{rest}"));
        let mut explainer = Explainer::new(body, Quirks::of(ours), Quirks::of(theirs));
        let says = |quirks| Reading::of(body, quirks).allows(&agent, url.as_bytes());
        assert_ne!(says(Quirks::of(ours)), says(Quirks::of(theirs)), "the readings differ");
        explainer.explain(&agent, url.as_bytes(), says(Quirks::of(theirs)))
    }

    #[test]
    fn the_fewest_quirks_are_found() {
        use Quirk::*;
        let all = [Misspelled, NoColonTwoWords, KeyPrefix, IndexHtm, RobotsTxtRules, TrimAscii];
        let found = |body: &[u8], rest| cause(body, &[], &all, rest);
        assert_eq!(found(b"User-agent: *\nDisalow: /a", "/a"), Cause::Quirks(Quirks::of(&[Misspelled])));
        assert_eq!(found(b"User-agent: *\nDisalow /a", "/a"), Cause::Quirks(Quirks::of(&[Misspelled, NoColonTwoWords])));
        let three = Quirks::of(&[Misspelled, NoColonTwoWords, RobotsTxtRules]);
        assert_eq!(found(b"User-agent: *\nDisalow /r", "/robots.txt"), Cause::Quirks(three));
    }

    #[test]
    fn what_a_dialect_has_and_the_peer_has_not_is_a_cause_too() {
        let found = cause(b"User-agent: *\nDisallow /a", &[Quirk::NoColonTwoWords, Quirk::IndexHtm], &[Quirk::IndexHtm], "/a");
        assert_eq!(found, Cause::Quirks(Quirks::of(&[Quirk::NoColonTwoWords])));
    }

    #[test]
    fn a_verdict_that_no_model_gives_is_not_explained() {
        let (agent, url) = (Agent::token("*").unwrap(), b"https://example.com/a");
        let body = b"User-agent: *\nDisallow: /a\nDisalow: /";
        let mut explainer = Explainer::new(body, Quirks::NONE, Quirks::of(&[Quirk::Misspelled]));
        assert_eq!(explainer.explain(&agent, url, true), Cause::NotTheirModel);
        assert_eq!(explainer.explain(&agent, url, false), Cause::NotOurModel);
        assert!(explainer.both_models_say(&agent, url, false, Some(false)));
        assert!(!explainer.both_models_say(&agent, url, true, None));
    }

    #[test]
    fn a_tally_counts_and_shows() {
        let questions = Questions { agents: vec![Agent::token("*").unwrap()], urls: vec![b"https://example.com/a".to_vec(); 4] };
        let job = Job { name: "one".to_owned(), body: b"User-agent: *\nDisalow: /a".to_vec(), questions };
        let mut tally = Tally::default();
        let readings = (Quirks::NONE, Quirks::of(&[Quirk::Misspelled]));
        let theirs = [Answer::Disallow, Answer::Allow, Answer::Panic, Answer::Disallow];
        tally.add(&job, readings, (&[Answer::Allow; 4], &theirs), false);
        assert!(tally.is_explained());
        let report = tally.report("a pair");
        assert!(report.contains("3 verdicts compared, 2 differ: 33.3333 % agree") && report.contains("1 questions: panic"), "{report}");
        assert!(report.contains("| 2 | 0 | misspelled-keys |"), "{report}");
        tally.add(&job, (Quirks::NONE, Quirks::NONE), (&[Answer::Allow; 4], &theirs), false);
        assert!(!tally.is_explained() && tally.report("a pair").contains("2 differences unexplained"));
    }
}
