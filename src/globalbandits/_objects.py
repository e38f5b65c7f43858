"""Objects that a text names: ``package.module:name`` or ``path/to/file.py:name``."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from globalbandits.errors import GlobalBanditsError

Error = type[GlobalBanditsError]

# Files that were loaded: when they were changed and how long they were, and their modules.
_FILES: dict[str, tuple[tuple[int, int], ModuleType]] = {}


def is_object_name(text: str) -> bool:
    """Whether a text names an object of a module or a file, not one by a name of ours.

    >>> is_object_name("my_package.policies:Careful"), is_object_name("WAGP")
    (True, False)
    """
    return ":" in text or text.endswith(".py")


def load_object(parameter: str, text: str, error: Error, default: str = "") -> Any:
    """The object a text names; code of the user's that fails, or exits, is an ``error``.

    Args:
        parameter: what messages call the text.
        text: ``module:name`` or ``file.py:name``.
        error: what to raise.
        default: the object's name where the text gives none.
    """
    place, _, name = (text, "", "") if text.endswith(".py") else text.rpartition(":")
    name = name or default
    rule = "be package.module:name or path/file.py:name"
    if not place or not name:
        raise error(f"{parameter} must {rule}, got {text!r}")
    try:
        module = _load_file(place) if place.endswith(".py") else _load_module(place)
    except (Exception, SystemExit) as failure:
        kind = type(failure).__name__
        what = f"{kind}: {failure}{line_in(place, failure)}"
        raise error(f"{parameter}: {place} cannot be loaded: {what}") from failure
    if module is None:
        raise error(f"{parameter} must name an existing Python file, got {text!r}")
    if not hasattr(module, name):
        raise error(f"{parameter}: {place} must define {name!r}")
    return getattr(module, name)


def line_in(path: str, failure: BaseException) -> str:
    """The line of a file in which a failure arose, as the end of a message; or nothing."""
    own = Path(path).resolve()
    frames = extract_tb(failure.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == own]
    return f" (line {lines[-1]})" if lines else ""


def _load_file(path: str) -> ModuleType | None:
    """The module of a file; the same one, with the same classes, until the file is changed."""
    if not Path(path).is_file():
        return None
    place = os.path.realpath(path)
    found = os.stat(place)
    state = found.st_mtime_ns, found.st_size
    known, module = _FILES.get(place, (None, None))
    if module is not None and known == state:
        return module
    name = f"_globalbandits_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    spec.loader.exec_module(module)
    _FILES[place] = state, module
    return module


def _load_module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: the user's own folder comes first
    return importlib.import_module(name)
