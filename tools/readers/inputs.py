"""Tables of URLs as other people's tools write them. Each writer gives the names of files, and the URL column where it is not `url`."""

import re

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

# Of a URL: scheme, host, port, path, query.
PARTS = re.compile(r"([a-z]+)://([^/?#:@\[\]]+)(?::(\d+))?(/[^?#]*)?(?:\?([^#]*))?")

STRING_TYPES = {
    "string": pyarrow.string(),
    "large": pyarrow.large_string(),
    "view": pyarrow.string_view(),
    "binary": pyarrow.binary(),
    "large-binary": pyarrow.large_binary(),
    "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}


def table(urls, url_type=pyarrow.string(), name="url"):
    """With columns beside the URLs, and metadata, that a filter has to leave as they are."""
    rows = range(len(urls))
    columns = {
        "id": pyarrow.array([f"<urn:{row}>" for row in rows]),
        name: pyarrow.array(urls).cast(url_type) if not pyarrow.types.is_dictionary(url_type) else pyarrow.array(urls).dictionary_encode(),
        "token_count": pyarrow.array([None if row % 11 == 0 else row % 3_000 for row in rows], pyarrow.int32()),
        "date": pyarrow.array([row * 1_000_000 for row in rows], pyarrow.timestamp("us", "UTC")),
        "tags": pyarrow.array([[f"tag {tag}" for tag in range(row % 4)] for row in rows], pyarrow.list_(pyarrow.string())),
        "dump": pyarrow.array([f"CC-MAIN-2024-{row % 5}" for row in rows]).dictionary_encode(),
        "text": pyarrow.array([f"the text, with a comma,\n a line end and \"quotes\", of row {row}" for row in rows]),
    }
    made = pyarrow.table(columns)
    field = made.schema.field("token_count").with_metadata({"unit": "tokens"})
    schema = made.schema.set(made.schema.get_field_index("token_count"), field).with_metadata({"source": "tools/readers"})
    return made.cast(schema)


def flat(urls):
    """What every tool can write."""
    return table(urls).select(["id", "url", "token_count", "text"])


def parts(urls):
    """The rows that the columns of Common Crawl's index can hold, and these columns."""
    found = [(url, PARTS.fullmatch(url or "")) for url in urls]
    found = [(url, match.groups()) for url, match in found if match]
    protocol, host, port, path, query = zip(*(groups for _, groups in found))
    columns = {
        "url_surtkey": pyarrow.array([",".join(reversed(name.split("."))) + ")/" for name in host]),
        "url_protocol": pyarrow.array(protocol),
        "url_host_name": pyarrow.array(host),
        "url_port": pyarrow.array([port and int(port) for port in port], pyarrow.int32()),
        "url_path": pyarrow.array(path),
        "url_query": pyarrow.array(query),
    }
    return [url for url, _ in found], pyarrow.table(columns)


def by_pyarrow(urls, work):
    compressions = [None, "lz4", "zstd"]
    for number, (name, url_type) in enumerate(STRING_TYPES.items()):
        made = table(urls, url_type, "link")
        options = pyarrow.ipc.IpcWriteOptions(compression=compressions[number % 3])
        file = work / f"pyarrow-{name}.arrow"
        with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_file(sink, made.schema, options=options) as writer:
            writer.write_table(made, max_chunksize=3_000)
        yield file, "link"
        file = work / f"pyarrow-{name}.arrows"
        with pyarrow.OSFile(str(file), "wb") as sink, pyarrow.ipc.new_stream(sink, made.schema, options=options) as writer:
            writer.write_table(made, max_chunksize=3_000)
        yield file, "link"
        file = work / f"pyarrow-{name}.parquet"
        pyarrow.parquet.write_table(made, file, row_group_size=3_000, compression=["zstd", "snappy", "gzip"][number % 3])
        yield file, "link"
    sliced = table(["https://example.com/not-of-the-table"] * 70 + urls)[70:]
    file = work / "pyarrow-sliced.feather"
    pyarrow.feather.write_feather(sliced, str(file))
    yield file, None
    file = work / "pyarrow.csv"
    pyarrow.csv.write_csv(flat(urls), file)
    yield file, None


def by_polars(urls, work):
    frame = polars.from_arrow(flat(urls)).with_columns(polars.col("url").cast(polars.Categorical).alias("category"))
    for compression in ["uncompressed", "lz4", "zstd"]:
        file = work / f"polars-{compression}.arrow"
        frame.write_ipc(file, compression=compression)
        yield file, None
        yield file, "category"
    file = work / "polars.arrows"
    frame.write_ipc_stream(file)
    yield file, None
    file = work / "polars.parquet"
    frame.write_parquet(file, row_group_size=3_000)
    yield file, None
    file = work / "polars.csv"
    frame.write_csv(file)
    yield file, None
    file = work / "polars.jsonl"
    frame.write_ndjson(file)
    yield file, None


def by_duckdb(urls, work):
    connection = duckdb.connect()
    connection.register("rows", flat(urls))
    for name, options in [
        ("duckdb.parquet", "format parquet, compression zstd, row_group_size 3000"),
        ("duckdb.csv", "format csv, header"),
        ("duckdb.tsv", "format csv, header, delimiter '\t'"),
        ("duckdb.jsonl", "format json"),
    ]:
        file = work / name
        connection.execute(f"copy rows to '{file}' ({options})")
        yield file, None


def by_pandas(urls, work):
    frame = flat(urls).to_pandas()
    file = work / "pandas.parquet"
    frame.to_parquet(file)
    yield file, None
    file = work / "pandas.feather"
    frame.to_feather(file)
    yield file, None
    file = work / "pandas.csv"
    frame.to_csv(file, index=False)
    yield file, None
    file = work / "pandas.jsonl"
    frame.to_json(file, orient="records", lines=True)
    yield file, None


WRITERS = [by_pyarrow, by_polars, by_duckdb, by_pandas]
