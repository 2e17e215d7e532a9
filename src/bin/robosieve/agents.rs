//! The agents that are asked for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use robosieve::agent::{Agent, Preset, lookup, preset, presets};

use crate::args::AgentArgs;
use crate::exit::{Failure, say, shown};
use crate::summary::first_ten;

/// The agents: tokens and presets first, then headers, then those of files; each once. Says on standard error how a text was read, where that is not
/// obvious.
pub fn collect(args: &AgentArgs) -> Result<Vec<Agent>, Failure> {
    let mut agents = Collected::default();
    for text in &args.agents {
        add_named(&mut agents, text)?;
    }
    for header in &args.user_agents {
        add_header(&mut agents, header);
    }
    for path in &args.agent_file {
        let text = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        }
        .map_err(|error| Failure::of(shown(path), &error))?;
        for (number, line) in (1..).zip(text.trim_start_matches('\u{FEFF}').lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                add_named(&mut agents, line).map_err(|failure| Failure::new(format!("{}, line {number}: {failure}", shown(path))))?;
            }
        }
    }
    let mut agents = agents.agents;
    if args.profiles {
        agents = agents
            .into_iter()
            .map(|agent| Agent::crawler_profile(agent.name()).filter(|_| agent.header().is_none()).unwrap_or(agent))
            .collect();
    } else {
        note_profiles(&agents);
    }
    if agents.is_empty() {
        return Err(Failure::new("no agent to ask for: give --agent TOKEN, --agent @PRESET, --user-agent HEADER or --agent-file FILE"));
    }
    Ok(agents)
}

/// Says which agents are known to follow other groups than a plain token does.
fn note_profiles(agents: &[Agent]) {
    let differs =
        |agent: &&Agent| agent.header().is_none() && lookup(agent.name()).is_some_and(|known| !known.star || !known.fallback.is_empty());
    let names: Vec<&str> = agents.iter().filter(differs).map(Agent::name).collect();
    if !names.is_empty() {
        say!(
            "robosieve: {} are documented to fall back to other groups or to pass over those for `*`: --profiles asks so, `robosieve agents TOKEN` says how",
            first_ten(&names)
        );
    }
}

/// The preset that `@name` or `name` stands for.
pub fn find_preset(name: &str) -> Result<&'static Preset, Failure> {
    let known = || presets().iter().map(|preset| format!("@{}", preset.name)).collect::<Vec<_>>().join(", ");
    preset(name).ok_or_else(|| Failure::new(format!("no preset {name:?}; there are {}", known())))
}

/// A token, or a preset of several.
fn add_named(agents: &mut Collected, text: &str) -> Result<(), Failure> {
    if text.starts_with('@') {
        find_preset(text)?.agents().for_each(|agent| _ = agents.add(agent));
        return Ok(());
    }
    if text.contains(',') {
        return Err(Failure::new(format!("agent {text:?} holds a comma: several agents are given each with its own --agent")));
    }
    let agent = Agent::token(text)?;
    if let Some(note) = agent.note() {
        say!("robosieve: {note}");
    }
    if let Some(first) = agents.add(agent).filter(|first| first.given() != text) {
        say!("robosieve: {text} is the same agent as {}: it is asked for once", first.given());
    }
    Ok(())
}

fn add_header(agents: &mut Collected, header: &str) {
    let agent = Agent::from_header(header);
    match agent.tokens() {
        [] => say!("robosieve: no product token in {header:?}: the groups for `*` bind it"),
        tokens => say!("robosieve: {header:?} is read as {}", tokens.join(", ")),
    }
    if let Some(note) = agent.note() {
        say!("robosieve: warning: {note}");
    }
    agents.add(agent);
}

/// Agents in the order in which they were given, each once.
#[derive(Default)]
struct Collected {
    agents: Vec<Agent>,
    places: HashMap<(bool, String), usize>,
}

impl Collected {
    /// Adds an agent, or gives the one that is there already. Letter case makes no other agent; a version and a header do, since some dialects use the
    /// text whole.
    fn add(&mut self, new: Agent) -> Option<&Agent> {
        let key = match new.header() {
            Some(header) => (true, header.to_owned()),
            None => (false, new.given().to_ascii_lowercase()),
        };
        match self.places.entry(key) {
            Entry::Occupied(known) => Some(&self.agents[*known.get()]),
            Entry::Vacant(place) => {
                place.insert(self.agents.len());
                self.agents.push(new);
                None
            }
        }
    }
}
