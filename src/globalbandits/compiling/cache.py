"""Compiled code on disk: one file for each content of a function and types of its arguments.

The file's name is the hash of all that went into the code, so a file is never out of date:
after an edit another name is asked for. Files that are not used for a long time are removed.

A file is code that will run, so it is read only if nobody else can have written it: folder and
file belong to the user of this process and nobody else may write to them.
"""

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import warnings
from pathlib import Path
from typing import Any

from globalbandits._files import replacing

VARIABLE = "GLOBALBANDITS_CACHE_DIR"
_KEEP = 500  # files; the least recently used ones beyond are removed
_OPEN_TO_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_SAID: set[Path] = set()  # folders that have been said to be open to others


def cache_directory() -> Path | None:
    """Where compiled code is kept: GLOBALBANDITS_CACHE_DIR, or the system's place for caches.

    Places that are empty or relative are passed over; None if no place is left.
    """
    if (chosen := _absolute(VARIABLE)) is not None:
        return chosen
    if sys.platform == "win32":
        base = _absolute("LOCALAPPDATA") or _at_home("AppData", "Local")
    elif sys.platform == "darwin":
        base = _at_home("Library", "Caches")
    else:
        base = _absolute("XDG_CACHE_HOME") or _at_home(".cache")
    return None if base is None else base / "globalbandits"


def _absolute(variable: str) -> Path | None:
    """The place a variable names, if it is one wherever the process works."""
    place = Path(os.environ.get(variable, ""))
    return place if place.is_absolute() else None


def _at_home(*parts: str) -> Path | None:
    if os.environ.get("HOME") == "":  # which would count as the root folder
        return None
    try:
        home = Path.home()
    except (RuntimeError, OSError, KeyError):  # nobody knows where
        return None
    return home.joinpath(*parts) if home.is_absolute() else None


class DiskCache:
    """What a Numba dispatcher asks for compiled code before it compiles, and tells it after.

    Whatever is wrong with folder or file, the cache is empty then; it is never an error.
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.hits = 0
        self.saved = 0

    def name(self, signature: Any) -> str:
        """The file of one signature."""
        content = f"{self.fingerprint} {signature}"
        return f"{hashlib.sha256(content.encode()).hexdigest()}.nbc"

    def has(self, signature: Any) -> bool:
        """Whether there is a file for these argument types; it may still be damaged."""
        try:
            folder = usable_folder()
            return folder is not None and (folder / self.name(signature)).is_file()
        except Exception:
            return False

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Compiled code for these argument types, or None."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            folder = usable_folder()
            content = None if folder is None else _read_own(folder / self.name(signature))
            if content is None or hashlib.sha256(content[32:]).digest() != content[:32]:
                return None
            loaded = CompileResult._rebuild(target_context, *pickle.loads(content[32:]))
        except Exception:  # compiling anew makes it right
            return None
        self.hits += 1
        return loaded

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code, unless it holds addresses of this process."""
        from numba.core.serialize import dumps

        from globalbandits.compiling.pipeline import has_rings

        if result.lifted or result.library.has_dynamic_globals or has_rings(result.library):
            return
        try:
            folder = usable_folder()
            if folder is None:
                return
            body = dumps(result._reduce())
            path = folder / self.name(signature)
            if path.is_symlink() or (path.exists() and not _is_own(path.stat())):
                path.unlink()  # or its permissions would be kept
            with replacing(path, durable=False) as temporary:
                temporary.chmod(0o600)  # whatever new files are like here
                temporary.write_bytes(hashlib.sha256(body).digest() + body)
            self.saved += 1
            _remove_oldest(folder)
        except Exception:  # it is compiled anew the next time
            return


def usable_folder() -> Path | None:
    """The cache's folder, made if it is missing; None where others could write to it."""
    folder = cache_directory()
    if folder is None:
        return None
    missing = [folder] if not folder.exists() else []
    while missing and not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
    if _is_own(folder.stat()):
        return folder
    if folder not in _SAID:
        _SAID.add(folder)
        warnings.warn(
            f"compiled code is not kept: {folder} belongs to another user, or others may write "
            f"to it; make it yours alone, or set {VARIABLE}",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def _is_own(found: os.stat_result) -> bool:
    """Whether nobody but the user of this process can have written there."""
    if not hasattr(os, "geteuid"):  # no such users; folders of others are closed by the system
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & _OPEN_TO_OTHERS


def _read_own(path: Path) -> bytes | None:
    """Content of a file of our own; None for links and for what others may have written."""
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY"))
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_own(found):
            return None
        content = file.read()
    with contextlib.suppress(OSError):
        os.utime(path)  # it is in use
    return content


def _remove_oldest(folder: Path) -> None:
    ages = []
    for path in folder.glob("*.nbc"):
        with contextlib.suppress(OSError):  # another process may have removed it
            ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages)[:-_KEEP]:
        path.unlink(missing_ok=True)
