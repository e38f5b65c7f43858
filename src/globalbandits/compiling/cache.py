"""Compiled code on disk: one file for each content of a function and types of its arguments.

The file's name is the hash of all that went into the code, so a file is never out of date:
after an edit another name is asked for. Files that nobody asks for are removed in the end.
"""

import hashlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from globalbandits._files import replacing

VARIABLE = "GLOBALBANDITS_CACHE_DIR"
_KEEP = 500  # files; the least recently used ones beyond are removed


def cache_directory() -> Path:
    """Where compiled code is kept: GLOBALBANDITS_CACHE_DIR, or the system's place for caches."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", str(Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(base) / "globalbandits"


class DiskCache:
    """What a Numba dispatcher asks for compiled code before it compiles, and tells it after.

    A folder that cannot be read or written, and a damaged file, count as an empty cache.
    """

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.hits = 0
        self.saved = 0

    def path(self, signature: Any) -> Path:
        """The file of one signature."""
        content = f"{self.fingerprint} {signature}"
        return cache_directory() / f"{hashlib.sha256(content.encode()).hexdigest()}.nbc"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Compiled code for these argument types, or None."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            path = self.path(signature)
            content = path.read_bytes()
            digest, body = content[:32], content[32:]
            if hashlib.sha256(body).digest() != digest:
                return None
            loaded = CompileResult._rebuild(target_context, *pickle.loads(body))
            os.utime(path)
        except Exception:  # whatever is wrong with the file, compiling anew makes it right
            return None
        self.hits += 1
        return loaded

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code, unless it holds addresses of this process."""
        from numba.core.serialize import dumps

        if result.lifted or result.library.has_dynamic_globals:
            return
        try:
            body = dumps(result._reduce())
            with replacing(self.path(signature)) as temporary:
                temporary.write_bytes(hashlib.sha256(body).digest() + body)
            self.saved += 1
            _remove_oldest()
        except OSError:
            return


def _remove_oldest() -> None:
    files = sorted(cache_directory().glob("*.nbc"), key=lambda path: path.stat().st_mtime)
    for path in files[:-_KEEP]:
        path.unlink(missing_ok=True)
