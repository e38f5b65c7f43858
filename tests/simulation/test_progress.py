"""A first compilation is announced, on a terminal and where it takes long."""

import io
import os
import pty
import subprocess
import sys
import time

import pytest

from globalbandits.compiling import cache
from globalbandits.simulation import progress
from globalbandits.simulation.progress import compiling


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "shown", "seconds", "words"),
    [
        (Terminal(), False, 0.3, "compiling 3 policies (once)\n"),
        (Terminal(), False, 0.0, ""),
        (io.StringIO(), False, 0.3, ""),
        (io.StringIO(), True, 0.3, "compiling 3 policies (once)\n"),
    ],
    ids=["terminal", "quick", "file", "asked for"],
)
def test_who_is_told(monkeypatch, stream, shown, seconds, words):
    monkeypatch.setattr(progress, "_UNNOTICED", 0.1)
    monkeypatch.setattr(sys, "stderr", stream)
    with compiling(3, shown):
        time.sleep(seconds)
    assert stream.getvalue() == words


def test_no_stream_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with compiling(3, True):
        pass


SCRIPT = """
import globalbandits as gb
from globalbandits.simulation import progress
progress._UNNOTICED = 0.05
env = gb.Environment(gb.demand.linear([0.4, 0.6, 0.8]), 0.4)
gb.simulate(env, [gb.UCB1()], 10, runs=1)
"""


def test_a_real_terminal(tmp_path):
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, cache.VARIABLE: str(tmp_path)}
        subprocess.run([sys.executable, "-c", SCRIPT], stderr=theirs, env=environment, check=True)
        assert os.read(ours, 1000) == b"compiling 1 policy (once)\r\n"
    finally:
        os.close(ours)
        os.close(theirs)
