"""The API reference: a page per room, made from the one list of public names."""

import ast
import inspect
from collections import defaultdict
from pathlib import Path

from sphinx.application import Sphinx

import globalbandits
from globalbandits._registry import Specification

STUB = Path(globalbandits.__file__).with_name("__init__.pyi")
TITLES = {  # in the order of the reference; other rooms come after these
    "model": "Models",
    "policies": "Policies and the learner",
    "evidence": "Evidence",
    "environments": "Environments",
    "simulation": "Simulation",
    "fitting": "From history to a model",
    "lab": "The league",
    "service": "The service",
    "testing": "Testing policies",
    "extend": "Writing extensions",
    "theory": "Theory",
    "statistics": "Statistics",
    "errors": "Errors",
}


def public_names() -> dict[str, list[str]]:
    """Names by the room they live in, in the order of the stub file."""
    rooms: dict[str, list[str]] = defaultdict(list)
    for line in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            for name in line.names:
                room = (line.module or name.name).split(".")[0]
                if not room.startswith("_"):
                    rooms[room].append(name.name)
    return dict(rooms)


def page(room: str, names: list[str]) -> str:
    """One page of the reference, as reStructuredText: the format docstrings are in."""
    title = TITLES.get(room, room.capitalize())
    parts = [title, "=" * len(title), "", "After ``import globalbandits as gb``.", ""]
    known = {name for others in public_names().values() for name in others}
    for name in names:
        thing = getattr(globalbandits, name)
        heading = f"gb.{name}"
        parts += [heading, "-" * len(heading), ""]
        if inspect.ismodule(thing):
            # What has a place of its own in the reference is not listed twice.
            others = ", ".join(sorted(set(vars(thing)) & known))
            parts += [f".. automodule:: {thing.__name__}", "   :imported-members:"]
            parts += [f"   :exclude-members: {others}", ""] if others else [""]
        else:
            inherited = has_unlisted_base(thing, known)
            parts += [f".. auto{kind(thing)}:: globalbandits.{name}"]
            parts += ["   :inherited-members: object", ""] if inherited else [""]
    return "\n".join(parts)


def has_unlisted_base(thing: object, known: set[str]) -> bool:
    """Whether methods of a class are defined in a base class without a place in the reference.

    Of policies, noises and other specifications the reference has the parameters only.
    """
    if not inspect.isclass(thing) or issubclass(thing, Specification | Exception):
        return False
    bases = [base for base in thing.__mro__ if base.__module__.startswith("globalbandits")]
    return any(base.__name__ not in known for base in bases)


def kind(thing: object) -> str:
    """What autodoc calls such a thing."""
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, Exception) else "class"
    return "function" if callable(thing) else "data"


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of rooms that are gone."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    rooms = public_names()
    order = [room for room in TITLES if room in rooms]
    order += [room for room in rooms if room not in TITLES]
    listed = "\n".join(f"   {room}" for room in order)
    pages = {room: page(room, rooms[room]) for room in order}
    pages["index"] = f"API reference\n=============\n\n.. toctree::\n\n{listed}\n"
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        target = folder / f"{name}.rst"
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
