"""Files of compiled code: one for each function, with each combination of argument types.

A file's name is a hash of everything that went into the code, so a file is never out of date:
after an edit the name is another one. The least recently used files are removed.

A file holds code that will run. It is read only if folder and file belong to the user of this
process and no other user may write to them. Any other problem with folder or file, such as a
full disk, is no error: the code is compiled again.
"""

import contextlib
import hashlib
import os
import stat
import sys
import warnings
from pathlib import Path

from globalbandits._files import replacing

VARIABLE = "GLOBALBANDITS_CACHE_DIR"
MAX_FILES = 500
_SUFFIX = ".nbc"
_SOURCE_DIGITS = 32
_DIGEST_BYTES = 32  # SHA-256 at the start of a file
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_WARNED: set[Path] = set()  # folders that a warning has named


def cache_directory() -> Path | None:
    """The folder of compiled code: GLOBALBANDITS_CACHE_DIR, or the system's folder for caches.

    Empty and relative paths are ignored. None if no folder is left.
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
    """The path in an environment variable, if it is absolute."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None


def _at_home(*parts: str) -> Path | None:
    if os.environ.get("HOME") == "":  # it would count as the root folder
        return None
    try:
        home = Path.home()
    except (RuntimeError, OSError, KeyError):  # the user has no home
        return None
    return home.joinpath(*parts) if home.is_absolute() else None


def file_name(source: str, key: str) -> str:
    """The name of the file for a key; it starts with the fingerprint of the Python code."""
    return f"{source[:_SOURCE_DIGITS]}-{hashlib.sha256(key.encode()).hexdigest()}{_SUFFIX}"


def has_source(source: str) -> bool:
    """Whether a function of this Python code has been compiled, for any types and processor."""
    try:
        folder = usable_folder()
        return folder is not None and any(folder.glob(f"{source[:_SOURCE_DIGITS]}-*{_SUFFIX}"))
    except OSError:
        return False


def read(name: str) -> bytes | None:
    """The content of a file; None where there is none that can be trusted and is whole."""
    try:
        folder = usable_folder()
        content = None if folder is None else _read_own(folder / name)
    except OSError:
        return None
    if content is None:
        return None
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return body if hashlib.sha256(body).digest() == digest else None


def write(name: str, body: bytes) -> bool:
    """Write a file that only the user of this process may write to; whether this succeeded."""
    try:
        folder = usable_folder()
        if folder is None:
            return False
        path = folder / name
        if path.is_symlink() or (path.exists() and not _is_own(path.stat())):
            path.unlink()  # otherwise its permissions would stay
        with replacing(path, durable=False) as temporary:
            temporary.chmod(0o600)  # whatever the umask is
            temporary.write_bytes(hashlib.sha256(body).digest() + body)
        _remove_oldest(folder)
    except OSError:
        return False
    return True


def usable_folder() -> Path | None:
    """The folder of compiled code, made if it is missing; None where other users may write."""
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
    if folder not in _WARNED:
        _WARNED.add(folder)
        warnings.warn(
            f"compiled code is not kept: {folder} belongs to another user, or others may write "
            f"to it; make it yours alone, or set {VARIABLE}",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


def _is_own(found: os.stat_result) -> bool:
    """Whether only the user of this process can have written there."""
    if not hasattr(os, "geteuid"):  # Windows closes a user's folders to others
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS


def _read_own(path: Path) -> bytes | None:
    """The content of a file; None for links, and for a file that others may have written."""
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY"))
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or not _is_own(found):
            return None
        content = file.read()
    with contextlib.suppress(OSError):
        os.utime(path)  # the most recently used
    return content


def _remove_oldest(folder: Path) -> None:
    ages = []
    for path in folder.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # another process may have removed it
            ages.append((path.stat().st_mtime, path))
    for _, path in sorted(ages)[:-MAX_FILES]:
        path.unlink(missing_ok=True)
