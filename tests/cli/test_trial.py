"""`globalbandits trial` prints a table per scenario."""

import pytest

from globalbandits.cli.program import main
from globalbandits.lab.trials import example_text


def run(arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    return stop.value.code


def test_the_example(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    figure = tmp_path / "shares.png"
    assert run(["trial", "--runs", "20", "--plot", str(figure)]) == 0
    out = capsys.readouterr().out
    for text in ("as guessed: recommended dose, % of 20 trials", "all too toxic", "CRM", "WAGP"):
        assert text in out
    assert "exceeded: % of trials with more than 12" in " ".join(out.split())
    assert "…" not in out  # nothing is cut at 80 columns
    lines = [line for line in out.splitlines() if not line.startswith("The figure")]
    assert max(map(len, lines)) <= 80
    assert figure.exists()


def test_many_arms_are_listed_in_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    doses = [round(0.02 + 0.03 * dose, 2) for dose in range(30)]
    file = tmp_path / "many.toml"
    text, _, _ = example_text().partition("[scenarios]")
    text = text.replace("[0.05, 0.12, 0.25, 0.40, 0.55, 0.65]", str(doses))
    labels = [f"{dose:g}" for dose in doses]
    text = text.replace('["5 mg", "10 mg", "20 mg", "40 mg", "60 mg", "80 mg"]', str(labels))
    file.write_text(f"{text}[scenarios]\nas_guessed = {doses}\n", encoding="utf-8")
    assert run(["trial", str(file), "--runs", "5"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["dose", "true", "rate", "CRM", "BOIN", "3+3", "WAGP"] in lines
    # The last line has the share of trials that recommend no dose, and no true rate.
    assert [line[:2] for line in lines if len(line) == 6][-30:] == [
        [f"{dose:g}", f"{dose:.2f}"] for dose in doses
    ]


def test_a_user_file_is_read(capsys, tmp_path):
    assert run(["trial", "--show"]) == 0
    text = capsys.readouterr().out
    assert text == example_text()
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("as guessed", "just right"), encoding="utf-8")
    assert run(["trial", str(file), "--runs", "5"]) == 0
    assert "just right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trial", "nowhere.toml"], "trial must be a readable TOML file"),
        (["trial", "--runs", "0"], "runs must be at least 1, got 0"),
        (["trial", "--seed", "-1"], "seed must"),
        (["trial", "--plot", "x.docx"], "docx"),
        (["trial", "--report", "x.pdf"], "report must be a file named *.html, got 'x.pdf'"),
    ],
)
def test_invalid_files_are_reported_in_one_line(arguments, message, capsys):
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


def test_names_in_brackets_are_printed_as_text(capsys, tmp_path):
    file = tmp_path / "own.toml"
    text, _, _ = example_text().partition("[scenarios]")
    text = text.replace("[designs.CRM]", '[designs."CRM [/old]"]')
    rates = "[0.05, 0.12, 0.25, 0.40, 0.55, 0.65]"
    file.write_text(f'{text}[scenarios]\n"a [/b] [red]" = {rates}\n', encoding="utf-8")
    assert run(["trial", str(file), "--runs", "2"]) == 0
    out = capsys.readouterr().out
    assert "CRM [/old]" in out
    assert "a [/b] [red]" in out


def test_a_report(capsys, tmp_path):
    page = tmp_path / "protocol.html"
    assert run(["trial", "--runs", "5", "--report", str(page)]) == 0
    assert "The report: " in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "Dose-transition pathways" in text
    assert "20 mg 0.25**exp(theta)" in text
    assert "RewardModel(" not in text


def test_a_report_and_a_figure_together(tmp_path):
    file, report, figure = (tmp_path / name for name in ("t.toml", "r.html", "f.png"))
    file.write_text(
        'target = 0.25\npatients = 6\n[designs.BOIN]\ndesign = "boin"\n'
        "[scenarios]\nrising = [0.1, 0.3]\n",
        encoding="utf-8",
    )
    given = ["trial", str(file), "--runs", "5", "--report", str(report), "--plot", str(figure)]
    assert run(given) == 0
    assert report.exists()
    assert figure.exists()
