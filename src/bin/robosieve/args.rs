//! The arguments.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use jiff::{SignedDuration, Span, SpanRelativeTo};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use robosieve::agent::Purpose;
use robosieve::dialect::Dialect;
use robosieve::fetch::{AccessTable, Outcome};
use robosieve::io::inputs::Format as InputFormat;
use robosieve::policy::{FindingCode, Severity};
use robosieve::usage::UsageKey;

use crate::bench::BenchArgs;

/// Evaluates URL lists against robots.txt policies (RFC 9309), offline and in bulk.
#[derive(Debug, Parser)]
#[command(
    name = "robosieve",
    version,
    about,
    after_help = "Data goes to standard output, everything else to standard error. `-` is a stream.\n\
    Exit codes: 0 done (check: all allowed); 1 something disallowed (check) or more than --fail-on lets pass;\n\
    2 an error (check: something unresolved)."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask one robots.txt about a few URLs
    #[command(after_help = "Examples:\n  robosieve check --robots robots.txt --agent GPTBot https://example.com/page\n  \
        curl -s https://example.com/robots.txt | robosieve check --robots - --agent GPTBot https://example.com/page\n\n\
        The robots.txt answers for every URL's origin. Exit codes: 0 all allowed, 1 something disallowed, 2 something unresolved.")]
    Check(CheckArgs),
    /// Compile policies into a store
    #[command(after_help = "A directory holds files named by origin: HOST (http and https on their default ports), HOST_PORT, or\n\
        SCHEME_HOST_PORT, with or without .txt; a folder of such a name stands for the robots.txt in it.\n\
        A manifest says what became of fetches, in JSON lines: origin or url, status or error, fetched_at, final_url,\n\
        and path, body or body_base64. It is manifest.jsonl in a directory, or any file that ends in .jsonl.\n\n\
        Examples:\n  robosieve compile -o policies.rsieve robots/\n  robosieve compile -o policies.rsieve fetches.jsonl")]
    Compile(CompileArgs),
    /// Write verdict columns for every row of a URL list
    #[command(
        after_help = "POLICIES is a store, a directory of files named by origin, a manifest (.jsonl), or one robots.txt (with --origin or\n\
        --any-origin).\n\
        Without -o, the summary is all that is printed.\n\nExamples:\n  \
        robosieve eval policies.rsieve urls.txt --agent Googlebot --agent GPTBot -o verdicts.arrow\n  \
        robosieve eval robots/ urls.txt --agent GPTBot -o - | head\n  \
        robosieve eval policies.rsieve urls.txt --agent GPTBot --usage train-ai -o preferences.arrow"
    )]
    Eval(EvalArgs),
    /// Write the rows that may be crawled, as they came
    #[command(after_help = "With several agents, a row passes if all of them may crawl it. With --usage, it\n\
        passes unless the policies state n.\n\nExamples:\n  \
        robosieve filter policies.rsieve urls.txt --agent MyBot > frontier.txt\n  \
        zcat urls.gz | robosieve filter robots/ - --agent MyBot --undecided undecided.txt > frontier.txt")]
    Filter(FilterArgs),
    /// List the robots.txt files that there are to fetch for a list of URLs, those with most rows first
    #[command(
        after_help = "Writes a URL of a robots.txt, a tab, and the number of rows a line. What became of fetching them can be compiled: see the manifest in\n\
        `robosieve compile --help` and docs/GUIDE.md.\n\nExamples:\n  \
        robosieve origins urls.txt | cut -f1 > fetch.txt\n  \
        robosieve origins part-*.parquet --missing policies.rsieve --older-than 24h --format json"
    )]
    Origins(OriginsArgs),
    /// Say what is wrong with robots.txt files, or not as their authors may think
    #[command(
        after_help = "INPUT is a robots.txt, a directory of such, or a store that keeps bodies. Findings go to standard output, one a line.\n\
        Exit codes: 0 done, 1 found what --fail-on asks for, 2 an error.\n\nExamples:\n  robosieve lint robots.txt --fail-on warning\n  \
        robosieve lint robots/ --format json\n  robosieve lint --codes"
    )]
    Lint(LintArgs),
    /// Show every step from a URL and an agent to a decision
    #[command(
        after_help = "POLICIES is a store, a directory of files named by origin, or one robots.txt, which answers for every origin unless --origin\n\
        says which.\n\nExamples:\n  robosieve explain robots.txt https://example.com/page --agent GPTBot\n  \
        robosieve explain policies.rsieve https://example.com/page --agent GPTBot --dialect rfc9309,google --format json"
    )]
    Explain(ExplainArgs),
    /// List the URLs on which two dialects disagree, and why
    #[command(
        after_help = "POLICIES and URLS are as for eval. The causes: url, robots-txt, origin, access, group, line, octets, specificity. The summary says\n\
        what those that were met mean, and how often.\n\nExample:\n  \
        robosieve diff --dialects rfc9309,google policies.rsieve urls.txt --agent Googlebot"
    )]
    Diff(DiffArgs),
    /// Show what is in a store or a robots.txt: groups, rung chosen, states, octets
    #[command(
        after_help = "Examples:\n  robosieve inspect policies.rsieve\n  robosieve inspect policies.rsieve --origin https://example.com\n  \
        robosieve inspect robots.txt --automata"
    )]
    Inspect(InspectArgs),
    /// List and explain well-known crawlers, presets, and what a User-Agent header yields
    #[command(
        after_help = "Examples:\n  robosieve agents\n  robosieve agents @ai-training\n  robosieve agents Googlebot-Image Google-Extended\n  \
        robosieve agents --purpose seo --format json\n  robosieve agents --presets\n  \
        robosieve agents --header \"$USER_AGENT\""
    )]
    Agents(CrawlersArgs),
    /// Measure this and other matchers on your own policies and URLs: agreement of verdicts first, then time
    #[command(
        after_help = "POLICIES and URLS are as for eval; without them, a sample is made up. Exit codes: 0 done, 1 robosieve's own ways give different\n\
        verdicts, 2 an error. docs/GUIDE.md says what is measured, and how external matchers are spoken to.\n\nExamples:\n  \
        robosieve bench --rows 10000 --runs 3\n  \
        robosieve bench policies.rsieve urls.txt --agent GPTBot --plot bench.svg\n  \
        robosieve bench robots.txt urls.txt --any-origin --external mine=./my_matcher"
    )]
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Ask for this product token, as GPTBot; `*` for an agent that nobody names; @NAME for a preset, as @ai (repeatable)
    #[arg(long = "agent", value_name = "TOKEN")]
    pub agents: Vec<String>,
    /// Ask for the token of this whole User-Agent header (repeatable)
    #[arg(long = "user-agent", value_name = "HEADER")]
    pub user_agents: Vec<String>,
    /// Ask for known crawlers as their operators document them: some fall back to other groups, some pass over those for `*`
    #[arg(long)]
    pub profiles: bool,
    /// Ask for the tokens and presets in this file, one a line; `#` starts a comment
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub agent_file: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// How robots.txt is read: rfc9309, google or scrapy; several (repeated, or parted by commas) are answered side by side
    /// [default: rfc9309, or what a store was compiled in]
    #[arg(long = "dialect", visible_alias = "dialects", value_parser = dialect, value_name = "NAME", value_delimiter = ',')]
    pub dialects: Vec<Dialect>,
    /// How fetch outcomes are read: rfc9309, google, scrapy or hold [default: the dialect's own]
    #[arg(long, value_parser = access, value_name = "NAME")]
    pub access: Option<AccessTable>,
}

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Say too what the content-usage records state about this use of what may be crawled, as train-ai, ai-use or search; several (repeated, or parted
    /// by commas) are answered side by side
    #[arg(long = "usage", value_parser = UsageKey::new, value_name = "KEY", value_delimiter = ',')]
    keys: Vec<UsageKey>,
}

impl UsageArgs {
    /// The uses asked about, each once.
    pub fn keys(&self) -> Vec<&UsageKey> {
        let mut keys: Vec<&UsageKey> = Vec::new();
        for key in &self.keys {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The robots.txt, or `-` for standard input; may be left out where --status decides alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "status")]
    pub robots: Option<PathBuf>,
    #[command(flatten)]
    pub agents: AgentArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub usage: UsageArgs,
    /// How the fetch of robots.txt ended: an HTTP status, unreachable, too-many-redirects or unknown
    #[arg(long, value_name = "OUTCOME", value_parser = Outcome::from_str, default_value = "200", hide_default_value = true)]
    pub status: Outcome,
    /// How answers are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// URLs to ask about; from standard input, one a line, if none are given
    #[arg(value_name = "URL")]
    pub urls: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// JSON lines, for programs
    Json,
}

#[derive(Debug, Args)]
pub struct CompileArgs {
    /// The store to write; an old one is replaced when the new one is complete
    #[arg(short, long, value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Directories of robots.txt files named by origin, and manifests: files that end in .jsonl, or `-` for standard input
    #[arg(value_name = "INPUT", required_unless_present = "manifests", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// A manifest of fetch outcomes, whatever its name; its paths are relative to its folder (repeatable)
    #[arg(long = "manifest", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub manifests: Vec<PathBuf>,
    /// How robots.txt is read
    #[arg(long, default_value = "rfc9309", value_parser = dialect, value_name = "NAME")]
    pub dialect: Dialect,
    /// Leave the bodies out: the store is smaller, and can not be recompiled or explained in full
    #[arg(long)]
    pub no_bodies: bool,
    /// Read this many octets of each body, or `none` for all
    #[arg(long, value_name = "OCTETS", value_parser = byte_limit, default_value = "512000")]
    pub byte_limit: ByteLimit,
    #[command(flatten)]
    pub threads: ThreadArgs,
}

#[derive(Debug, Clone, Copy)]
pub struct ByteLimit(pub Option<usize>);

#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// Threads to use, 1 to 256 [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZeroUsize>,
}

impl ThreadArgs {
    pub fn count(&self) -> NonZeroUsize {
        self.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    }
}

#[derive(Debug, Clone, Args)]
pub struct PolicyArgs {
    /// A store, a directory of files named by origin, a manifest (.jsonl), or one robots.txt
    #[arg(value_name = "POLICIES", value_hint = ValueHint::AnyPath)]
    pub policies: PathBuf,
    /// The origin that a single robots.txt governs, as https://example.com
    #[arg(long, value_name = "URL", conflicts_with = "any_origin")]
    pub origin: Option<String>,
    /// Let a single robots.txt answer for every origin
    #[arg(long)]
    pub any_origin: bool,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub policies: PolicyArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
    #[command(flatten)]
    pub agents: AgentArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub usage: UsageArgs,
    /// Let an origin without a policy be answered by that of the other scheme (http, https), of its host with `www.` or without, or of both
    #[arg(long, value_name = "WHICH", value_delimiter = ',', value_enum)]
    pub origin_fallback: Vec<FallbackArg>,
    #[command(flatten)]
    pub account: AccountArgs,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Write the summary as JSON to this file (`-` for standard output) as well
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub summary_json: Option<PathBuf>,
    /// Exit with 1 if, for any agent, more rows than this are allow, disallow or undecided: as `undecided>1%` or `disallow>0` (repeatable)
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<FailOn>,
}

#[derive(Debug, Args)]
pub struct InputArgs {
    /// The URLs: lists (one a line), CSV, TSV, JSON lines, Arrow or Parquet files, compressed with gzip or zstd or not, directories of such, or `-` for
    /// standard input
    #[arg(value_name = "URLS", required = true, value_hint = ValueHint::AnyPath)]
    pub urls: Vec<PathBuf>,
    /// What the files are: lines, csv, tsv, jsonl, arrow, arrows (a stream) or parquet [default: what their names say; lines]
    #[arg(long, value_parser = input_format, value_name = "FORMAT")]
    pub input_format: Option<InputFormat>,
    /// The column that holds the URLs [default: url, or url_protocol, url_host_name, url_port, url_path and url_query put together]
    #[arg(long, value_name = "NAME")]
    pub url_column: Option<String>,
}

#[derive(Debug, Args)]
pub struct AccountArgs {
    /// Add this column of numbers up, by verdict and reason, in the summary (repeatable)
    #[arg(long = "sum", value_name = "COLUMN")]
    pub sums: Vec<String>,
    /// What is judged: each page, or whole registered domains (by the public suffix list), of which one host may speak for all; the summary has both
    #[arg(long, value_enum, default_value_t = ScopeArg::Page)]
    pub scope: ScopeArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FallbackArg {
    /// The other of http and https, on their default ports
    Scheme,
    /// The host with `www.` before it, or without
    Www,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// Each URL, by the rules for its path
    Page,
    /// A registered domain is disallowed if one of its hosts disallows its start page
    RegisteredDomain,
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Where the columns go, or `-` for standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// How they are written [default: by the file's name; text on standard output]
    #[arg(long, value_enum)]
    pub output_format: Option<OutputFormat>,
    /// Write the URLs too (JSON lines and text always have them)
    #[arg(long)]
    pub with_url: bool,
    /// Write too, for each agent, why: reason, group, rule and line, and for each row the snapshot that answered (JSON lines and text always say why)
    #[arg(long)]
    pub explain: bool,
    /// Write texts to CSV as they are, even if a spreadsheet would take them for a formula
    #[arg(long)]
    pub raw: bool,
    /// Write these columns of the input too, as id,date
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub carry: Vec<String>,
    /// What the names of verdict columns begin with (not in JSON lines and text)
    #[arg(long, value_name = "PREFIX", default_value = "allow_")]
    pub column_prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Arrow IPC file: a boolean column an agent
    Arrow,
    /// Arrow IPC stream: the same
    Arrows,
    /// Parquet file: the same
    Parquet,
    /// CSV with a header: a record a row
    Csv,
    /// The same, parted by tabs
    Tsv,
    /// JSON lines: an object a row and agent
    Jsonl,
    /// A table for people
    Text,
}

#[derive(Debug, Args)]
pub struct FilterArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Where the rows go, or `-` for standard output; of several inputs, or a directory, a directory: its files have the names that they had
    #[arg(short, long, value_name = "FILE", default_value = "-", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Leave out the inputs whose outputs are in the output directory already: outputs are complete or absent
    #[arg(long)]
    pub resume: bool,
    /// Which of the agents must be allowed a row for it to pass
    #[arg(long, value_enum, default_value_t = RequireArg::All)]
    pub require: RequireArg,
    /// What happens to rows without an answer: drop, keep, error, or a file that they are written to
    #[arg(long, value_name = "WHAT", default_value = "drop", value_parser = undecided)]
    pub undecided: UndecidedArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RequireArg {
    /// Every one
    All,
    /// At least one
    Any,
}

#[derive(Debug, Clone)]
pub enum UndecidedArg {
    Drop,
    Keep,
    Error,
    File(PathBuf),
}

#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A store or a robots.txt; `-` for a robots.txt on standard input
    #[arg(value_name = "POLICIES", value_hint = ValueHint::FilePath)]
    pub policies: PathBuf,
    /// Of a store: only the policy of this origin, as https://example.com
    #[arg(long, value_name = "URL")]
    pub origin: Option<String>,
    /// Print every node and state of the automata as well
    #[arg(long)]
    pub automata: bool,
    /// How robots.txt is read: rfc9309, google or scrapy [default: rfc9309, or what a store was compiled in]
    #[arg(long, value_parser = dialect, value_name = "NAME")]
    pub dialect: Option<Dialect>,
}

#[derive(Debug, Args)]
pub struct LintArgs {
    /// robots.txt files, directories of such, or stores; `-` for standard input
    #[arg(value_name = "INPUT", required_unless_present = "codes", value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// How robots.txt is read [default: rfc9309, or what a store was compiled in]
    #[arg(long, value_parser = dialect, value_name = "NAME")]
    pub dialect: Option<Dialect>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Exit with 1 if there is a finding of this severity (note, warning, error) or heavier, or of this code (repeatable)
    #[arg(long, value_name = "WHAT", value_parser = fail_on)]
    pub fail_on: Vec<FailOnFinding>,
    /// List the codes of findings, with their severity and what they mean
    #[arg(long)]
    pub codes: bool,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// URLs to explain
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<OsString>,
    #[command(flatten)]
    pub agents: AgentArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// How explanations are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// How differences are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Exit with 1 if there is any difference
    #[arg(long)]
    pub exit_code: bool,
}

#[derive(Debug, Args)]
pub struct OriginsArgs {
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Leave out the origins that these policies know
    #[arg(long, value_name = "POLICIES", value_hint = ValueHint::AnyPath)]
    pub missing: Option<PathBuf>,
    /// But not those whose newest snapshot is older than this, as 24h or 7d
    #[arg(long, value_name = "DURATION", requires = "missing", value_parser = duration)]
    pub older_than: Option<SignedDuration>,
    /// How they are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub threads: ThreadArgs,
}

#[derive(Debug, Args)]
pub struct CrawlersArgs {
    /// Tokens to explain, or @PRESETs to list; everything if none are given
    #[arg(value_name = "TOKEN")]
    pub names: Vec<String>,
    /// Only crawlers of this purpose, as search, ai-training or seo (repeatable)
    #[arg(long, value_name = "PURPOSE", value_parser = purpose)]
    pub purpose: Vec<Purpose>,
    /// Only crawlers of this preset (repeatable)
    #[arg(long, value_name = "NAME")]
    pub preset: Vec<String>,
    /// Explain what this whole User-Agent header is read as (repeatable)
    #[arg(long = "header", value_name = "HEADER", conflicts_with_all = ["names", "purpose", "preset", "presets"])]
    pub headers: Vec<String>,
    /// List the presets and their agents
    #[arg(long, conflicts_with_all = ["names", "purpose", "preset"])]
    pub presets: bool,
    /// How answers are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What `lint --fail-on` names.
#[derive(Debug, Clone, Copy)]
pub enum FailOnFinding {
    /// That severity, or a heavier one.
    Severity(Severity),
    /// That code.
    Code(FindingCode),
}

/// A share of rows that must not be exceeded.
#[derive(Debug, Clone)]
pub struct FailOn {
    pub text: String,
    pub what: Counted,
    pub limit: f64,
    pub percent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Allow,
    Disallow,
    Undecided,
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<FailOn, String> {
        let wrong =
            || format!("{text:?} is no condition: write allow, disallow or undecided, then `>`, then a count or a share, as undecided>1%");
        let (what, limit) = text.split_once('>').ok_or_else(wrong)?;
        let what = match what.trim() {
            "allow" => Counted::Allow,
            "disallow" => Counted::Disallow,
            "undecided" => Counted::Undecided,
            _ => return Err(wrong()),
        };
        let (number, percent) = match limit.trim().strip_suffix('%') {
            Some(number) => (number, true),
            None => (limit.trim(), false),
        };
        let limit = number.parse::<f64>().ok().filter(|limit| limit.is_finite() && *limit >= 0.0).ok_or_else(wrong)?;
        Ok(FailOn { text: text.to_owned(), what, limit, percent })
    }
}

impl ReadingArgs {
    /// The dialects asked for, each once.
    pub fn dialects(&self) -> Vec<Dialect> {
        let mut dialects = self.dialects.clone();
        let mut seen = Vec::new();
        dialects.retain(|dialect| {
            !seen.contains(&dialect.name) && {
                seen.push(dialect.name);
                true
            }
        });
        dialects
    }
}

fn input_format(name: &str) -> Result<InputFormat, String> {
    let known = || InputFormat::ALL.map(InputFormat::name).join(", ");
    InputFormat::by_name(name).ok_or_else(|| format!("no format of that name; there are {}", known()))
}

pub fn dialect(name: &str) -> Result<Dialect, String> {
    let known = || Dialect::ALL.map(|dialect| dialect.name).join(", ");
    Dialect::by_name(name).ok_or_else(|| format!("no dialect of that name; there are {}", known()))
}

fn access(name: &str) -> Result<AccessTable, String> {
    let known = || AccessTable::ALL.map(AccessTable::name).join(", ");
    AccessTable::by_name(name).ok_or_else(|| format!("no access table of that name; there are {}", known()))
}

fn purpose(name: &str) -> Result<Purpose, String> {
    let known = || Purpose::ALL.map(Purpose::name).join(", ");
    Purpose::by_name(name).ok_or_else(|| format!("no purpose of that name; there are {}", known()))
}

fn duration(text: &str) -> Result<SignedDuration, String> {
    let wrong = || format!("{text:?} is no duration: write 24h, 7d or 90m");
    let span: Span = text.parse().map_err(|_| wrong())?;
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    if duration.is_negative() { Err(wrong()) } else { Ok(duration) }
}

fn byte_limit(text: &str) -> Result<ByteLimit, String> {
    match text {
        "none" => Ok(ByteLimit(None)),
        number => number.parse().map(|limit| ByteLimit(Some(limit))).map_err(|_| "give a number of octets, or none".to_owned()),
    }
}

fn fail_on(text: &str) -> Result<FailOnFinding, String> {
    if let Some(severity) = Severity::ALL.into_iter().find(|severity| severity.name() == text) {
        return Ok(FailOnFinding::Severity(severity));
    }
    FindingCode::by_name(text)
        .map(FailOnFinding::Code)
        .ok_or_else(|| "give note, warning, error, or a code: `robosieve lint --codes` lists them".to_owned())
}

pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().ok().filter(|count: &NonZeroUsize| count.get() <= 256).ok_or_else(|| "give a number from 1 to 256".to_owned())
}

fn undecided(text: &str) -> Result<UndecidedArg, String> {
    Ok(match text {
        "drop" => UndecidedArg::Drop,
        "keep" => UndecidedArg::Keep,
        "error" => UndecidedArg::Error,
        "" => return Err("give drop, keep, error, or a file".to_owned()),
        // A misspelled word must not become a file.
        word if !word.contains(['/', '.']) && !std::path::Path::new(word).exists() => {
            return Err("give drop, keep, error, or a file (a new one with a dot or a slash in its name)".to_owned());
        }
        file => UndecidedArg::File(PathBuf::from(file)),
    })
}
