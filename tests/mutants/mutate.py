"""Mutation testing: small errors put into the source, and the share that the tests find.

    python -m tests.mutants.mutate --mutants 200 --seed 1

A mutant is the package with one operator, comparison, constant or condition changed. Tests run on
it until one fails: first those nearest to the changed file, then all that mention it, then those of
its room. Survivors are listed with the changed line: they are equivalent, or a test is missing. A
mutant whose tests were stopped by ``--seconds`` counts as a survivor and is marked. All this
happens in a copy of the project, with a copy of the compiled code on disk. Results are kept in
build/mutants/seed-N.jsonl, so that an interrupted run resumes where it stopped.
"""

import argparse
import ast
import contextlib
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "globalbandits"
# What is mutated, and the tests that must notice.
ROOMS = {
    "model": ["tests/model", "src/globalbandits/model"],
    "policies": ["tests/policies", "tests/testing", "src/globalbandits/policies"],
    "statistics.py": ["tests/test_statistics.py", "tests/policies/learner"],
    "evidence": ["tests/evidence", "tests/policies/learner", "src/globalbandits/evidence"],
    "service/log": ["tests/service"],
}
# Tests that find most errors of a room in a few seconds, and run before all others.
QUICK = {
    "model": ["tests/model/test_recorded_models.py", "tests/model/test_recorded_steps.py"],
    "policies": [
        "tests/policies/test_recorded_arms.py",
        "tests/policies/several/test_recorded_grids.py",
        "tests/policies/test_recorded_games.py",
    ],
    "evidence": ["tests/evidence/test_recorded_statements.py"],
    "service/log": ["tests/service/test_recorded_log.py"],
}
# What tests import besides the package itself. It is imported once for all mutants.
LARGE = (
    "dask.array",
    "matplotlib.pyplot",
    "numba",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "xarray",
)
N_NEAREST = 3  # test files that run before the other near ones
TEST_SECONDS = 120  # finds mutants with an endless loop

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """One change of one file."""

    file: str  # relative to the package
    line: int
    before: str
    after: str
    source: str  # the whole changed file


def sites(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield nodes that can be changed, with the kind of the change.

    Docstrings, annotations, imports, messages, `__all__` and overloads, which are never executed,
    are left alone.
    """
    overloads = [node for node in ast.walk(tree) if _is_overload(node)]
    left_alone = {part for overload in overloads for part in ast.walk(overload)}
    for node in ast.walk(tree):
        if node in left_alone:
            continue
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in SWAPS:
                yield node, "comparison"
            case ast.BinOp(op=operator) if type(operator) in SWAPS and not _has_text(node):
                yield node, "operator"
            case ast.AugAssign(op=operator) if type(operator) in SWAPS:
                yield node, "operator"
            case ast.BoolOp():
                yield node, "boolean"
            case ast.If() if not _is_type_checking(node):
                yield node, "condition"
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield node, "call"
            case ast.Constant(value=bool()):
                continue
            case ast.Constant(value=int() | float()):
                yield node, "constant"
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield node, "return"


def _has_text(node: ast.AST) -> bool:
    """Whether an expression joins texts or types."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_overload(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(part, ast.Name) and part.id == "overload" for part in node.decorator_list
    )


def change(node: ast.expr | ast.stmt, kind: str) -> None:
    """Change a node in place."""
    match node:
        case ast.Compare():
            node.ops = [SWAPS[type(node.ops[0])]()]  # type: ignore[list-item]
        case ast.BinOp() | ast.AugAssign():
            node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        case ast.BoolOp():
            node.op = SWAPS[type(node.op)]()  # type: ignore[assignment]
        case ast.If():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Call(func=ast.Name() as name):
            name.id = CALLS[name.id]
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.Return():
            node.value = ast.Constant(None)
        case _:
            raise ValueError(f"{kind} cannot be changed")


def draw_mutants(number: int, seed: int) -> list[Mutant]:
    """Draw mutants, the same number from each room."""
    rng = random.Random(seed)
    mutants = []
    rooms = list(ROOMS)
    for place, room in enumerate(rooms):
        wanted = number // len(rooms) + (place < number % len(rooms))
        found = list(_all_sites(PACKAGE / room))
        for path, index in rng.sample(found, min(wanted, len(found))):
            mutants.append(_mutant(path, index))
    rng.shuffle(mutants)
    return mutants


def _all_sites(path: Path) -> Iterator[tuple[Path, int]]:
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        for index in range(len(list(sites(ast.parse(file.read_text()))))):
            yield file, index


def _mutant(path: Path, index: int) -> Mutant:
    tree = ast.parse(path.read_text())
    node, kind = list(sites(tree))[index]
    # Lines are compared after unparsing, because that drops comments and layout.
    shown = node.test if isinstance(node, ast.If) else node
    before = ast.unparse(shown)
    change(node, kind)
    after = ast.unparse(node.test if isinstance(node, ast.If) else node)
    name = str(path.relative_to(PACKAGE))
    return Mutant(name, node.lineno, before, after, ast.unparse(tree))


class Copy:
    """A copy of the project in a temporary folder, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._n_writes = 0
        # Doctests of the package and files outside it are found by their paths.
        for name in ("src", "tests", "docs", "examples", "benchmarks", "deploy", ".ci"):
            shutil.copytree(ROOT / name, folder / name, symlinks=True)
        for name in ("pyproject.toml", "README.md", "Makefile", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, folder)
        # Mutants find the code of all other files compiled, and leave theirs here.
        # Queried in another process, because this one must not import the package.
        question = "from globalbandits.compiling.cache import usable_folder; print(usable_folder())"
        answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True)
        if Path(compiled := answer.stdout.strip()).is_dir():
            shutil.copytree(compiled, folder / "compiled")

    def write(self, file: str, source: str) -> str:
        """Replace a file of the package and return what it was."""
        path = self.folder / "src" / "globalbandits" / file
        before = path.read_text()
        path.write_text(source)
        # Byte code is recognised by size and seconds, and two mutants may share both.
        self._n_writes += 1
        os.utime(path, (time.time(), 10**9 + 2 * self._n_writes))
        return before

    def first_failure(self, tests: list[str], seconds: int) -> str | None:
        """Return the first line of the first failure; an empty text if all tests pass.

        None if the tests exceeded the given processor time.

        The tests run in a fork of this process, which has imported the large packages already.
        """
        output = self.folder / "output.txt"
        child = os.fork()
        if child == 0:
            code = 3
            try:
                with output.open("w") as file:
                    os.dup2(file.fileno(), 1)
                    os.dup2(file.fileno(), 2)
                code = self._run(tests, seconds)
            finally:
                os._exit(code)  # nothing of the parent is to be cleaned up
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what a stopped test has started
        if code in (0, 5):  # all passed, or there are none
            return ""
        if code == -signal.SIGXCPU:
            return None
        lines = output.read_text(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return (failed or [f"the tests cannot be collected: {' '.join(lines[-1:])}"])[0]

    def _run(self, tests: list[str], seconds: int) -> int:
        """Run tests in this process, which imports nothing from the project itself."""
        os.setsid()
        used = math.ceil(time.process_time())  # by imports before the fork
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
        os.chdir(self.folder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]
        places = [str(self.folder / "src"), str(self.folder)]
        sys.path[:0] = places
        os.environ["PYTHONPATH"] = os.pathsep.join(places)
        os.environ["GLOBALBANDITS_CACHE_DIR"] = str(self.folder / "compiled")
        options = ["-x", "-q", "-p", "no:cacheprovider", "--timeout", str(TEST_SECONDS)]
        # The other method leaves a process that hangs in the fixtures of a stopped test.
        options += ["--timeout-method", "thread"]
        return int(pytest.main([*options, *tests]))


def is_killed(mutant: Mutant, copy: Copy, seconds: int) -> str | None:
    """Return the first line of the failure that finds a mutant; empty for a survivor.

    None if no failure was found, and one of the steps exceeded its processor time; or if
    the failing test fails without the mutant, too.
    """
    room = next(room for room in ROOMS if mutant.file.startswith(room))
    near = near_tests(mutant.file, ROOMS[room], copy.folder)
    failure: str | None = ""
    original = copy.write(mutant.file, mutant.source)
    try:
        steps = (QUICK.get(room, []), near[:N_NEAREST], near[N_NEAREST:], ROOMS[room])
        for chosen in steps:
            if chosen and (failure := copy.first_failure(chosen, seconds)) != "":
                break
    finally:
        copy.write(mutant.file, original)
    # A test that fails without the mutant, for example because the machine is busy, proves nothing.
    if failure and "::" in failure:
        test = failure.partition(" ")[2].partition(" - ")[0]
        if copy.first_failure([test], seconds) != "":
            return None
    return failure


def near_tests(file: str, room: list[str], root: Path = ROOT) -> list[str]:
    """Return the test files that are about a file of the package, the nearest first.

    Near are tests named like the file, its own examples, and tests of the room that mention the
    module or its names, or names of a module that imports it.
    """
    package = root / "src" / "globalbandits"
    module = file.removesuffix(".py").replace("/", ".")
    own = _names(package / file)
    importing: set[str] = set()
    for path in package.rglob("*.py"):
        if f"{module} import" in path.read_text():
            importing |= _names(path)
    scores = {f"src/globalbandits/{file}": math.inf}
    for path in sorted(path for folder in room for path in _test_files(root / folder)):
        text = path.read_text()
        words = Counter(re.findall(r"\w+", text))
        score = 3.0 * sum(words[name] for name in own) + sum(words[name] for name in importing)
        score += 100.0 * (f"{module} import" in text)
        # A long file with the same number of mentions is less about it.
        score /= math.sqrt(len(text))
        if path.name == f"test_{Path(file).stem}.py":
            score += 1000.0
        if score > 0:
            scores[str(path.relative_to(root))] = score
    return sorted(scores, key=lambda name: -scores[name])


def _names(path: Path) -> set[str]:
    """The functions and classes of a module."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, kinds)}


def _test_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from path.rglob("test_*.py")  # none in the package


def main() -> None:
    """Run mutants, and print survivors and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=None, help="stop after this many new mutants")
    parser.add_argument("--seconds", type=int, default=600, help="of processor time per step")
    given = parser.parse_args()
    record = ROOT / "build" / "mutants" / f"seed-{given.seed}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    done = {(row["file"], row["line"], row["after"]) for row in rows}
    waiting = [
        mutant
        for mutant in draw_mutants(given.mutants, given.seed)
        if (mutant.file, mutant.line, mutant.after) not in done
    ]
    for name in LARGE:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for mutant in waiting[: given.most]:
            begin = time.monotonic()
            row = mutant._asdict() | {"killed_by": is_killed(mutant, copy, given.seconds)}
            del row["source"]
            row["seconds"] = round(time.monotonic() - begin)
            rows.append(row)
            with record.open("a") as file:
                file.write(json.dumps(row) + "\n")
            verdict = "killed  " if row["killed_by"] else "SURVIVED"
            verdict = "STOPPED " if row["killed_by"] is None else verdict
            print(f"{verdict} {row['file']}:{row['line']}  {row['before']}  ->  {row['after']}")
    survivors = [row for row in rows if not row["killed_by"]]
    print(f"{len(rows) - len(survivors)} of {len(rows)} mutants killed")


if __name__ == "__main__":
    main()
