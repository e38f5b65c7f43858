"""Mutation testing: small errors put into the source, and the share that the tests find.

    python -m tests.mutants.mutate --mutants 200 --seed 1

A mutant is a copy of the package with one operator, comparison, constant or condition changed. The
tests of its room run on it, those named like the file first, until one fails. Survivors are listed
with the changed line: they are equivalent, or a test is missing. Nothing in the project's own
folders is changed. Results are kept in build/mutants/seed-N.jsonl, so that an interrupted run goes
on where it stopped.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
TIMEOUT_SECONDS = 1200  # a mutant that loops for ever is found by this

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

    Docstrings, annotations, imports, messages and `__all__` are left alone.
    """
    for node in ast.walk(tree):
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


def is_killed(mutant: Mutant) -> str:
    """Return the first line of the failure that finds a mutant; empty for a survivor."""
    room = next(room for room in ROOMS if mutant.file.startswith(room))
    with tempfile.TemporaryDirectory() as folder:
        # Doctests of the package and files beside it are found by their paths.
        for name in ("src", "tests", "docs", "examples", "benchmarks"):
            shutil.copytree(ROOT / name, Path(folder) / name, symlinks=True)
        for name in ("pyproject.toml", "README.md", "Makefile", "CONTRIBUTING.md"):
            shutil.copy(ROOT / name, folder)
        (Path(folder) / "src/globalbandits" / mutant.file).write_text(mutant.source)
        near = f"test_{Path(mutant.file).stem}.py"
        tests = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob(near))]
        environment = {**os.environ, "PYTHONPATH": f"{folder}/src"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        try:
            for chosen in (tests, ROOMS[room]):
                if not chosen:
                    continue
                done = subprocess.run(
                    [*command, *chosen],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_SECONDS,
                )
                if done.returncode != 0:
                    failed = [line for line in done.stdout.splitlines() if "FAILED" in line]
                    return (failed or ["the tests cannot be collected"])[0]
        except subprocess.TimeoutExpired:
            return "timeout"
    return ""


def main() -> None:
    """Run mutants, and print survivors and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=None, help="stop after this many new mutants")
    given = parser.parse_args()
    record = ROOT / "build" / "mutants" / f"seed-{given.seed}.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    done = {(row["file"], row["line"], row["after"]) for row in rows}
    n_new = 0
    for mutant in draw_mutants(given.mutants, given.seed):
        if (mutant.file, mutant.line, mutant.after) in done:
            continue
        if given.most is not None and n_new >= given.most:
            break
        begin = time.monotonic()
        row = mutant._asdict() | {"killed_by": is_killed(mutant)}
        del row["source"]
        row["seconds"] = round(time.monotonic() - begin)
        rows.append(row)
        n_new += 1
        with record.open("a") as file:
            file.write(json.dumps(row) + "\n")
        verdict = "killed  " if row["killed_by"] else "SURVIVED"
        print(f"{verdict} {row['file']}:{row['line']}  {row['before']}  ->  {row['after']}")
    survivors = [row for row in rows if not row["killed_by"]]
    print(f"{len(rows) - len(survivors)} of {len(rows)} mutants killed")


if __name__ == "__main__":
    main()
