import dataclasses
import io
import json
import re
import time

import pytest
from rich.console import Console

from globalbandits import plots
from globalbandits.lab.paper import Chart, Entry, Grid, Outcome, Published, Verdict
from globalbandits.lab.paper.experiment_spec import parse_spec
from globalbandits.lab.report import print_outcomes, write_report
from globalbandits.lab.report.number_formats import format_value
from globalbandits.lab.report.paper_report import conclude

SPEC = parse_spec(
    """
number = 2
title = "A < B"
text = "what is done"
horizon = 10
runs = 5
model = "pricing"
[settings]
[policies]
""",
    "test",
)


@pytest.fixture
def outcome():
    entries = {
        "good": Entry(
            label="good", value=1.0, sem=0.1, runs=50, published=Published(printed="1.1")
        ),
        "bad": Entry(
            label="bad one",
            value=1.0,
            sem=0.0,
            runs=0,
            published=Published(printed="3"),
            why="because <it> differs",
        ),
        "ours": Entry(label="ours", value=123.4, sem=2.0, runs=50),
        "claim": Entry(
            label="A - B", value=5.0, sem=1.0, runs=50, unit="units", statement="A beats B"
        ),
    }
    grid = Grid(
        title="Numbers",
        corner="row",
        columns=("one", "two", "three"),
        rows=(("first", ("good", "bad", "ours")),),
    )
    chart = Chart(
        name="curve",
        caption="A curve & more",
        draw=lambda: plots.band_figure(
            [plots.Line("line", [1, 2], [1, 2])], xlabel="x", ylabel="y"
        ),
    )
    return Outcome(
        spec=SPEC,
        horizon=10,
        runs=50,
        seconds=1.5,
        entries=entries,
        grids=(grid,),
        charts=(chart,),
        notes=("a note",),
    )


@pytest.fixture
def folder(outcome, tmp_path):
    folder = tmp_path / "new" / "results"
    write_report(
        [outcome],
        folder,
        command="globalbandits reproduce",
        seed=3,
        started=time.perf_counter() - 75.0,
    )
    return folder


def test_results_are_machine_readable(folder):
    content = json.loads((folder / "results.json").read_text())
    assert content["about"]["seed"] == 3
    assert content["about"]["command"] == "globalbandits reproduce"
    entries = content["experiment_2"]
    assert set(entries) == {"good", "bad", "ours", "claim"}
    for entry in entries.values():
        assert {"value", "sem", "runs", "verdict"} <= entry.keys()
    assert entries["good"]["paper"] == 1.1
    assert "paper" not in entries["ours"]
    verdicts = [entries[key]["verdict"] for key in ("good", "bad", "ours", "claim")]
    assert verdicts == [
        "reproduced",
        "not reproduced",
        "not stated in the paper",
        "reproduced",
    ]


def test_figures_are_svg_and_png(folder):
    names = sorted(path.name for path in (folder / "figures").iterdir())
    assert names == ["experiment_2_curve.png", "experiment_2_curve.svg"]


def test_the_page_needs_nothing_but_itself(folder):
    page = (folder / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"#]*)', page)
    assert all(source.startswith("data:") for source in sources if source)
    assert "@import" not in page
    assert "url(" not in page
    assert "<script" not in page


def test_the_page_shows_everything_and_escapes_it(folder):
    page = (folder / "report.html").read_text()
    for text in (
        "Experiment 2: A &lt; B",
        "paper 1.1 ✓",
        "paper 3 ✗",
        "because &lt;it&gt; differs",
        "A beats B",
        "✓ reproduced",
        "a note",
        "A curve &amp; more",
        "globalbandits reproduce",
        "50 runs of 10 rounds",
    ):
        assert text in page
    assert page.count("data:image/svg+xml") == 2  # wide, and narrow for phones
    assert re.search(r"1 min \d+ s", page)
    assert "Why not" in page


def test_the_page_begins_with_its_conclusion(folder):
    page = (folder / "report.html").read_text()
    said = "Of 3 numbers and statements of the paper, 2 are reproduced, 1 is not reproduced."
    assert page.index(said) < page.index('<p class="lead">') < page.index("<img")
    assert page.index("Not reproduced: bad one.") < page.index("<img")
    assert page.index("<details>") < page.index("Numbers</h3>")


def test_the_comparison_is_stated_where_there_is_one(outcome):
    entries = {
        "wagp_regret": Entry(label="WAGP", value=1.5, sem=0.05, runs=50),
        "ucb1_regret": Entry(label="UCB1", value=150.0, sem=1.0, runs=50),
    }
    said = conclude([dataclasses.replace(outcome, entries=entries)])
    assert said.startswith("In 10 rounds WAGP loses 1.500 ± 0.098 rewards and UCB1 150.0")
    assert "100 times as much" in said


@pytest.mark.parametrize("lost", [0.0, 100.0])
def test_no_ratio_to_a_regret_of_zero_or_less_is_stated(outcome, lost):
    entries = {
        "wagp_regret": Entry(label="WAGP", value=lost, sem=0.0, runs=2),
        "ucb1_regret": Entry(label="UCB1", value=2.0, sem=0.0, runs=2),
    }
    said = conclude([dataclasses.replace(outcome, entries=entries)])
    assert said.startswith(f"In 10 rounds WAGP loses {lost:g} rewards and UCB1 2.")


def test_the_page_leaves_out_what_there_is_none_of(outcome, tmp_path):
    plain = dataclasses.replace(
        outcome, entries={"ours": outcome.entries["ours"]}, grids=(), charts=(), notes=()
    )
    write_report([plain], tmp_path, command="x", seed=1, started=time.perf_counter())
    page = (tmp_path / "report.html").read_text()
    for text in ("Why not", "What the paper says", "<table", "<img", "<pre>", "<b></b>"):
        assert text not in page
    assert "Nothing here is judged by what the paper prints." in page


def test_a_table_may_follow_its_chart_and_a_section_may_have_no_number(outcome, tmp_path):
    spec = dataclasses.replace(SPEC, number=None, name="extra", title="Is it so?")
    first, second = outcome.charts[0], dataclasses.replace(outcome.charts[0], name="other")
    below = dataclasses.replace(outcome.grids[0], title="Of the first", below="curve")
    changed = dataclasses.replace(
        outcome, spec=spec, charts=(first, second), grids=(*outcome.grids, below)
    )
    write_report([changed], tmp_path, command="x", seed=1, started=time.perf_counter())
    page = (tmp_path / "report.html").read_text()
    assert '<a href="#extra">Is it so?</a>' in page
    assert '<h2 id="extra">Is it so?</h2>' in page
    pieces = re.findall(r"<h3>(?:Of the first|Numbers)|<figure>", page)
    assert pieces == ["<figure>", "<h3>Of the first", "<figure>", "<h3>Numbers"]
    assert "extra" in json.loads((tmp_path / "results.json").read_text())


def test_the_terminal_shows_the_same_numbers(outcome):
    stream = io.StringIO()
    print_outcomes([outcome], Console(width=120, file=stream))
    text = stream.getvalue()
    for part in (
        "A < B",
        "1.00 ± 0.20",
        "paper 1.1 ✓",
        "paper 3 ✗",
        "A beats B",
        "5.0 ± 2.0 units",
    ):
        assert part in text
    assert "2 reproduced, 1 not reproduced" in text


def test_nothing_is_left_half_written(outcome, tmp_path, monkeypatch):
    write_report([outcome], tmp_path, command="first", seed=1, started=time.perf_counter())
    before = (tmp_path / "report.html").read_text()

    def fail(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr("globalbandits.lab.report.paper_report._section", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report([outcome], tmp_path, command="second", seed=1, started=time.perf_counter())
    assert (tmp_path / "report.html").read_text() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (324.5719, 0.0138, ("324.572", "0.014")),
        (0.0, 0.0, ("0", "")),
        (-12.3, 4.0, ("-12.3", "4.0")),
        (1e6, 2e4, ("1000000", "20000")),
    ],
)
def test_numbers_have_as_many_digits_as_their_error_allows(value, half, text):
    assert format_value(value, half) == text


def test_every_verdict_has_a_mark():
    from globalbandits.lab.report.paper_report import MARKS

    assert set(MARKS) == set(Verdict)
