"""Install each extra alone into a new environment, use it there, and print its size.

python tests/extras/environments.py [EXTRA ...]

The environments get the wheel, not this checkout. Sizes are of the files that were installed, with
the byte code of all packages.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.extras.uses import USES  # noqa: E402

IMPORTS = """
import time
import numpy
start = time.process_time()
import globalbandits
print(time.process_time() - start)
"""
IMPORT_REPEATS = 15
# What an environment has to install with.
TOOLS = ("pip", "setuptools", "uv", "pkg_resources", "_distutils_hack", "distutils")


def build_wheel(folder):
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT],
        check=True,
    )
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


def make_environment(folder, wheel, extra):
    """Return the interpreter of a new environment that has the package with an extra."""
    venv.create(folder, with_pip=True, clear=True)
    python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = f"globalbandits[{extra}] @ {wheel.as_uri()}"
    # make sets a folder of its own for byte code.
    env = {key: text for key, text in os.environ.items() if key != "PYTHONPYCACHEPREFIX"}
    subprocess.run([ROOT / ".ci" / "install", python, "--compile", wanted], check=True, env=env)
    return python


def installed(python):
    """Number of packages besides this one, and megabytes of all with their byte code."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    out = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    entries = [path for path in Path(out.strip()).iterdir() if path.name.split("-")[0] not in TOOLS]
    packages = sum(path.suffix == ".dist-info" for path in entries) - 1
    inside = [file for path in entries for file in (path, *path.rglob("*")) if file.is_file()]
    return packages, sum(file.stat().st_size for file in inside) / 1e6


def import_seconds(python):
    """Median processor time of ``import globalbandits`` after NumPy's import."""
    runs = [
        subprocess.run([python, "-c", IMPORTS], capture_output=True, text=True, check=True).stdout
        for _ in range(IMPORT_REPEATS)
    ]
    return statistics.median(map(float, runs))


def main(extras):
    print("| extra | packages | MB |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(folder)
        for extra in extras:
            python = make_environment(Path(folder) / "environment", wheel, extra)
            script = ROOT / "tests" / "extras" / "uses.py"
            for use in USES if extra == "all" else [extra]:
                if use in ("core", "lab", "serve") and extra == "all":
                    continue  # they assert that other extras are missing
                # In another folder, so that the checkout cannot be imported.
                subprocess.run(
                    [python, script, use], cwd=folder, check=True, stdout=subprocess.DEVNULL
                )
            packages, megabytes = installed(python)
            print(f"| {extra} | {packages} | {megabytes:.0f} |", flush=True)
            if extra == "core":
                print(f"import globalbandits: {import_seconds(python) * 1e3:.1f} ms after NumPy")


if __name__ == "__main__":
    main(sys.argv[1:] or [*USES, "all"])
