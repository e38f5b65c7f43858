"""The policies of the league: those of two TOML files, and the user's own."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from globalbandits._objects import is_object_name, load_object
from globalbandits._registry import parameters_of
from globalbandits._validation import did_you_mean, require, show
from globalbandits.errors import PolicyError, ScenarioError
from globalbandits.policies import Policy, registered

# Kinds that do not play by default. The first needs arms in groups, the second limits another
# policy, and the third plays a single arm.
_NOT_PLAYING = ("regional_ucb", "limited", "fixed_arm")

Policies = Iterable["str | Policy"] | Mapping[str, Policy]
_HORIZON_OF_GAME = "told"  # placeholder in random_worlds.toml for the horizon of each world


def league_policies(
    policies: Policies | None = None, others: Iterable[str] = ()
) -> dict[str, Policy]:
    """Return policies by label; by default those of ``policies.toml`` and the other kinds.

    Args:
        policies: labels of the file; your own policies or policy classes as ``module:Object`` or
            ``file.py:Object``; policies; or a mapping from labels to policies.
        others: further valid labels, named in the error message for an unknown label.

    >>> league_policies(["UCB1", "WAGP"])
    {'UCB1': UCB1(), 'WAGP': WAGP()}
    """
    if isinstance(policies, Mapping):
        found = dict(policies)
    else:
        content = _labelled()
        found = {}
        for wanted in content if policies is None else policies:
            label, policy = _find(wanted, content, others)
            require(label not in found, "policy", "be named once", label, PolicyError)
            found[label] = policy
    require(len(found) > 0, "policies", "be at least one", policies, PolicyError)
    for label, policy in found.items():
        good = isinstance(policy, Policy)
        require(good, f"policy {label}", "be a policy such as WAGP()", policy, PolicyError)
    return found


def _labelled() -> dict[str, Mapping[str, object]]:
    """Specifications by label: those of the file, then the kinds that it does not name."""
    content = tomllib.loads(files(__package__).joinpath("policies.toml").read_text("utf-8"))
    named = {spec["policy"] for spec in content.values()}
    for kind, policy in registered().items():
        is_ours = policy.__module__.startswith("globalbandits.")
        needs_nothing = not any(parameters_of(policy).values())
        if is_ours and needs_nothing and kind not in {*named, *_NOT_PLAYING}:
            content[policy.__name__] = {"policy": kind}
    return content


def _find(
    wanted: "str | Policy", content: Mapping[str, Mapping[str, object]], others: Iterable[str]
) -> tuple[str, Policy]:
    if isinstance(wanted, Policy):
        return wanted.label, wanted
    if isinstance(wanted, str) and is_object_name(wanted):
        found = load_object("policy", wanted, PolicyError)
        if isinstance(found, type) and issubclass(found, Policy):
            found = found()
        rule = "name a policy, or a policy class that needs no arguments"
        require(isinstance(found, Policy), "policy", rule, wanted, PolicyError)
        return found.label, found
    if wanted not in content:
        labels = list(dict.fromkeys([*content, *others]))
        rule = f"be one of {', '.join(map(repr, labels))}, or module:Object"
        hint = did_you_mean(wanted, labels)
        raise PolicyError(f"policy must {rule}, got {show(wanted)}{hint}")
    return wanted, Policy.from_dict(content[wanted])


def unseen_players(names: Sequence[str] | None = None) -> dict[str, Mapping[str, Any] | Policy]:
    """Return the players on random worlds: all of ``random_worlds.toml`` by default.

    Other names are looked up with `league_policies`. In a specification, the horizon may be a
    placeholder, which `policies_for` replaces.

    >>> unseen_players(["UCB1", "Elastic, told the horizon"])["Elastic, told the horizon"]
    {'policy': 'elastic', 'horizon': 'told'}
    """
    content = tomllib.loads(files(__package__).joinpath("random_worlds.toml").read_text("utf-8"))
    if names is None:
        return dict(content)
    found: dict[str, Mapping[str, Any] | Policy] = {}
    for name in names:
        entries = {name: content[name]} if name in content else league_policies([name], content)
        for label, player in entries.items():
            require(label not in found, "policy", "be named once", label, ScenarioError)
            found[label] = player
    return found


def policies_for(
    players: Mapping[str, Mapping[str, Any] | Policy], horizon: int
) -> dict[str, Policy]:
    """Return the policies for a game of this horizon."""
    policies = {}
    for label, player in players.items():
        if isinstance(player, Policy):
            policies[label] = player
        else:
            parameters = {
                key: horizon if value == _HORIZON_OF_GAME else value
                for key, value in player.items()
            }
            policies[label] = Policy.from_dict(parameters)
    return policies
