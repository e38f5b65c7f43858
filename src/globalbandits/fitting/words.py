"""The printout of a fit."""

import textwrap
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from globalbandits.fitting.candidates import ALONE, ELASTIC, STUBBORN
from globalbandits.fitting.forecast import Forecast
from globalbandits.fitting.scoring import Scores

if TYPE_CHECKING:
    from globalbandits.fitting.result import Fit

_WIDTH = 27  # of the questions
TOTAL = 110


def describe(fit: "Fit", width: int = TOTAL) -> str:
    """Questions and answers, the arms, the notes, the verdict; lines of at most this width."""
    panel = fit.panel
    kind = "0 or 1" if panel.binary else "continuous"
    line = partial(_wrapped, width=width)
    lines = [
        f"{panel.n_groups} groups, {panel.n_arms} arms, {panel.n_rewards} rewards ({kind}), "
        f"fitted in {fit.seconds:.1f} s",
        line("Do groups differ?", differ(fit)),
        line("One number explains", _explained(fit)),
        line("Held-out groups", beyond_independent(fit, fit.held_out)),
    ]
    if fit.later is not None:
        lines.append(line("Last third of the time", beyond_independent(fit, fit.later)))
    lines.append(line("Worth of knowing the group", _worth(fit)))
    lines.append(line("Arms", _arms(fit)))
    stalling = [arm for arm, stalls in zip(fit.offered, fit.facts.stalls, strict=True) if stalls]
    if stalling:
        lines.append(line("Stalls greedy play", ", ".join(repr(arm) for arm in stalling)))
    misfits = int(fit.groups["misfit"].sum())
    if misfits:
        lines.append(line("Groups that do not fit", f"{misfits} of {panel.n_groups}"))
    if fit.prospects is not None:
        lines += _new_group(fit.prospects.forecast)
        lines.append(line("Break-even", break_even(fit.prospects.forecast)))
    lines += [line("Note", note) for note in fit.notes]
    lines.append(line("Verdict", str(fit.verdict)))
    return "\n".join(lines)


def _wrapped(question: str, answer: str, width: int) -> str:
    """A question and its answer, wrapped; a non-breaking space is printed as a space."""
    return textwrap.fill(
        answer,
        width=width,
        initial_indent=f"{question:<{_WIDTH}}",
        subsequent_indent=" " * _WIDTH,
        break_long_words=False,
    ).replace("\N{NO-BREAK SPACE}", " ")


def _plus_minus(value: float, error: float | None, pattern: str = ".3g") -> str:
    return f"{value:{pattern}}" if error is None else f"{value:{pattern}} ± {error:.2g}"


def differ(fit: "Fit") -> str:
    """The test of homogeneity."""
    found = fit.homogeneity
    if np.isnan(found.p_value):
        return "cannot be told: every group has one reward per arm"
    shown = f"{found.p_value:.2g}" if found.p_value >= 1e-300 else "0"
    return f"chi² {found.statistic:.0f} on {found.freedom}: p = {shown}"


def _explained(fit: "Fit") -> str:
    errors = fit.errors
    bias = _plus_minus(fit.bias_scale, None if errors is None else errors.bias_scale)
    off = f"curves off by {bias} of the range (rms over arms)"
    if np.isnan(fit.share):
        return f"nothing to explain; {off}"
    share = f"{fit.share:.0%}"
    if errors is not None:
        share += f" ± {errors.share:.0%}"
    return f"{share} of how they differ; {off}"


def beyond_independent(fit: "Fit", scores: Scores) -> str:
    """What the curves were worth on data they had not seen."""
    found = scores.over_independent(fit.chosen)
    return f"log score {found.mean:+.2f} ± {found.se:.2f} per group against every arm for itself"


def _worth(fit: "Fit") -> str:
    errors, knowing = fit.errors, fit.knowing
    total = _plus_minus(knowing.total, None if errors is None else errors.total)
    through = _plus_minus(knowing.through, None if errors is None else errors.through)
    always = fit.offered[knowing.fixed]
    return f"{total} per round beyond always {always!r}; {through} of it through the one number"


def _new_group(forecast: Forecast) -> list[str]:
    """Regret of the policies early and at the horizon."""
    early = early_time(forecast)
    rounds = f"{forecast.times[early]} / {forecast.horizon} rounds"
    lines = [f"{'Lost in a new group':<{_WIDTH}}after {rounds} ({forecast.n_runs} simulated)"]
    for name, means in forecast.means.items():
        early_loss, error = f"{means[early]:.3g}", forecast.errors[name][-1]
        lines.append(f"    {name:<32}{early_loss:>9} / {means[-1]:.4g} ± {error:.2g}")
    return lines


def early_time(forecast: Forecast) -> int:
    """The place of the checkpoint nearest to a tenth of the horizon."""
    return int(np.abs(forecast.times - forecast.horizon / 10).argmin())


def break_even(forecast: Forecast) -> str:
    """When policies that use the curves fall behind learning every arm for itself."""
    found = []
    for name in (ELASTIC, *STUBBORN, forecast.fixed):
        if name in forecast.means and ALONE in forecast.means:
            rounds = forecast.break_even(name)
            if rounds is None:
                when = f"beyond {forecast.horizon} rounds"
            elif rounds == forecast.times[0]:
                when = "from the start"
            else:
                when = f"after about {rounds} rounds"
            found.append(f"{name} {when}")
    return f"{', '.join(found)}, against every arm for itself ({ALONE})"


def _arms(fit: "Fit") -> str:
    cells = [
        f"{arm!r}: info {information:.2f}, best {best:.0%}"
        for arm, information, best in zip(
            fit.offered, fit.facts.information, fit.facts.best, strict=True
        )
    ]
    return "; ".join(cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in cells)
