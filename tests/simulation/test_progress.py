"""What is compiled is said, on a terminal."""

import io
import logging
import os
import pty
import subprocess
import sys

import pytest

from globalbandits.compiling import cache
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
def test_who_is_told(monkeypatch, stream, shown, words):
    monkeypatch.setattr(sys, "stderr", stream)
    say_compiling(["WAGP", "UCB1", "IDS"], shown)
    assert stream.getvalue() == words


def test_many_names_are_not_all_listed(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    say_compiling([f"P{number}" for number in range(31)])
    assert stream.getvalue() == "compiling 31 policies, once: P0, P1, P2, P3, P4, ...\n"


def test_the_log_is_told_whoever_reads_standard_error(monkeypatch, caplog):
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


SCRIPT = """
import globalbandits as gb
env = gb.Environment(gb.demand.linear([0.4, 0.6, 0.8]), 0.4)
gb.simulate(env, [gb.UCB1()], 10, runs=1)
"""


def test_a_real_terminal_is_told_once(tmp_path):
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, cache.VARIABLE: str(tmp_path)}
        for _ in range(2):
            subprocess.run(
                [sys.executable, "-c", SCRIPT], stderr=theirs, env=environment, check=True
            )
        os.write(theirs, b"end")
        said = b""
        while not said.endswith(b"end"):  # a terminal gives what it has, not all there will be
            said += os.read(ours, 1000)
        assert said == b"compiling 1 policy, once: UCB1\r\nend"
    finally:
        os.close(ours)
        os.close(theirs)
