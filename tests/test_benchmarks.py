"""The collector behind ``make bench``; the measurements themselves are not tests."""

import json
import re
import sys
import types
from pathlib import Path

import pytest

from benchmarks import Row, median_seconds, run


def benchmark(rows):
    module = types.ModuleType("benchmarks.fake")
    module.run = rows if callable(rows) else lambda: rows
    return module


@pytest.fixture
def fakes(monkeypatch, tmp_path):
    """Two benchmarks in place of the real ones; gives where the numbers go."""
    rows = [
        Row(name="quick", value=2.0, unit="ms", target=5.0, note="a note"),
        Row(name="slow", value=9.0, unit="ms", target=5.0, note=""),
        Row(name="many", value=9.0, unit="calls", target=">= 5", note=""),
        Row(name="free", value=1.0, unit="s", target=None, note=""),
    ]
    monkeypatch.setitem(sys.modules, "benchmarks.good", benchmark(rows))
    monkeypatch.setitem(sys.modules, "benchmarks.bad", benchmark(lambda: 1 / 0))
    monkeypatch.setattr(run, "benchmark_names", lambda: ["bad", "good"])
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results" / "bench.json")
    return run.RESULTS


def test_rows_are_printed_and_kept(fakes, capsys):
    assert run.main(["good"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("met") == 2
    assert printed.count("missed") == 1
    kept = json.loads(fakes.read_text())
    assert [row["reached"] for row in kept["rows"]] == [True, False, True, None]
    assert {row["benchmark"] for row in kept["rows"]} == {"good"}
    assert kept["failed"] == []


def test_a_broken_benchmark_does_not_hide_the_others(fakes, capsys):
    assert run.main([]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    kept = json.loads(fakes.read_text())
    assert kept["failed"] == ["bad"]
    assert len(kept["rows"]) == 4


def test_an_unknown_name_is_refused(fakes, capsys):
    assert run.main(["nothing"]) == 2
    assert "benchmark must be one of bad, good, got 'nothing'" in capsys.readouterr().out
    assert not fakes.exists()


def test_one_part_of_a_benchmark_is_run(fakes, capsys, monkeypatch):
    module = benchmark([])
    row = Row(name="alone", value=1.0, unit="s", target=None, note="")
    module.PARTS = {"part": lambda: [row]}
    monkeypatch.setitem(sys.modules, "benchmarks.good", module)
    assert run.main(["good:part"]) == 0
    assert [row["name"] for row in json.loads(fakes.read_text())["rows"]] == ["alone"]
    assert run.main(["good:other"]) == 2
    assert "part of good must be one of part, got 'other'" in capsys.readouterr().out


def test_commands_of_documents_name_benchmarks_and_parts():
    documents = Path(run.__file__).parents[1].joinpath("docs").rglob("*.md")
    texts = [path.read_text(encoding="utf-8") for path in documents]
    found = [name for text in texts for name in re.findall(r"benchmarks\.run ([a-z_]+:\w+)", text)]
    assert "shops:exact" in found
    for name in found:
        benchmark_name, _, part = name.partition(":")
        assert part in run.parts_of(benchmark_name), name


def test_a_target_must_contain_a_number():
    assert run.reached(1.0, "small") is None
    assert run.reached(5.0, 5.0)
    assert not run.reached(5.1, "<= 5")


def test_every_benchmark_can_be_found():
    names = run.benchmark_names()
    assert "analyze" in names
    assert "run" not in names


def test_what_make_bench_leaves_out_names_its_command():
    for file in Path(run.__file__).parent.glob("[a-z]*.py"):
        if file.stem not in (*run.benchmark_names(), "run"):
            assert re.search(rf"python (-m benchmarks\.|benchmarks/){file.stem}", file.read_text())


def test_median_seconds_is_the_time_of_one_call():
    calls = []
    seconds = median_seconds(lambda: calls.append(1), repeats=3, loops=5)
    assert len(calls) == 16
    assert 0 < seconds < 0.01


def test_remeasured_figures_are_found_in_their_pages():
    from benchmarks._remeasure import FIGURES

    assert [figure.quote for figure in FIGURES if not figure.is_quoted] == []
    assert len({(figure.quote, figure.stated) for figure in FIGURES}) == len(FIGURES)


def test_a_deviation_is_in_standard_errors():
    from benchmarks._remeasure import Figure

    figure = Figure("fit.md", "", 10.0, 0.3, lambda: (11.0, 0.4))
    assert figure.deviation() == ((11.0, 0.4), pytest.approx(2.0))
