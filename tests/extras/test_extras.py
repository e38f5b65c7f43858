"""Each extra works alone: all packages that it does not require are blocked in a new process."""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

from globalbandits import MissingExtraError
from globalbandits._extras import needs_extra
from tests.extras.uses import USES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Python loads a module of this name from the path at start, so child processes are blocked too.
BLOCKER = """
import sys
from importlib.machinery import PathFinder

BLOCKED = {blocked!r}


class Blocker(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Blocker
"""


def requirements(extra):
    return PROJECT["dependencies"] + PROJECT["optional-dependencies"].get(extra, [])


def split(requirement):
    """The name of a requirement and its extras."""
    name, extras = re.match(r"([\w.-]+)(?:\[(.*?)\])?", requirement).groups()
    return re.sub(r"[-_.]+", "-", name).lower(), set(re.findall(r"[\w-]+", extras or ""))


def closure(extra):
    """The names of the distributions that an extra of this package installs."""
    found, queue = set(), [split(one) for one in requirements(extra)]
    while queue:
        name, extras = queue.pop()
        if name == "globalbandits":
            queue += [split(one) for inner in extras for one in requirements(inner)]
            continue
        if (name, frozenset(extras)) in found or not is_installed(name):
            continue
        found.add((name, frozenset(extras)))
        for requirement in metadata.requires(name) or []:
            marker = requirement.partition(";")[2]
            wanted = re.findall(r"extra\s*==\s*['\"](.*?)['\"]", marker)
            if not wanted or extras & set(wanted):
                queue.append(split(requirement))
    return {name for name, _ in found}


def is_installed(name):
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@cache
def owners_of_modules():
    return metadata.packages_distributions()


def blocked_modules(extra):
    """The modules of installed packages that an extra does not install."""
    allowed = closure(extra)
    return sorted(
        module
        for module, owners in owners_of_modules().items()
        if not {split(owner)[0] for owner in owners} & (allowed | {"globalbandits"})
    )


def test_the_blocker_knows_what_an_extra_installs():
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
def test_an_extra_works_alone(extra, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        BLOCKER.format(blocked=blocked_modules(extra)), "utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "src")]))
    script = Path(__file__).with_name("uses.py")
    done = subprocess.run(
        [sys.executable, script, extra], capture_output=True, text=True, timeout=300
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
