//! The agents that are asked for.

use robosieve::agent::Agent;

use crate::args::AgentArgs;
use crate::exit::{Failure, say, shown};

/// The agents: tokens first, then headers, then those of files; each once. Says on standard error how a text was read, where that is not obvious.
pub fn collect(args: &AgentArgs) -> Result<Vec<Agent>, Failure> {
    let mut agents: Vec<Agent> = Vec::new();
    let mut add = |agent: Agent| {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    };
    for text in &args.agents {
        add(token(text)?);
    }
    for header in &args.user_agents {
        let agent = Agent::from_header(header);
        match agent.tokens() {
            [] => say!("robosieve: no product token in {header:?}: the groups for `*` bind it"),
            tokens => say!("robosieve: {header:?} is read as {}", tokens.join(", ")),
        }
        add(agent);
    }
    for path in &args.agent_file {
        let text = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        }
        .map_err(|error| Failure::of(shown(path), &error))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                add(token(line).map_err(|failure| Failure::new(format!("{}, line {number}: {failure}", shown(path))))?);
            }
        }
    }
    if agents.is_empty() {
        return Err(Failure::new("no agent to ask for: give --agent TOKEN, --user-agent HEADER or --agent-file FILE"));
    }
    Ok(agents)
}

fn token(text: &str) -> Result<Agent, Failure> {
    if text.starts_with('@') {
        return Err(Failure::new(format!("no preset {text:?}: list tokens in a file and give --agent-file FILE")));
    }
    let agent = Agent::token(text)?;
    if let Some(note) = agent.note() {
        say!("robosieve: {note}");
    }
    Ok(agent)
}
