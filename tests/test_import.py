"""What ``import globalbandits`` costs, seen in a fresh process."""

import subprocess
import sys

HEAVY = (
    "numba",
    "scipy",
    "matplotlib",
    "pandas",
    "xarray",
    "rich",
    "typer",
    "msgspec",
    "httpx",
)


def heavy_after(statements):
    code = f"{statements}; import sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_import_loads_nothing_heavy():
    assert heavy_after("import globalbandits") == "[]"


def test_the_probe_sees_what_is_loaded():
    assert heavy_after("import matplotlib") == "['matplotlib']"


def test_drawing_tools_load_matplotlib_only_to_draw():
    assert heavy_after("import globalbandits.plots") == "[]"
