"""A learner, its evidence and its explanation, where Python runs in a browser."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extras.blocked import ROOT, blocked_environment

SHOP = ROOT / "docs" / "_static" / "browser" / "shop.py"
PYODIDE = ROOT / "build" / "pyodide" / "node_modules" / "pyodide"  # `make pyodide` puts it there
NO_NUMPY = 3  # exit code of browser.mjs
# What Python lacks in Pyodide: these modules, threads and processes.
LIKE_A_BROWSER = """
BLOCKED += ["_multiprocessing", "_posixsubprocess", "fcntl", "resource", "sqlite3", "ssl"]

import _thread


def start(*arguments, **keywords):
    raise RuntimeError("can't start new thread")


_thread.start_new_thread = _thread.start_joinable_thread = start
"""


def test_the_shop_needs_neither_threads_nor_compiled_code(tmp_path):
    """And its output is the same as with all packages, to the last digit."""
    run = [sys.executable, SHOP]
    usual = subprocess.run(run, capture_output=True, text=True, check=True)
    done = subprocess.run(
        run,
        env=blocked_environment(tmp_path, "core", LIKE_A_BROWSER),
        capture_output=True,
        text=True,
    )
    assert done.stdout == usual.stdout, done.stderr
    assert done.stdout.startswith("price 6.0, theta about 0.2")
    assert "1 of 7 arms can be best: 6.0" in done.stdout


def test_threads_and_processes_are_really_missing(tmp_path):
    code = (
        "import threading\n"
        "try: threading.Thread(target=print).start()\n"
        "except RuntimeError as error: print(error)\n"
        "try: import sqlite3\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=blocked_environment(tmp_path, "core", LIKE_A_BROWSER),
        capture_output=True,
        text=True,
    )
    assert done.stdout == "can't start new thread\nNo module named 'sqlite3'\n", done.stderr


@pytest.fixture(scope="module")
def in_pyodide(tmp_path_factory):
    """The finished process of the shop in Pyodide."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    if not PYODIDE.is_dir():
        pytest.skip("Pyodide is not installed: make pyodide")
    folder = tmp_path_factory.mktemp("runtime")
    ext = ROOT / "docs" / "_ext"
    subprocess.run([sys.executable, ext / "browser.py", PYODIDE, folder], check=True)
    for wheel in PYODIDE.parent.parent.glob("numpy-*.whl"):
        shutil.copy(wheel, folder)
    return subprocess.run(
        [node, ext / "browser.mjs", folder, SHOP], capture_output=True, text=True, timeout=300
    )


def test_pyodide_imports_the_package(in_pyodide):
    from globalbandits import __version__

    assert in_pyodide.returncode in (0, NO_NUMPY), in_pyodide.stderr
    assert in_pyodide.stdout.splitlines()[0] == __version__


def test_a_shop_runs_in_pyodide(in_pyodide):
    if in_pyodide.returncode == NO_NUMPY:
        pytest.skip("NumPy for Pyodide is not in the npm package, and cannot be downloaded here")
    assert in_pyodide.returncode == 0, in_pyodide.stderr
    usual = subprocess.run([sys.executable, SHOP], capture_output=True, text=True, check=True)
    # Other mathematical functions may differ in the last bit, which the shown digits do not have.
    assert in_pyodide.stdout.splitlines()[1:] == usual.stdout.splitlines()


def test_the_page_shows_the_program():
    page = (ROOT / "docs" / "howto" / "browser.md").read_text("utf-8")
    assert SHOP.read_text("utf-8").partition("\n\n")[2].strip() in page


def test_the_runtime_is_the_one_that_the_page_loads():
    live = Path(SHOP).with_name("live.mjs").read_text("utf-8")
    assert "runtime/pyodide.mjs" in live
    assert "runtime/core.zip" in live
