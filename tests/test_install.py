"""``.ci/install``: uv with pip's settings, and pip where uv fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[1] / ".ci" / "install"
SETTINGS = """:env:.find-links='/wheels'
global.index-url='https://index.example/simple'
global.extra-index-url='\\\\nhttps://one.example\\\\nhttps://two.example'
install.index-url='https://nearer.example/simple'"""
PYTHON = f"""#!/usr/bin/env bash
echo "python $*" >>"$CALLS"
if test "$3" = config; then echo "{SETTINGS}"; fi
"""
UV = """#!/usr/bin/env bash
echo uv $* $UV_DEFAULT_INDEX $UV_INDEX $UV_FIND_LINKS $UV_INDEX_STRATEGY >>"$CALLS"
exit "$UV_EXIT"
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script")


def install(tmp_path, uv_exit, arguments=("--group", "dev"), **variables):
    for name, text in {"python": PYTHON, "uv": UV}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    environment = {
        **kept,
        **variables,
        "CALLS": str(tmp_path / "calls"),
        "UV_EXIT": str(uv_exit),
        "PATH": f"{tmp_path}:/usr/bin:/bin",
    }
    done = subprocess.run(
        [INSTALL, tmp_path / "python", *arguments], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return (tmp_path / "calls").read_text().splitlines()


def test_uv_gets_the_registries_of_pip(tmp_path):
    assert install(tmp_path, 0)[1:] == [
        f"uv pip install --quiet --python {tmp_path}/python --group dev "
        "https://nearer.example/simple https://one.example https://two.example "
        "/wheels unsafe-best-match"
    ]


def test_settings_of_uv_are_kept(tmp_path):
    (*_, call) = install(tmp_path, 0, UV_DEFAULT_INDEX="https://mine.example")
    assert "https://mine.example" in call
    assert "nearer" not in call


def test_pip_installs_quietly_where_uv_fails(tmp_path):
    assert install(tmp_path, 1)[2:] == [
        "python -m pip install --quiet --upgrade pip>=25.1",
        "python -m pip install --quiet --group dev",
    ]
