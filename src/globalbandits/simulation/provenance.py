"""Provenance of a result: versions, the platform, and hashes of the user's own code."""

import contextlib
import dataclasses
import hashlib
import platform
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from globalbandits.compiling.fingerprint import FingerprintError, _Reader
from globalbandits.environments import Environment
from globalbandits.policies.base import Policy

_PACKAGE = "globalbandits"


def made_with() -> dict[str, str]:
    """Versions of Python, NumPy and Numba, and the platform.

    >>> sorted(made_with())
    ['numba', 'numpy', 'platform', 'python']
    """
    return dict(_surroundings())


@cache
def _surroundings() -> tuple[tuple[str, str], ...]:
    return (
        ("python", platform.python_version()),
        ("numpy", version("numpy")),
        ("numba", version("numba")),
        ("platform", platform.platform()),
    )


def own_code(env: Environment, policies: Mapping[str, Policy]) -> dict[str, Any]:
    """Hashes of the policies, noises, drifts and biases that do not come with the package.

    Two hashes are equal if the parameters and the rules are equal, including all functions and
    values that the rules use. The hashes differ between versions of Python.
    """
    return code_hashes(env, policies, lambda part: content_hash(part) if _is_own(part) else None)


def code_hashes(
    env: Environment, policies: Mapping[str, Policy], hash_of: Callable[[Any], str | None]
) -> dict[str, Any]:
    """Hashes of policies and parts of an environment, without those whose hash is None."""
    parts = {"noise": env.noise, "drift": env.drift, "bias": env.bias}
    hashes: dict[str, Any] = _hashed(parts, hash_of)
    for name, function in (
        ("truth", env.moving_truth),
        ("population", env.population and env.population.quantile),
    ):
        if function is not None:
            digest = hashlib.sha256()
            _TolerantReader(digest).read(function)
            hashes[name] = digest.hexdigest()
    return {"policies": _hashed(policies, hash_of), **hashes}


def _hashed(parts: Mapping[str, Any], hash_of: Callable[[Any], str | None]) -> dict[str, str]:
    found = {name: hash_of(part) for name, part in parts.items() if part is not None}
    return {name: text for name, text in found.items() if text is not None}


def content_hash(part: Any) -> str:
    """A hash of the code and the parameters of a policy, a noise, a drift or a bias."""
    digest = hashlib.sha256()
    for piece in _pieces(part):
        digest.update(f"{type(piece).__module__} {type(piece).__qualname__}".encode())
        digest.update(repr(piece).encode("utf-8", "backslashreplace"))
        reader = _TolerantReader(digest)
        for function in _functions(piece):
            reader.read(function)
    return digest.hexdigest()


def _pieces(part: Any) -> Iterator[Any]:
    """A part and the policies that it wraps."""
    yield part
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        for inner in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(inner, Policy):
                yield from _pieces(inner)


def _is_own(part: Any) -> bool:
    return any(type(piece).__module__.partition(".")[0] != _PACKAGE for piece in _pieces(part))


def _functions(piece: Any) -> Iterator[Any]:
    """The rules of a part, and the methods that compute their parameters."""
    rules = getattr(piece, "rules", ())
    yield from (rule for rule in rules if callable(rule))
    for name in ("setup", "parameters", "track", "shifts"):
        method = getattr(type(piece), name, None)
        if method is not None:
            yield method


class _TolerantReader(_Reader):
    """A reader that hashes only the type of an object whose content it cannot read."""

    def read(self, value: Any) -> None:
        with contextlib.suppress(FingerprintError):
            super().read(value)
