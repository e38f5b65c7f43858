"""The file of an SQLite store before SQLite opens it: whose it is, if it is whole, the lock."""

import os
from pathlib import Path
from typing import BinaryIO

from globalbandits.errors import StoreError

APPLICATION = 0x676C6F62  # "glob" in ASCII; SQLite keeps it in the file's header
_MAGIC = b"SQLite format 3\x00"
_HEADER = 100


def check_file(path: Path) -> bool:
    """Whether there is a store already; a file that is something else is refused, and not touched.

    Raises:
        StoreError: if the file is no store of ours, or a part of it is missing.
    """
    if path.is_dir():
        raise StoreError(f"store must be a file, got the folder {path}")
    if not path.exists() or path.stat().st_size == 0:
        return False
    with open(path, "rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise StoreError(f"store must be an SQLite file of globalbandits, got {path}: not SQLite")
    if int.from_bytes(header[68:72], "big") != APPLICATION:
        raise StoreError(
            f"store must be an SQLite file of globalbandits, got {path}: of another program"
        )
    page = int.from_bytes(header[16:18], "big")
    expected = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    wal = path.with_name(f"{path.name}-wal")
    settled = not wal.exists() or wal.stat().st_size == 0  # else pages may still be in there
    if settled and path.stat().st_size < expected:
        raise StoreError(
            f"{path} must have {expected} bytes, got {path.stat().st_size}: its end is missing; "
            "restore a backup"
        )
    return True


class FileLock:
    """A lock that one process holds, until it ends in whatever way.

    Args:
        path: the lock's own file. It stays; only the lock on it counts.
    """

    def __init__(self, path: Path) -> None:
        file = open(path, "ab+")  # noqa: SIM115 (open as long as the lock is held)
        try:
            _take(file)
        except OSError:
            file.seek(0)
            holder = file.read(20).decode("ascii", "replace").strip()
            file.close()
            raise StoreError(
                f"{path.with_suffix('')} is in use by process {holder or 'unknown'}: one process "
                "writes to a store at a time"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode("ascii"))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let others have it."""
        self._file.close()


def _take(file: BinaryIO) -> None:
    """Lock a file, or raise OSError at once."""
    if os.name == "nt":
        import msvcrt

        file.seek(1024)  # beyond the holder's number, which others may read
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
