"""Files that are either the old ones or the new ones, never half of one."""

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

_ABANDONED = 86_400.0  # seconds: age of a temporary where nobody can be asked for its process
_LONGEST_SUFFIX = 20
_NAME = re.compile(r"\.globalbandits-([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{16}(\..*)?")


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Give a path to write to, which takes the place of ``path`` when the block ends well.

    Any number of threads and processes may do so at once: a reader sees one of the versions,
    whole, and the last one to end stays. Missing folders are made. A symbolic link is followed:
    what it points at is replaced. Permissions of an existing file are kept. If the block raises,
    ``path`` is as it was. The path given ends as ``path`` does, so that what chooses a format by
    the ending still does.

    Args:
        path: the file to write or replace.
        durable: whether the new content is on the disk when the block ends, so that a loss of
            power cannot tear it.

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
    """Permissions of an existing file; None if there is none."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found.st_mode):  # a device or a pipe: nothing to be replaced by a file
        raise OSError(errno.EINVAL, "Not a regular file", str(target))
    return stat.S_IMODE(found.st_mode) & 0o777


def _make_temporary(target: Path, mode: int | None) -> Path:
    """An empty file that only this call knows, beside the target, no more open than it."""
    suffix = target.suffix if len(target.suffix) <= _LONGEST_SUFFIX else ""
    name = f".globalbandits-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}{suffix}"
    temporary = target.with_name(name)
    # Readable by its owner even if the target is not, so that the block can write to it.
    created = 0o666 if mode is None else mode | 0o600
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, created))
    return temporary


def remove_abandoned(folder: Path) -> None:
    """Remove temporaries of processes of this machine that are no more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            parts = _NAME.fullmatch(entry.name)
            if parts and parts[1] == _machine() and _is_abandoned(entry, int(parts[2])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _is_abandoned(entry: os.DirEntry[str], pid: int) -> bool:
    if os.name == "nt":  # signal 0 is no mere question there
        return time.time() - entry.stat().st_mtime > _ABANDONED
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's process, or no number of one
        return False
    return False


@cache
def _machine() -> str:
    """What tells this machine from others that may write to the same folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _flush(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Put the new name on the disk too, where folders can be asked to."""
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
