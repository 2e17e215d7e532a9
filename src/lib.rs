//! robosieve compiles robots.txt policies ([RFC 9309]) into automata and evaluates URL lists against them, offline and in bulk: millions of URLs, many
//! agents, one pass, verdicts as bitmaps, and the rule that decided at hand.
//!
//! A verdict says what the Robots Exclusion Protocol says about crawling a URL. It is no permission.
//!
//! # One policy, one question
//!
//! ```
//! use robosieve::{agent::Agent, compile::{Options, compile}, dialect::RFC9309, policy::Policy, program::Program};
//! use robosieve::{matcher::{Matcher, Scratch}, url::Url};
//!
//! let policy = Policy::parse(b"User-agent: *\nDisallow: /private/\nAllow: /private/faq$\n", &RFC9309);
//! let octets = compile(&policy, &Options::default());
//! let program = Program::check(&octets)?;
//! let rule_set = program.bind(&Agent::token("AnyBot")?).rule_set().expect("the `*` group binds it");
//! let matcher = Matcher::new(program.rule_set(rule_set)?)?;
//!
//! let url = Url::split(b"https://example.com/private/faq?x=1")?;
//! let decision = matcher.decide(url.rest(), &mut Scratch::new())?;
//! let rule = policy.rule(decision.rule).unwrap();
//! assert_eq!((decision.verdict.name(), rule.line()), ("disallow", 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Many policies, many rows
//!
#![cfg_attr(feature = "pipeline", doc = "```")]
#![cfg_attr(not(feature = "pipeline"), doc = "```ignore")]
//! use std::num::NonZeroUsize;
//! use robosieve::{agent::Agent, dialect::RFC9309, io::lines::MappedLines, pipeline::{Discard, Evaluator, run}};
//! use robosieve::store::build::{Builder, Record};
//!
//! let mut builder = Builder::new(RFC9309);
//! builder.add_name("example.com", Record::body(b"User-agent: GPTBot\nDisallow: /\n".to_vec()))?;
//! let store = builder.finish()?.open()?; // or .write(path), and Store::open(path) ever after
//!
//! let agents = vec![Agent::token("GPTBot")?, Agent::token("Googlebot")?];
//! let evaluator = Evaluator::new(&store, agents);
//! let list = b"https://example.com/a\nhttps://example.com/b\nnot a URL\n";
//! let summary = run(&mut MappedLines::new(list), &evaluator, &mut Discard, NonZeroUsize::MIN)?;
//! assert_eq!((summary.agents[0].disallow(), summary.agents[1].allow, summary.agents[0].unresolved()), (2, 2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | wing | holds |
//! |---|---|
//! | [`target`] | what is asked: [`url`], [`percent`] (canonical octets), [`form`] |
//! | [`protocol`] | what a robots.txt says: [`policy`], [`record`], [`usage`], [`agent`], [`fetch`], [`decision`], [`dialect`] |
//! | [`engine`] | how a verdict is found: [`compile`], [`program`], [`matcher`], and why: [`mod@explain`], [`analyse`], [`mod@lint`] |
//! | `store` | where compiled policies are kept (feature `store`) |
//! | `pipeline` | how rows flow (feature `pipeline`) |
//! | `io` | the formats of the world (features `pipeline`, `arrow`, `json`) |
//!
//! Ignore at first: [`form`], [`program`] but for `check` and `bind`, and everything that takes options. The command is behind the feature `cli`, which is on by
//! default; a library user wants `default-features = false` and the features it needs. Each adds, none takes away.
//!
//! # What it promises
//!
//! * Whatever octets a robots.txt or a store holds: an answer or an error, in time linear in their number, never a panic.
//! * Verdicts do not depend on the order of rules or groups, on the number of threads, on the rung of the engine, or on whether a policy came from text or from
//!   a store.
//! * No answer is an answer of its own ([`Verdict::Unresolved`](decision::Verdict::Unresolved)), with its reason, and is never folded into another one.
//!
//! [RFC 9309]: https://www.rfc-editor.org/rfc/rfc9309

#![deny(missing_docs, unsafe_code)]

pub mod engine;
#[cfg(feature = "pipeline")]
pub mod io;
#[cfg(feature = "pipeline")]
pub mod pipeline;
pub mod protocol;
#[cfg(feature = "store")]
pub mod store;
pub mod target;

#[cfg(feature = "pipeline")]
pub use engine::scan;
pub use engine::{analyse, compile, explain, lint, matcher, program};
pub use protocol::{agent, decision, dialect, fetch, parse, policy, record, text, usage};
pub use target::{form, percent, quote, url};
