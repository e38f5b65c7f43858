"""A fit as plain data that JSON can hold."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from globalbandits.fitting.forecast import Forecast
    from globalbandits.fitting.result import Fit
    from globalbandits.fitting.scoring import Difference


def summarize(fit: "Fit") -> dict[str, Any]:
    """Everything that is printed, and the policy's spec; nan where there is nothing to say."""
    found, errors = fit.homogeneity, fit.errors
    whole: dict[str, Any] = {
        "n_groups": fit.panel.n_groups,
        "n_rewards": fit.panel.n_rewards,
        "binary": fit.panel.binary,
        "reward_range": list(fit.panel.reward_range),
        "verdict": {
            "action": fit.verdict.action,
            "policy": fit.verdict.policy,
            "runner_up": fit.verdict.runner_up,
            "sentences": list(fit.verdict.sentences),
        },
        "policy": fit.policy.to_dict(),
        "curves": fit.chosen,
        "homogeneity": {
            "statistic": found.statistic,
            "freedom": found.freedom,
            "p_value": found.p_value,
        },
        "share": fit.share,
        "bias_scale": fit.bias_scale,
        "held_out": _score(fit.held_out.over_independent(fit.chosen)),
        "worth_of_knowing": {
            "fixed_arm": fit.offered[fit.knowing.fixed],
            "total": fit.knowing.total,
            "through_one_number": fit.knowing.through,
        },
        "arms": [{"arm": arm} | row for arm, row in _rows(fit.arms)],
        "groups": [{"group": group} | row for group, row in _rows(fit.groups)],
        "notes": list(fit.notes),
        "seconds": fit.seconds,
    }
    if fit.later is not None:
        whole["last_third"] = _score(fit.later.over_independent(fit.chosen))
    if errors is not None:
        whole["standard_errors"] = errors._asdict()
    if fit.prospects is not None:
        whole["new_group"] = _forecast(fit.forecast)
    return whole


def _score(found: "Difference") -> dict[str, Any]:
    return {"log_score": found.mean, "se": found.se, "groups": found.n_groups}


def _rows(frame: Any) -> list[tuple[Any, dict[str, Any]]]:
    """Names and plain values of a table's rows."""
    names = frame.index.tolist()
    columns = {name: frame[name].tolist() for name in frame.columns}
    return [
        (label, {name: column[place] for name, column in columns.items()})
        for place, label in enumerate(names)
    ]


def _forecast(forecast: "Forecast") -> dict[str, Any]:
    return {
        "rounds": forecast.times.tolist(),
        "runs": forecast.n_runs,
        "regret": {
            name: {
                "mean": means.tolist(),
                "se": forecast.errors[name].tolist(),
                "break_even": forecast.break_even(name),
            }
            for name, means in forecast.means.items()
        },
    }
