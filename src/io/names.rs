//! What the columns of an output are called, whatever its format. docs/COLUMNS.md defines it.

use crate::pipeline::{Asked, AskedUsage, Evaluator};

/// Names that no other column gets, be these there or not.
const RESERVED: [&str; 3] = ["row", "file", "url"];

/// What is written beside verdicts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Whether there is a column `file`.
    pub file: bool,
    /// Whether there is a column `url`.
    pub url: bool,
    /// The names of carried columns.
    pub carried: &'a [String],
    /// Whether there are the columns that explain verdicts.
    pub explained: bool,
}

/// The names of all columns: `row`, those of `file` and `url` where they are asked for, and behind them these, in this order.
///
/// A name that is taken by a column before gets `_2` behind it, then `_3`, and so on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// Of carried columns.
    pub carried: Vec<String>,
    /// Of the verdict columns: prefix and agent, and the dialect where there are several.
    pub verdicts: Vec<String>,
    /// Of the usage columns: `usage_`, the use, `_`, and what verdict columns have behind their prefix.
    pub usages: Vec<String>,
    /// Of what explains each verdict column.
    pub explained: Vec<ExplainNames>,
    /// Of the snapshots that answered, one a dialect.
    pub snapshots: Vec<SnapshotNames>,
    /// Of who has lent the policy, where anybody may: `origin_fallback`.
    pub lent: Option<String>,
}

/// The names of the columns that explain a verdict column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainNames {
    /// `reason_AGENT`.
    pub reason: String,
    /// `group_AGENT`.
    pub group: String,
    /// `rule_AGENT`.
    pub rule: String,
    /// `line_AGENT`.
    pub line: String,
}

/// The names of the columns that say which snapshot answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotNames {
    /// `snapshot_digest`.
    pub digest: String,
    /// `snapshot_time`.
    pub time: String,
}

impl ColumnNames {
    /// The names for what `evaluator` answers; those of verdict columns begin with `prefix`.
    ///
    /// ```
    /// use robosieve::{agent::Agent, dialect::RFC9309, io::names::{Beside, ColumnNames}, pipeline::Evaluator, store::build::{Builder, Record}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// builder.add_name("example.com", Record::body(b"".to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("GPTBot")?, Agent::token("gptbot/1.0")?, Agent::token("GPTBot")?]);
    /// let names = ColumnNames::new(&evaluator, "allow_", Beside::default());
    /// assert_eq!(names.verdicts, ["allow_GPTBot", "allow_gptbot", "allow_GPTBot_2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(evaluator: &Evaluator<'_>, prefix: &str, beside: Beside<'_>) -> ColumnNames {
        let mut taken = Taken(vec!["row".to_owned()]);
        taken.0.extend(beside.file.then(|| "file".to_owned()));
        taken.0.extend(beside.url.then(|| "url".to_owned()));
        let carried = beside.carried.iter().map(|name| taken.name(name.clone())).collect();
        taken.0.extend(RESERVED.map(str::to_owned));
        let of_dialect = |dialect: Option<&str>| dialect.map_or(String::new(), |name| format!("_{name}"));
        let suffix = |asked: &Asked<'_, '_>| asked.agent.column_suffix() + &of_dialect(asked.dialect);
        let suffixes: Vec<String> = evaluator.columns().map(|asked| suffix(&asked)).collect();
        let verdicts = suffixes.iter().map(|suffix| taken.name(format!("{prefix}{suffix}"))).collect();
        let usage = |asked: AskedUsage<'_, '_>| format!("usage_{}_{}{}", asked.key, asked.agent.column_suffix(), of_dialect(asked.dialect));
        let usages = evaluator.usages().map(|asked| taken.name(usage(asked))).collect();
        let (mut explained, mut snapshots) = (Vec::new(), Vec::new());
        if beside.explained {
            explained.extend(suffixes.iter().map(|suffix| {
                let mut name = |what| taken.name(format!("{what}_{suffix}"));
                ExplainNames { reason: name("reason"), group: name("group"), rule: name("rule"), line: name("line") }
            }));
            snapshots.extend(evaluator.readings().iter().map(|reading| {
                let dialect = (evaluator.readings().len() > 1).then(|| reading.store().dialect().name);
                let mut name = |what| taken.name(format!("snapshot_{what}{}", of_dialect(dialect)));
                SnapshotNames { digest: name("digest"), time: name("time") }
            }));
        }
        let lent = (!evaluator.fallback().is_off()).then(|| taken.name("origin_fallback".to_owned()));
        ColumnNames { carried, verdicts, usages, explained, snapshots, lent }
    }

    /// All names, in the order of the columns.
    pub fn all(&self, beside: Beside<'_>) -> Vec<&str> {
        let mut names = vec!["row"];
        names.extend(beside.file.then_some("file"));
        names.extend(beside.url.then_some("url"));
        names.extend(self.carried.iter().chain(&self.verdicts).chain(&self.usages).map(String::as_str));
        names.extend(self.explained.iter().flat_map(|names| [&names.reason[..], &names.group, &names.rule, &names.line]));
        names.extend(self.snapshots.iter().flat_map(|names| [&names.digest[..], &names.time]));
        names.extend(self.lent.as_deref());
        names
    }
}

/// Names that are taken.
struct Taken(Vec<String>);

impl Taken {
    fn name(&mut self, base: String) -> String {
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !self.0.contains(name)).expect("numbers do not end");
        self.0.push(name.clone());
        name
    }
}
