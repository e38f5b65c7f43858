"""Processes that see only the packages that an extra of ours installs."""

import os
import re
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

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


def blocked_environment(folder, extra, more=""):
    """Variables of a process that cannot import what an extra does not install.

    Args:
        folder: an empty folder for the module that Python loads at start.
        extra: the extra, or "core".
        more: further code of that module.
    """
    text = BLOCKER.format(blocked=blocked_modules(extra)) + more
    (folder / "sitecustomize.py").write_text(text, "utf-8")
    path = os.pathsep.join([str(folder), str(ROOT / "src")])
    return {**os.environ, "PYTHONPATH": path}
