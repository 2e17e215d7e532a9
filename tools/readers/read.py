"""Holds robosieve to other people's tools: it reads what pyarrow, polars, duckdb and pandas write, and they read what it writes.

Usage: read.py ROBOSIEVE POLICIES URLS WORK
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.compute as compute
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

import inputs

AGENTS = ["*", "Googlebot", "GPTBot"]
COUNTS = ["allow", "disallow", "unresolved"]


class Command:
    def __init__(self, robosieve, policies, work):
        self.robosieve, self.policies, self.work = robosieve, policies, work

    def run(self, command, rows, *options):
        """The summary of a run."""
        summary = self.work / "summary.json"
        agents = [option for agent in AGENTS for option in ("--agent", agent)]
        line = [self.robosieve, command, self.policies, rows, *agents, "--summary-json", summary, *options]
        ran = subprocess.run([str(word) for word in line], capture_output=True, text=True)
        assert ran.returncode == 0, f"{' '.join(map(str, line))}: {ran.stderr}"
        return json.loads(summary.read_text())


def counts(summary):
    return {agent["agent"]: tuple(agent[verdict] for verdict in COUNTS) for agent in summary["agents"]}


def url_option(column):
    return [] if column is None else ["--url-column", column]


def read_arrow(path):
    with pyarrow.OSFile(str(path)) as source:
        opened = pyarrow.ipc.open_stream(source) if path.suffix == ".arrows" else pyarrow.ipc.open_file(source)
        return opened.read_all()


def read_table(path):
    return pyarrow.parquet.read_table(path) if path.suffix == ".parquet" else read_arrow(path)


# What each reader makes of an output: columns by name, as lists.


def with_pyarrow(path):
    readers = {".parquet": pyarrow.parquet.read_table, ".csv": csv_with_pyarrow, ".arrow": read_arrow, ".arrows": read_arrow}
    return readers[path.suffix](path).to_pydict()


def csv_with_pyarrow(path):
    # A URL that looks like a number is a URL, and nothing is nothing.
    options = pyarrow.csv.ConvertOptions(column_types={"url": pyarrow.string()}, strings_can_be_null=True)
    return pyarrow.csv.read_csv(path, convert_options=options, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))


def with_polars(path):
    readers = {
        ".parquet": polars.read_parquet,
        ".csv": lambda path: polars.read_csv(path, infer_schema_length=None),
        ".arrow": polars.read_ipc,
        ".arrows": polars.read_ipc_stream,
    }
    return readers[path.suffix](path).to_dict(as_series=False)


def with_duckdb(path):
    connection = duckdb.connect()
    if path.suffix in (".arrow", ".arrows"):
        connection.register("rows", read_arrow(path))
        found = connection.sql("select * from rows")
    elif path.suffix == ".parquet":
        found = connection.read_parquet(str(path))
    else:
        found = connection.read_csv(str(path), sample_size=-1)
    return dict(zip(found.columns, map(list, zip(*found.fetchall()))))


def with_pandas(path):
    readers = {
        ".parquet": pandas.read_parquet,
        ".csv": pandas.read_csv,
        ".arrow": pandas.read_feather,
        ".arrows": lambda path: read_arrow(path).to_pandas(),
    }
    frame = readers[path.suffix](path)
    return {name: [None if pandas.isna(value) else value for value in frame[name]] for name in frame}


READERS = [with_pyarrow, with_polars, with_duckdb, with_pandas]


def check_inputs(command, urls, right):
    """Every file that another tool wrote gives the counts of the list."""
    read = Counter()
    for writer in inputs.WRITERS:
        for file, column in writer(urls, command.work):
            got = counts(command.run("eval", file, *url_option(column)))
            assert got == right, f"{file.name}: {got}, the list gives {right}"
            read[writer.__name__] += 1
    print("the counts of the list:", ", ".join(f"{count} files {name.replace('_', ' ')}" for name, count in read.items()))


def check_parts(command, urls):
    """The columns of Common Crawl's index give what whole URLs give."""
    whole, split = inputs.parts(urls)
    assert len(whole) > len(urls) / 2
    listed = command.work / "whole.txt"
    listed.write_text("".join(url + "\n" for url in whole))
    right = counts(command.run("eval", listed))
    file = command.work / "parts.parquet"
    pyarrow.parquet.write_table(split, file, row_group_size=3_000)
    assert counts(command.run("eval", file)) == right
    file = command.work / "parts.arrow"
    with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_file(sink, split.schema) as writer:
        writer.write_table(split)
    assert counts(command.run("eval", file)) == right
    print(f"Common Crawl's columns: {len(whole)} rows as whole URLs")


def check_filters(command, urls):
    """A filter gives back the rows that pass, every column and the schema as they were."""
    verdicts = command.work / "verdicts.arrow"
    for name in ["pyarrow-view.arrow", "pyarrow-dictionary.arrow", "pyarrow-large.arrows", "pyarrow-string.parquet", "pyarrow-dictionary.parquet"]:
        file, out = command.work / name, command.work / f"kept-{name}"
        command.run("eval", file, "--url-column", "link", "-o", verdicts)
        answers = read_arrow(verdicts)
        allowed = None
        for agent in AGENTS:
            column = compute.fill_null(answers["allow_" + ("any" if agent == "*" else agent)], False)
            allowed = column if allowed is None else compute.and_(allowed, column)
        kept = command.run("filter", file, "--url-column", "link", "-o", out)["kept"]
        before, after = read_table(file), read_table(out)
        assert after.schema.equals(before.schema, check_metadata=True), f"{name}: {after.schema}, not {before.schema}"
        # By hand: pyarrow filters no views.
        allowed = allowed.to_pylist()
        assert kept == sum(allowed) == after.num_rows > 0, name
        for column in before.column_names:
            right = [value for value, passes in zip(before[column].to_pylist(), allowed) if passes]
            assert after[column].to_pylist() == right, f"{name}: {column}"
    print("filter: rows that pass, columns and schemas as they were")


def check_outputs(command, urls, right):
    """Every reader finds the counts of the summary in every output."""
    file = command.work / "pyarrow-string.arrow"
    for suffix in ["arrow", "arrows", "parquet", "csv"]:
        out = command.work / f"out.{suffix}"
        command.run("eval", file, "--url-column", "link", "--with-url", "--carry", "id,token_count", "--explain", "-o", out)
        for reader in READERS:
            columns, what = reader(out), f"{reader.__name__} of {out.name}"
            for agent, expected in right.items():
                name = "any" if agent == "*" else agent
                found = Counter(columns["allow_" + name])
                got = found[True], found[False], found[None]
                assert got == expected, f"{what}: {agent}: {got}, the summary says {expected}"
                ruled = sum(reason == "rule" for reason in columns["reason_" + name])
                assert ruled == sum(line is not None for line in columns["line_" + name]) > 0, f"{what}: lines of rules"
            assert columns["row"] == list(range(len(urls))), what
            assert columns["id"] == [f"<urn:{row}>" for row in range(len(urls))], what
            # In CSV a row without a URL and one with an empty URL are one.
            assert [url or None for url in columns["url"]] == [url or None for url in urls], f"{what}: URLs"
        print(f"{out.name}: the counts of the summary, with", ", ".join(reader.__name__.removeprefix("with_") for reader in READERS))
    out = command.work / "out.jsonl"
    command.run("eval", file, "--url-column", "link", "-o", out)
    frame = polars.read_ndjson(out, infer_schema_length=None)
    for agent, expected in right.items():
        found = Counter(frame.filter(polars.col("agent") == agent)["verdict"])
        assert tuple(found[verdict] for verdict in COUNTS) == expected, f"JSON lines: {agent}"


def main(robosieve, policies, list_path, work):
    command = Command(robosieve, policies, Path(work))
    rows = Path(list_path).read_bytes().removesuffix(b"\n").split(b"\n")
    # A row without a URL is an empty line in a list.
    urls = [None, *(row.removesuffix(b"\r").decode() for row in rows), None]
    listed = command.work / "urls.txt"
    listed.write_text("".join((url or "") + "\n" for url in urls))
    right = counts(command.run("eval", listed))
    check_inputs(command, urls, right)
    check_parts(command, urls)
    check_filters(command, urls)
    check_outputs(command, urls, right)
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (pyarrow, polars, duckdb, pandas))
    print(f"{versions} agree with robosieve on {len(urls)} rows and {len(AGENTS)} agents")


main(*sys.argv[1:])
