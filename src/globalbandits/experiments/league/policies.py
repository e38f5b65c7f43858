"""Who plays in the league: a TOML file beside this module, label by label."""

import tomllib
from collections.abc import Iterable
from importlib.resources import files

from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.policies import Policy


def league_policies(labels: Iterable[str] | None = None) -> dict[str, Policy]:
    """The policies with the given labels, in the file's order; all of them by default.

    >>> league_policies(["UCB1", "WAGP"])
    {'UCB1': UCB1(), 'WAGP': WAGP()}
    """
    content = tomllib.loads(files(__package__).joinpath("policies.toml").read_text("utf-8"))
    wanted = tuple(content) if labels is None else tuple(labels)
    for label in wanted:
        require(label in content, "policy", f"be one of {', '.join(content)}", label, PolicyError)
    return {label: Policy.from_dict(content[label]) for label in content if label in wanted}
