"""Each extra works alone: all packages that it does not require are blocked in a new process."""

import subprocess
import sys
from pathlib import Path

import pytest

from globalbandits import MissingExtraError
from globalbandits._extras import needs_extra
from tests.extras.blocked import PROJECT, blocked_environment, blocked_modules, closure, split
from tests.extras.uses import USES


def test_the_blocker_blocks_what_an_extra_does_not_install():
    assert closure("core") == {"lazy-loader", "numpy", "packaging"}
    assert {"scipy", "numba", "llvmlite", "pandas", "pytest"} <= set(blocked_modules("core"))
    assert {"pandas", "xarray", "matplotlib", "scipy"} <= set(blocked_modules("serve"))
    assert not {"numba", "llvmlite", "msgspec", "anyio"} & set(blocked_modules("serve"))
    assert "duckdb" in blocked_modules("lab")
    assert "pandas" not in blocked_modules("files")


def test_every_extra_has_a_use():
    assert {*USES, "all"} == {"core", *PROJECT["optional-dependencies"]}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert split(everything)[1] == USES.keys() - {"core"}


@pytest.mark.parametrize("extra", USES)
def test_an_extra_works_alone(extra, tmp_path):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("uses.py"), extra],
        env=blocked_environment(tmp_path, extra),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == f"{extra} works\n", done.stderr


def test_a_missing_package_is_named_with_its_command():
    with pytest.raises(MissingExtraError) as raised, needs_extra("lab"):
        import nowhere.inside  # noqa: F401
    assert str(raised.value) == 'nowhere must be installed: pip install "globalbandits[lab]"'
    assert raised.value.name == "nowhere"
    assert isinstance(raised.value, ModuleNotFoundError)
    with (
        pytest.raises(MissingExtraError, match="nowhere must be installed"),
        needs_extra("lab", "nowhere"),
    ):
        pass


def test_an_error_of_our_own_modules_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError) as raised, needs_extra("lab"):
        import globalbandits.nowhere  # noqa: F401
    assert not isinstance(raised.value, MissingExtraError)


def test_the_inner_of_two_extras_is_named():
    with (
        pytest.raises(MissingExtraError, match=r"globalbandits\[files\]"),
        needs_extra("lab"),
        needs_extra("files"),
    ):
        import nowhere  # noqa: F401
