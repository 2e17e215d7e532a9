//! robosieve's side.

use robosieve::agent::Agent as Product;
use robosieve::compile::{Options, compile};
use robosieve::dialect::Dialect;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::Program;
use robosieve::url::Url;

use crate::peer::{Answer, Job};
use crate::question::{Agent, Kind};

/// What robosieve says, agent by agent, URL by URL.
pub fn answers(job: &Job, dialect: &Dialect) -> Vec<Answer> {
    let policy = Policy::parse(&job.body, dialect);
    let octets = compile(&policy, &Options::default());
    let program = Program::check(&octets).expect("robosieve reads what it wrote");
    let mut scratch = Scratch::new();
    let mut answers = Vec::with_capacity(job.len());
    for agent in &job.questions.agents {
        let rule_set = program.bind(&product(agent)).rule_set();
        let matcher = rule_set.map(|index| Matcher::new(program.rule_set(index).expect("bound")).expect("checked"));
        answers.extend(job.questions.urls.iter().map(|url| {
            let raw = target(url, dialect);
            let allows = matcher.as_ref().is_none_or(|matcher| matcher.allows(raw, &mut scratch).expect("checked"));
            if allows { Answer::Allow } else { Answer::Disallow }
        }));
    }
    answers
}

/// What stands behind a URL's authority, or what the dialect takes for that.
fn target<'u>(url: &'u [u8], dialect: &Dialect) -> &'u [u8] {
    if dialect.form.cuts_anything() {
        return &url[dialect.form.start(url)..];
    }
    Url::split(url).expect("the questions hold URLs with an origin").rest()
}

fn product(agent: &Agent) -> Product {
    match agent.kind {
        Kind::Header => Product::from_header(&agent.text),
        Kind::Token | Kind::Versioned => Product::token(&agent.text).expect("the questions hold product tokens"),
    }
}
