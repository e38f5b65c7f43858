"""Priors of the unknown numbers of a vector model."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from globalbandits._validation import as_float, as_list, as_positive, require, require_known
from globalbandits.errors import ModelError


@dataclasses.dataclass(frozen=True, kw_only=True)
class NormalPrior:
    """A normal prior of the unknown numbers, or of the logarithms of some of them.

    It is cut off at the edges of the model's domain. Without a prior all points of the domain are
    equally likely.

    Args:
        mean: the mean of every number by its name.
        sd: the standard deviation of every number.
        correlation: between the first two numbers, in (-1, 1).
        log: names of the numbers whose logarithm is normal. Their mean and standard deviation are
            those of the natural logarithm.

    >>> NormalPrior(mean={"level": 0.1, "slope": -1.0}, sd={"level": 0.05, "slope": 0.5},
    ...             log=["slope"]).to_dict()
    {'mean': {'level': 0.1, 'slope': -1.0}, 'sd': {'level': 0.05, 'slope': 0.5},
     'correlation': 0.0, 'log': ['slope']}
    """

    mean: Mapping[str, float]
    sd: Mapping[str, float]
    correlation: float = 0.0
    log: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check every number."""
        for name in ("mean", "sd"):
            given = getattr(self, name)
            rule = 'be a dict of numbers by name, such as {"level": 0.1, "slope": 0.3}'
            require(isinstance(given, Mapping) and bool(given), name, rule, given, ModelError)
        require(set(self.mean) == set(self.sd), "sd", "have the names of mean", self.sd, ModelError)
        correlation = as_float("correlation", self.correlation, ModelError)
        rule = "lie in (-1, 1)"
        require(-1.0 < correlation < 1.0, "correlation", rule, self.correlation, ModelError)
        log = as_list("log", self.log, "be a list of names", ModelError)
        for name in log:
            require_known("a name of log", name, tuple(self.mean), ModelError)
        found = {
            "mean": {n: as_float(f"mean[{n!r}]", v, ModelError) for n, v in self.mean.items()},
            "sd": {n: as_positive(f"sd[{n!r}]", v, ModelError) for n, v in self.sd.items()},
            "correlation": correlation,
            "log": tuple(log),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, description: object) -> "NormalPrior":
        """Build a prior from the result of `to_dict`."""
        rule = "be a table of mean, sd and, if need be, correlation and log"
        require(isinstance(description, Mapping), "prior", rule, description, ModelError)
        content: dict[str, Any] = dict(description)  # type: ignore[call-overload]
        known = [field.name for field in dataclasses.fields(cls)]
        for key in content:
            require_known("a key of prior", key, known, ModelError)
        for key in ("mean", "sd"):
            require(key in content, "prior", rule, list(content), ModelError)
        return cls(**content)

    def to_dict(self) -> dict[str, Any]:
        """Return the prior as plain data for JSON."""
        return {
            "mean": dict(self.mean),
            "sd": dict(self.sd),
            "correlation": self.correlation,
            "log": list(self.log),
        }

    def check_domain(self, domain: Mapping[str, tuple[float, float]]) -> None:
        """Raise an error if the prior is not one of the numbers of this domain."""
        rule = f"have a number for each of {', '.join(domain)}"
        require(set(self.mean) == set(domain), "prior", rule, dict(self.mean), ModelError)
        rule = "be 0 for a model of one number"
        only_one = len(domain) == 1 and self.correlation != 0.0
        require(not only_one, "correlation", rule, self.correlation, ModelError)
        for name in self.log:
            low, high = domain[name]
            rule = f"start above 0 for the log-normal prior of {name}"
            require(low > 0.0, f"domain[{name!r}]", rule, (low, high), ModelError)
        for name, (low, high) in domain.items():
            ends = (math.log(low), math.log(high)) if name in self.log else (low, high)
            nearest = min(max(self.mean[name], ends[0]), ends[1])
            near = abs(nearest - self.mean[name]) <= 10.0 * self.sd[name]
            rule = f"lie within ten standard deviations of the domain [{low:g}, {high:g}] of {name}"
            require(near, f"mean[{name!r}]", rule, self.mean[name], ModelError)
