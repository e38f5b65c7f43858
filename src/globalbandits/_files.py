"""Atomic replacement of files: readers see the old content or the new, never a part."""

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

# Where processes cannot be checked, a temporary file of this age counts as abandoned.
_ABANDONED_SECONDS = 86_400.0
_MAX_SUFFIX_CHARACTERS = 20
_NAME = re.compile(r"\.globalbandits-([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{16}(\..*)?")


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` when the block ends without an exception.

    Threads and processes may replace the same file at once: readers see one complete version, and
    the last writer wins. Missing folders are created. The target of a symbolic link is replaced.
    Permissions of an existing file are kept. If the block raises, ``path`` is unchanged. The
    temporary path has the suffix of ``path``, because some writers choose a format by it.

    Args:
        path: the file to write or replace.
        durable: whether to flush the new content to the disk, so that it survives a loss of power.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "note.txt")) as temporary:
    ...         _ = temporary.write_text("done")
    ...     Path(folder, "note.txt").read_text()
    'done'
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target.parent)
    temporary = _make_temporary(target, mode)
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        if durable:
            _flush(temporary)
        os.replace(temporary, target)
        if durable:
            _flush_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _mode_of(target: Path) -> int | None:
    """Return the permissions of an existing file, or None."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found.st_mode):  # a device or a pipe
        raise OSError(errno.EINVAL, "Not a regular file", str(target))
    return stat.S_IMODE(found.st_mode) & 0o777


def _make_temporary(target: Path, mode: int | None) -> Path:
    """Create an empty temporary file in the target's folder, no more accessible than the target."""
    suffix = target.suffix if len(target.suffix) <= _MAX_SUFFIX_CHARACTERS else ""
    name = f".globalbandits-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}{suffix}"
    temporary = target.with_name(name)
    # Readable by its owner even if the target is not, so that the block can write to it.
    created = 0o666 if mode is None else mode | 0o600
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, created))
    return temporary


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes of this machine that have ended."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            parts = _NAME.fullmatch(entry.name)
            if parts and parts[1] == _machine() and _is_abandoned(entry, int(parts[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _is_abandoned(entry: os.DirEntry[str], pid: int) -> bool:
    if os.name == "nt":  # os.kill with signal 0 would end the process on Windows
        return time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # a process of another user, or an impossible number
        return False
    return False


@cache
def _machine() -> str:
    """Return an identifier of this machine; others may write to the same folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Flush the folder, which holds the new name, where the system allows it."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
