"""The program where standard output is ASCII, closed, full or ends early: no traceback ever."""

import json
import os
import shlex
import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-c", "from globalbandits.cli import main; main()"]
HELP, ANALYZE = ["analyze", "--help"], ["analyze", "--model", "three-arms", "--theta", "0.5"]
SHOWN = {"help": HELP, "version": ["--version"], "analyze": ANALYZE}
WRONG = {"wrong option": ["analyze", "--modél", "x"], "wrong value": ["analyze", "--model", "é"]}
COMMANDS = {**SHOWN, **WRONG, "no arguments": []}


def shell(words, redirection, **environment):
    """Run the program in a shell; (exit code, standard output, standard error)."""
    command = f"{shlex.join([*PROGRAM, *words])} {redirection}"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, **environment}, capture_output=True
    )
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def assert_calm(err):
    assert "Traceback" not in err
    assert "Exception" not in err


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_ascii(words):
    code, out, err = shell(words, "", PYTHONIOENCODING="ascii")
    assert code == (0 if words in SHOWN.values() else 2)
    assert (out + err).isascii()
    assert bool(err) == (words in WRONG.values())
    assert_calm(err)


def test_json_is_json_in_ascii_too():
    out = shell([*ANALYZE, "--json"], "", PYTHONIOENCODING="ascii")[1]
    assert json.loads(out)["arms"][0]["arm"] == "1 - √θ"


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_standard_output_is_closed(words):
    code, out, err = shell(words, ">&-")
    assert out == ""
    assert code == (1 if words in SHOWN.values() else 2)  # nothing could be shown
    assert bool(err) == (words in WRONG.values())
    assert_calm(err)


@pytest.mark.parametrize("closed", [">&- 2>&-", "2>&-"])
@pytest.mark.parametrize("words", [HELP, *WRONG.values()], ids=["help", *WRONG])
def test_standard_error_is_closed(words, closed):
    code, out, _ = shell(words, closed)
    assert code == (2 if words != HELP else int(">&- " in closed))
    assert_calm(out)


@pytest.mark.parametrize("words", SHOWN.values(), ids=SHOWN)
def test_a_closed_pipe_prints_no_error(words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([*PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_output_may_be_cut_by_head():
    words = ["analyze", "--model", "linear-power", "--arms", "0.1:1:0.001", "--json"]
    code, out, err = shell(words, "| head -n 1")
    assert (code, out, err) == (0, "{\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", SHOWN.values(), ids=SHOWN)
def test_a_full_disk(words):
    code, _, err = shell(words, "> /dev/full")
    assert (code, err) == (2, "error: [Errno 28] No space left on device\n")
