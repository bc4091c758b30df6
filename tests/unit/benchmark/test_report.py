"""Goal: the ratios and the four figures of writes are what was measured, also with gaps."""

from __future__ import annotations

from pathlib import Path

from tests.benchmark.measurements import LIMIT, OURS, Measurements
from tests.benchmark.report import markdown_lines, screen_lines
from tests.benchmark.written_files import WrittenFiles


def _measured() -> Measurements:
    measured = Measurements()
    for engine, times in {LIMIT: [2.0], OURS: [1.0, 4.0, 3.0], "delta": [6.0]}.items():
        for seconds in times:
            measured.add("insert", engine, seconds)
    measured.add("read", OURS, 0.5)
    measured.failures["read"] = {"delta": "no"}
    cost = measured.cost("inserts", OURS)
    cost.rows, cost.seconds, cost.bytes_in, cost.bytes_written = 3000, 2.0, 100, 250
    cost.reads_after_write_s += [3.0, 1.0, 2.0]
    return measured


def test_ratios_are_of_medians_and_gaps_are_dashes() -> None:
    assert markdown_lines(_measured()) == [
        "| Work | Seconds | / parquet | / delta |",
        "| --- | ---: | ---: | ---: |",
        "| insert | 3.000 | 1.50 | 0.50 |",
        "| read | 0.500 | – | – |",
        "",
        (
            "| writes | engine | rows/s | read after write, s | read compacted, s "
            "| bytes written / in |"
        ),
        "| --- | --- | ---: | ---: | ---: | ---: |",
        "| inserts | table store | 1,500 | 2.000 | – | 2.50 |",
    ]


def test_the_screen_tells_what_failed() -> None:
    lines = screen_lines(_measured())
    assert lines[3].split() == ["read", "1", "–", "failed", "0.500", "0.500", "–", "–"]
    assert "failed, read, delta: no" in lines


def test_what_a_peer_cannot_do_is_tried_once() -> None:
    measured, tries = Measurements(), []

    def fail() -> None:
        tries.append(1)
        raise ValueError("cannot\nby any means")

    assert measured.measure("work", "peer", fail) is None
    assert measured.measure("work", "peer", fail) is None
    assert (len(tries), measured.failures) == (1, {"work": {"peer": "cannot"}})
    assert measured.peers == ["peer"]


def test_bytes_written_are_those_of_new_and_changed_files(tmp_path: Path) -> None:
    written = WrittenFiles(tmp_path)
    (tmp_path / "old").write_bytes(b"12345")
    assert written.new_bytes() == 5
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "new").write_bytes(b"123")
    (tmp_path / "old").write_bytes(b"1234567")
    assert written.new_bytes() == 10
    (tmp_path / "old").unlink()
    assert written.new_bytes() == 0
