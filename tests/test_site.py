"""The documentation site builds without a warning, is complete, and fetches nothing."""

import ast
import contextlib
import hashlib
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//[^"'> ]+"""
    r"""|<link[^>]+rel=["']?(?:stylesheet|pre)[^>]+href=["']?(?:https?:)?//[^"'> ]+"""
    r"""|@import[^;]+|url\(["']?(?:https?:)?//[^)]+""",
    re.IGNORECASE,
)

KEPT = ROOT / "build" / "tested-site"


def content():
    """A hash of everything that the site is made of."""
    digest = hashlib.sha256(" ".join(map(version, ("sphinx", "furo", "myst-parser"))).encode())
    files = [path for room in ("docs", "src", "examples") for path in (ROOT / room).rglob("*")]
    for file in sorted(filter(Path.is_file, [*files, ROOT / "CHANGELOG.md"])):
        # The reference and the pages of notebooks are written while the site is built.
        if not {"__pycache__", "reference"} & {*file.parts} and "notebook-" not in file.name:
            digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built almost as `make docs` builds it: a warning is an error.

    It is kept, and built again if something that it is made of has changed.
    """
    built_from = KEPT / "built-from"
    if built_from.exists() and built_from.read_text() == content():
        return KEPT / "html"
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    # A list of methods beside every page takes a third of the time and no warning comes from it.
    command += ["-D", "toc_object_entries=0"]
    done = subprocess.run(
        [*command, "-d", str(folder / "trees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    with contextlib.suppress(OSError):  # another worker keeps it at the same time
        shutil.rmtree(KEPT, ignore_errors=True)
        shutil.copytree(folder / "html", KEPT / "html")
        built_from.write_text(content())  # last: an interrupt keeps no part of a site
    return folder / "html"


def test_every_public_name_is_in_the_reference(site):
    stub = ast.parse((ROOT / "src/globalbandits/__init__.pyi").read_text("utf-8"))
    names = {
        name.name
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
        if not name.name.startswith("_")
    }
    assert len(names) > 100
    written = "".join(page.read_text("utf-8") for page in (site / "reference").glob("*.html"))
    headings = set(re.findall(r"<h2>gb\.(\w+)<", written))
    assert headings == names
    # Methods of base classes that have no place of their own.
    for method in ("RewardModel.worth_of", "VectorModel.save", "Client.decide", "Interval.explain"):
        assert f'id="globalbandits.{method}"' in written


def test_nothing_is_fetched_when_a_page_is_read(site):
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 30
    found = {page.name: FETCHED.findall(page.read_text("utf-8")) for page in pages}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js">',
        '<link rel="stylesheet" href="//fonts.example/f.css">',
        "body { background: url(https://example/x.png) }",
    ],
)
def test_what_is_fetched_would_be_found(text):
    assert FETCHED.search(text)


def test_every_page_of_the_documents_is_in_the_site(site):
    for source in (ROOT / "docs").rglob("*.md"):
        page = (site / source.relative_to(ROOT / "docs")).with_suffix(".html")
        assert page.exists(), source


def test_the_summary_for_language_models_links_to_pages_of_the_site(site):
    text = (site / "llms.txt").read_text("utf-8")
    assert text.startswith("# globalbandits\n\n> ")
    links = re.findall(r"\]\((.*?)\)", text)
    assert len(links) > 15
    assert [link for link in links if not (site / link).is_file()] == []


def test_the_page_in_a_browser_has_its_program_and_its_picture(site):
    page = (site / "howto" / "browser.html").read_text("utf-8")
    assert 'src="../_static/browser/live.mjs"' in page
    assert "browser.svg" in page
    for name in ("live.mjs", "program.mjs", "shop.py"):
        assert (site / "_static" / "browser" / name).is_file()
