//! robosieve's side.

use robosieve::agent::Agent as Product;
use robosieve::compile::{Options, compile};
use robosieve::dialect::Dialect;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::Program;
use robosieve::url::Url;

use crate::peer::{Answer, Job};
use crate::question::Agent;

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
            let url = Url::split(url).expect("a URL with an origin");
            let allows = matcher.as_ref().is_none_or(|matcher| matcher.allows(url.rest(), &mut scratch).expect("checked"));
            if allows { Answer::Allow } else { Answer::Disallow }
        }));
    }
    answers
}

fn product(agent: &Agent) -> Product {
    match agent.is_header {
        true => Product::from_header(&agent.text),
        false => Product::token(&agent.text).expect("the questions hold product tokens"),
    }
}
