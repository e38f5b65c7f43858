"""The code in README and docs runs as written, and prints the shown output."""

import contextlib
import io
import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
# Pages that `make docs` makes of notebooks are tested as notebooks.
WRITTEN = [path for path in (ROOT / "docs").rglob("*.md") if "notebook-" not in path.name]
DOCUMENTS = [ROOT / "README.md", *sorted(WRITTEN)]
IMAGES = ROOT / "docs" / "images"
NUMBER = re.compile(r"-?\d+\.\d+")
# Matplotlib derives these names from all bits of the coordinates, which differ between processors.
DERIVED_NAME = re.compile(r"\b[mp][0-9a-f]{10}\b")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


def blocks(path):
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def lines(text):
    """Without the spaces at the ends of lines, which editors and tables add and drop."""
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run_and_print_what_follows_them(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever an example writes does not land in the project
    namespace = {"__name__": "__example__"}
    for code, expected in blocks(path):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, path.name, "exec"), namespace)
        if expected:
            assert lines(printed.getvalue()) == lines(expected)
    shown = {target for target in LINK.findall(path.read_text("utf-8")) if ".svg" in target}
    for target in shown:
        kept = (path.parent / target).resolve()
        assert kept.parent == IMAGES
        assert pictured(tmp_path / kept.name) == pictured(kept), f"make pictures: {kept.name}"


def pictured(path):
    """What an SVG shows: all of it where the same Matplotlib drew it, else nothing but its size."""
    text = path.read_text(encoding="utf-8")
    if f"Matplotlib v{matplotlib.__version__}," in text:
        text = DERIVED_NAME.sub("name", text)
        return NUMBER.sub(lambda number: f"{float(number[0]):.1f}", text).splitlines()
    return re.search(r'<svg[^>]*viewBox="([^"]*)"', text)[1]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path):
    missing = [
        target
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("path", sorted(WRITTEN), ids=lambda path: path.name)
def test_pages_for_users_fit_two_screens(path):
    if path.parent.name != "measured" and path.name != "architecture.md":
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 130, (
            "answer first; move details and measurements to pages of their own"
        )


def test_the_readme_starts_with_a_short_example():
    code, output = blocks(ROOT / "README.md")[0]
    assert len([line for line in code.splitlines() if line]) <= 12
    assert "level=(" in code, "a shop does not know how many of its visitors buy"
    assert output


def test_the_architecture_names_every_module_and_no_other():
    section = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = section.partition("## Inside the rooms")[2].partition("\n## ")[0]
    _, *parts = re.split(r"\*\*`(\w+)`\*\*", section)
    packages = (ROOT / "src" / "globalbandits").glob("*/__init__.py")
    assert set(parts[::2]) == {path.parent.name for path in packages}
    for room, text in zip(parts[::2], parts[1::2], strict=True):
        names = set(re.findall(r"`([a-z][a-z0-9_]*/?)(?:\.py)?`", text))
        folder = ROOT / "src" / "globalbandits" / room
        files = [path for path in folder.rglob("*.py") if path.name != "__init__.py"]
        folders = {path.name for path in folder.rglob("*") if path.is_dir()}
        assert names <= {path.stem for path in files} | {f"{name}/" for name in folders}, room
        # The files of a sub-room are all named, or only the sub-room is.
        listed = {path.parent for path in files if path.stem in names} | {folder}
        unnamed = [
            path.name
            for path in files
            if path.stem not in names
            and (path.parent in listed or f"{path.parent.name}/" not in names)
        ]
        assert unnamed == [], room
