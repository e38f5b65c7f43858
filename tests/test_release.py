"""Versions and files that a release names in several places agree."""

import re
import tomllib
from pathlib import Path

from globalbandits import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def lowest(requirement):
    """The name of a requirement and its lower bound."""
    name, _, bound = requirement.partition(";")[0].partition(">=")
    return re.sub(r"\[.*\]", "", name).strip(), bound.strip()


def test_the_citation_has_the_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == __version__


def test_the_changelog_has_a_place_for_what_is_new():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(.*?)\]", text, re.MULTILINE)[0] in ("Unreleased", __version__)


def test_classifiers_begin_where_the_package_does():
    wanted = PROJECT["project"]["requires-python"]
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert wanted == f">={found[0]}"
    minors = [int(version.partition(".")[2]) for version in found]
    assert minors == list(range(minors[0], minors[0] + len(minors)))


def test_the_oldest_versions_tested_are_the_lower_bounds():
    pinned = dict(
        line.split("==")
        for line in (ROOT / "tests" / "oldest.txt").read_text("utf-8").splitlines()
        if "==" in line
    )
    own = PROJECT["project"]
    for requirement in own["dependencies"] + own["optional-dependencies"]["lab"]:
        name, bound = lowest(requirement)
        assert (pinned[name] + ".").startswith(bound + "."), requirement


def test_every_dependency_is_explained():
    text = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    own = PROJECT["project"]
    lists = [*own["optional-dependencies"].values(), *PROJECT["dependency-groups"].values()]
    found = own["dependencies"] + [one for wanted in lists for one in wanted]
    wanted = [one for one in found if isinstance(one, str)]
    names = {lowest(requirement)[0] for requirement in wanted} - {"globalbandits"}
    words = set(re.findall(r"[\w-]+", text))  # "rich" is not explained by "enriched"
    assert sorted(names - words) == []


def test_files_of_the_source_package_exist():
    for path in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / path.lstrip("/")).exists(), path


def test_the_conda_recipe_requires_what_the_package_does():
    text = (ROOT / "deploy" / "conda" / "recipe.yaml").read_text("utf-8")
    assert re.search(r'version: "(.*)"', text)[1] == __version__
    found = set(re.findall(r"^        - ([\w-]+) >=([\d.]+)$", text, re.MULTILINE))
    own = PROJECT["project"]
    wanted = {lowest(one) for one in own["dependencies"] + own["optional-dependencies"]["lab"]}
    # conda's package "matplotlib" adds a desktop toolkit to this one.
    wanted = {(name.replace("matplotlib", "matplotlib-base"), bound) for name, bound in wanted}
    tools = {("python", "3.11"), ("hatchling", "1.24")}
    assert found == wanted | tools
