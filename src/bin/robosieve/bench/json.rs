//! What came out, for programs: one object, whose keys docs/GUIDE.md explains.

use std::io::{self, Write};

use serde_json::{Value, json};

use robosieve::decision::Verdict;
use robosieve::io::json::line;
use robosieve::io::text::to_text;

use super::agreement::{Agreement, Difference};
use super::inputs::Inputs;
use super::measure::Figure;
use super::payoff::{Payoff, WORK};
use super::report::{PeerFacts, Report};

impl Report {
    pub fn write_json(&self, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
        let machine = &self.machine;
        let object = json!({
            "robosieve": env!("CARGO_PKG_VERSION"),
            "build": machine.build,
            "date": machine.date,
            "machine": {
                "cpu": machine.cpu,
                "cores": machine.cores,
                "system": machine.system,
                "instruction_sets": machine.instruction_sets,
            },
            "policies": {
                "name": inputs.policies_name,
                "dialect": inputs.store.dialect().name,
                "origins": inputs.store.origin_count(),
                "programs": inputs.store.program_count(),
                "rungs": self.rungs,
                "met": self.met,
            },
            "urls": { "name": inputs.list_name, "rows": self.rows, "octets": inputs.list.octets().len() },
            "sample": { "rows": self.sample_rows, "policies": self.sample_policies },
            "agents": inputs.agents.iter().map(|agent| agent.name()).collect::<Vec<_>>(),
            "agents_named": inputs.named,
            "reference": self.reference,
            "agreement": self.agreement.iter().map(|agreement| of_agreement(agreement, inputs)).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(|figure| of_figure(figure, self.times_floor(figure))).collect::<Vec<_>>(),
            "payoff": self.payoff.as_ref().map(of_payoff),
            "externals": self.peers.iter().map(of_peer).collect::<Vec<_>>(),
            "notes": self.left_out,
        });
        writeln!(out, "{}", line(&object))
    }
}

fn of_agreement(agreement: &Agreement, inputs: &Inputs) -> Value {
    json!({
        "way": agreement.way,
        "external": agreement.external,
        "compared": agreement.compared,
        "differ": agreement.differ,
        "agree": agreement.share(),
        "differences": agreement.shown.iter().map(|difference| of_difference(difference, inputs)).collect::<Vec<_>>(),
    })
}

fn of_difference(difference: &Difference, inputs: &Inputs) -> Value {
    json!({
        "row": difference.row,
        "url": to_text(&difference.url).0,
        "agent": inputs.agents[difference.agent].name(),
        "reference": difference.reference.name(),
        "answer": difference.answer.map_or("error", Verdict::name),
    })
}

fn of_figure(figure: &Figure, times_floor: Option<f64>) -> Value {
    json!({
        "section": figure.section.name(),
        "way": figure.way,
        "work": figure.work,
        "unit": format!("ns a {}", figure.unit.name()),
        "count": figure.count,
        "runs": figure.samples.len(),
        "repeats": figure.repeats,
        "median": figure.median(),
        "min": figure.min(),
        "max": figure.max(),
        "quartiles": [figure.quantile(0.25), figure.quantile(0.75)],
        "times_floor": times_floor,
    })
}

/// An infinite number of URLs is null: compiling never pays.
fn of_payoff(payoff: &Payoff) -> Value {
    let quartiles = |values: [f64; 3]| values.map(|value| value.is_finite().then_some(value));
    json!({
        "policies": payoff.policies,
        "never": payoff.never,
        "urls": quartiles(payoff.urls),
        "costs": WORK.iter().zip(payoff.costs).map(|(work, costs)| json!({ "work": work, "ns": quartiles(costs) })).collect::<Vec<_>>(),
    })
}

fn of_peer(peer: &PeerFacts) -> Value {
    json!({ "name": peer.name, "command": peer.command, "about": peer.about, "start_ns": peer.start })
}
