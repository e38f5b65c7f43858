"""`Folder`: the files of a sweep. They are an index of its tasks and one file per finished task."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from globalbandits._files import replacing
from globalbandits._validation import show
from globalbandits._version import __version__
from globalbandits.errors import ResultError, ScenarioError
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.sweeps.plan import Plan

FORMAT = "globalbandits sweep 1"
_KEYS = frozenset({"format", "version", "spec", "axes", "tasks"})
_INDEX_NAME, _TASKS_NAME, _LOCK_NAME = "sweep.json", "tasks", ".lock"


class Folder:
    """The files of a sweep. A process that dies leaves no partial file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def task(self, name: str) -> Path:
        """The path of the result of a task."""
        return self.path / _TASKS_NAME / f"{name}.nc"

    def has(self, name: str) -> bool:
        """Whether the result of a task exists."""
        return self.task(name).is_file()

    def load(self, name: str) -> SimulationResult:
        """Read the result of a task; raise `ResultError` if it is damaged."""
        return SimulationResult.load(self.task(name))

    def save(self, name: str, result: SimulationResult) -> None:
        """Write the result of a task."""
        result.save(self.task(name))

    def index(self) -> dict[str, Any]:
        """The spec, the axes and the names of the tasks."""
        path = self.path / _INDEX_NAME
        try:
            content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise ResultError(
                f"{self.path} must be the folder of a sweep, has no {_INDEX_NAME}"
            ) from None
        except (OSError, ValueError) as error:
            raise ResultError(f"{path} must be readable JSON: {error}") from None
        whole = isinstance(content, dict) and content.keys() >= _KEYS
        if not whole or content["format"] != FORMAT:
            raise ResultError(f"{path} must be of the format {FORMAT!r}, got {show(content)}")
        return content

    def start(self, plan: Plan, *, force: bool) -> None:
        """Write the index; raise if the folder holds another sweep.

        With ``force`` it removes the results of another sweep that are not in this plan.
        """
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": __version__,
            "spec": plan.spec,
            "axes": [{"name": a.name, "key": a.key, "values": a.labels} for a in plan.axes],
            "tasks": [task.name for task in plan.tasks],
        }
        if (self.path / _INDEX_NAME).exists():
            old = self.index()
            same = all(old[key] == content[key] for key in ("axes", "tasks"))
            if not same and not force:
                raise ScenarioError(
                    f"{self.path} holds results of another spec: {difference(old, content)}; "
                    "choose another folder, or --force to keep only what is the same"
                )
            if not same:
                self._remove_all_but(set(content["tasks"]))
        elif self.path.is_dir() and any(entry.name != _LOCK_NAME for entry in self.path.iterdir()):
            raise ScenarioError(f"{self.path} must be empty, or the folder of a sweep")
        with replacing(self.path / _INDEX_NAME) as temporary:
            text = json.dumps(content, indent=1, ensure_ascii=False)
            temporary.write_text(f"{text}\n", encoding="utf-8")

    def _remove_all_but(self, names: set[str]) -> None:
        for path in (self.path / _TASKS_NAME).glob("*.nc"):
            if path.stem not in names:
                path.unlink()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other processes. The lock ends when this process ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / _LOCK_NAME
        with open(path, "w") as file:
            # The previous holder may have removed the file between opening and locking. The lock
            # on a removed file is void.
            if not _try_lock(file) or not _is_same_file(path, file):
                raise ScenarioError(f"{self.path} is in use: another process works on this sweep")
            try:
                yield
            finally:
                with suppress(OSError):
                    path.unlink()

    def is_running(self) -> bool:
        """Whether a process holds the lock."""
        path = self.path / _LOCK_NAME
        if not path.exists():
            return False
        with suppress(OSError), open(path, "r+") as file:
            return not _try_lock(file)
        return False


def _is_same_file(path: Path, file: Any) -> bool:
    """Whether the path still names this open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False


def _try_lock(file: Any) -> bool:
    """Lock the file and return True; return False if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows has no fcntl; folders are not locked there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The first difference between two sweeps, for an error message."""
    found = _first_difference("", old["spec"], new["spec"])
    if found is None and old["version"] != new["version"]:
        return f"it was made with version {old['version']}, this is {new['version']}"
    return found or "the code of a policy, a model or a part has changed"


def _first_difference(path: str, old: Any, new: Any) -> str | None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            here = f"{path}.{key}" if path else key
            if key in ("title", "text") and not path:
                continue
            if key not in new:
                return f"{here} is gone"
            if key not in old:
                return f"{here} is new"
            found = _first_difference(here, old[key], new[key])
            if found:
                return found
        return None
    return None if old == new else f"{path} was {show(old)}, is {show(new)}"
