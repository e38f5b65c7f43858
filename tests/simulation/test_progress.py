"""Compiling is announced on a terminal."""

import io
import logging
import sys

import pytest

from globalbandits.simulation.progress import say_compiling


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "shown", "words"),
    [
        (Terminal(), False, "compiling 3 policies, once: WAGP, UCB1, IDS\n"),
        (io.StringIO(), False, ""),
        (io.StringIO(), True, "compiling 3 policies, once: WAGP, UCB1, IDS\n"),
    ],
    ids=["terminal", "file", "asked for"],
)
def test_compiling_is_announced_on_a_terminal(monkeypatch, stream, shown, words):
    monkeypatch.setattr(sys, "stderr", stream)
    say_compiling(["WAGP", "UCB1", "IDS"], shown)
    assert stream.getvalue() == words


def test_many_names_are_not_all_listed(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    say_compiling([f"P{number}" for number in range(31)])
    assert stream.getvalue() == "compiling 31 policies, once: P0, P1, P2, P3, P4, ...\n"


def test_the_log_is_written_without_a_terminal(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with caplog.at_level(logging.INFO, logger="globalbandits"):
        say_compiling(["WAGP"])
    assert [(line.name, line.message) for line in caplog.records] == [
        ("globalbandits.simulation.progress", "compiling 1 policy, once: WAGP")
    ]
    assert sys.stderr.getvalue() == ""


def test_no_stream_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    say_compiling(["WAGP"], True)
