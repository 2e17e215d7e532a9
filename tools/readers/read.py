"""Reads verdict columns with pyarrow and polars and compares the counts with the summary."""

import json
import sys

import polars
import pyarrow
import pyarrow.compute as compute
import pyarrow.ipc


def by_pyarrow(path, column):
    with pyarrow.memory_map(path) as source:
        values = pyarrow.ipc.open_file(source).read_all().column(column)
        allow = compute.sum(values).as_py() or 0
        return allow, len(values) - values.null_count - allow, values.null_count


def by_polars(path, column):
    values = polars.read_ipc(path)[column]
    allow = int(values.sum())
    return allow, len(values) - values.null_count() - allow, values.null_count()


def main(path, summary_path, list_path):
    with open(summary_path) as file:
        summary = json.load(file)
    for agent in summary["agents"]:
        name = "any" if agent["agent"] == "*" else agent["agent"]
        right = agent["allow"], agent["disallow"], agent["unresolved"]
        for read in (by_pyarrow, by_polars):
            got = read(path, "allow_" + name)
            assert got == right, f"{read.__name__}: {agent['agent']}: {got}, the summary says {right}"
    frame = polars.read_ipc(path)
    assert frame["row"].to_list() == list(range(summary["rows"]))
    with open(list_path, "rb") as file:
        rows = file.read().removesuffix(b"\n").split(b"\n")
    assert [url.encode() for url in frame["url"]] == [row.removesuffix(b"\r") for row in rows], "rows are those of the list"
    print(f"pyarrow {pyarrow.__version__} and polars {polars.__version__} agree with the summary on {summary['rows']} rows "
          f"and {len(summary['agents'])} agents")


main(*sys.argv[1:])
