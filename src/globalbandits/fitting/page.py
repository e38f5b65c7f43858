"""A fit as one HTML page that needs nothing but itself; the verdict comes first."""

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._files import replacing
from globalbandits.errors import FitError
from globalbandits.fitting.pictures import draw_curves, draw_groups, draw_regret
from globalbandits.fitting.words import beyond_independent, break_even, differ, early_time
from globalbandits.pages import definitions, embed_figure, fill_page, table
from globalbandits.plots.figure_files import svg_bytes
from globalbandits.plots.labels import printed_label

if TYPE_CHECKING:
    from globalbandits.fitting.result import Fit

_MOST_MISFITS = 20  # groups named


def check_page_path(path: str | os.PathLike[str]) -> Path:
    """The path of a page, or an error if it does not end as one.

    >>> check_page_path("fit.pdf")
    Traceback (most recent call last):
        ...
    globalbandits.errors.FitError: page path must end in .html, got 'fit.pdf'
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FitError(f"page path must end in .html, got {str(path)!r}")
    return Path(path)


def write_page(fit: "Fit", path: str | os.PathLike[str]) -> Path:
    """Write the page, all of it or nothing; returns its path."""
    target = check_page_path(path)
    panel = fit.panel
    kind = "0 or 1" if panel.binary else "continuous"
    page = fill_page(
        __package__,
        "page.html",
        title=_title(fit),
        lead=escape(
            f"What {panel.n_groups:,} groups, {panel.n_arms} arms and {panel.n_rewards:,} rewards "
            f"({kind}) say about a new group."
        ),
        verdict="\n".join(f"<p>{escape(text)}</p>" for text in fit.verdict.sentences),
        tally=_tally(fit),
        share=_share(fit),
        pictures=_pictures(fit),
        regret=_regret(fit),
        arms=_arms(fit),
        notes=_notes(fit),
        about=definitions(_about(fit)),
    )
    with replacing(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def _title(fit: "Fit") -> str:
    if fit.verdict.action == "fixed":
        return f"Play {printed_label(fit.offered[fit.knowing.fixed])}"
    return f"Deploy {fit.verdict.policy}"


def _tally(fit: "Fit") -> str:
    cards = []
    if fit.prospects is not None and fit.homogeneity.differ():
        forecast = fit.forecast
        end = forecast.means[fit.verdict.policy][-1]
        cards.append((f"{end:.3g}", f"lost in {forecast.horizon:,} rounds of a new group"))
    if not np.isnan(fit.share):
        cards.append((f"{fit.share:.0%}", "of how groups differ, explained by one number"))
    cards.append((f"{fit.bias_scale:.3f}", "of the range: bias, the groups' own errors"))
    cards.append((f"{fit.knowing.total:.3g}", "per round: worth of knowing a group"))
    cards.append((f"{fit.knowing.through:.3g}", "of that through the one number"))
    return "\n".join(f"<div><b>{escape(value)}</b>{escape(text)}</div>" for value, text in cards)


def _share(fit: "Fit") -> str:
    if np.isnan(fit.share):
        return "<p>Groups do not differ measurably: there is nothing to explain.</p>"
    error = "" if fit.errors is None else f" ± {fit.errors.share:.0%}"
    return (
        '<div class="share"><div class="bar" role="img" '
        f'aria-label="share explained by one number: {fit.share:.0%}">'
        f'<span style="width:{100 * fit.share:.1f}%"></span></div>'
        f'<div class="words"><span>One number explains {fit.share:.0%}{error} of how groups '
        f"differ</span><span>the rest is every group's own</span></div></div>"
        f"<p>On held-out groups: {escape(beyond_independent(fit, fit.held_out))}.</p>"
    )


def _pictures(fit: "Fit") -> str:
    given = "your curves" if fit.given_model is not None else "curves"
    curves = (
        f"The {given} (lines), the bias around them (bands), and the groups (dots, larger with "
        "more rewards; means are pulled to the curve where rewards are few)."
    )
    groups = "The groups' theta with 90 % intervals, coloured by their best arm."
    return "\n".join(
        embed_figure(svg_bytes(figure), caption)
        for figure, caption in ((draw_curves(fit), curves), (draw_groups(fit), groups))
    )


def _regret(fit: "Fit") -> str:
    if fit.prospects is None:
        return ""
    forecast = fit.forecast
    early = early_time(forecast)
    rows = [
        [
            name + (" (recommended)" if name == fit.verdict.policy else ""),
            f"{means[early]:.3g}",
            f"{means[-1]:.4g} ± {forecast.errors[name][-1]:.2g}",
        ]
        for name, means in forecast.means.items()
    ]
    head = ["policy", f"{forecast.times[early]:,} rounds", f"{forecast.horizon:,} rounds"]
    caption = (
        "Regret over rounds with 95 % bands; a diamond is where a policy that uses the curves "
        "falls behind learning every arm for itself. What loses much more leaves the picture."
    )
    return (
        "<h2>What is lost in a new group</h2>\n"
        f"<p>{forecast.n_runs:,} groups drawn from the fitted population, with errors of their own "
        "around the curves. Smaller is better.</p>\n"
        f'<div class="pictures">{embed_figure(svg_bytes(draw_regret(fit)), caption)}'
        f"<div>{table(head, rows)}<p>Break-even: {escape(break_even(forecast))}.</p></div></div>"
    )


def _arms(fit: "Fit") -> str:
    rows = [
        [
            printed_label(arm),
            f"{row['rewards']:,}",
            f"{row['mean']:.3g}",
            f"{row['informativeness']:.2f}",
            f"{row['best']:.0%}",
            f"{row['bias']:.2g}",
            f"{row['noise']:.2g}",
        ]
        for arm, row in fit.arms.iterrows()
    ]
    return table(["arm", "rewards", "mean", "info", "best", "bias", "noise"], rows)


def _notes(fit: "Fit") -> str:
    lines = list(fit.notes)
    lines += [
        f"arm {printed_label(arm)} stalls greedy play: it is often best and tells hardly anything"
        for arm in fit.arms.index[fit.arms["stalls"]]
    ]
    misfits = fit.groups.index[fit.groups["misfit"]]
    if len(misfits):
        named = ", ".join(printed_label(name) for name in misfits[:_MOST_MISFITS])
        more = ", ..." if len(misfits) > _MOST_MISFITS else ""
        text = f"{len(misfits)} of {fit.panel.n_groups} groups do not fit the curves"
        lines.append(f"{text}: {named}{more}")
    if not lines:
        return ""
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h2>To be known</h2>\n<ul class="why-list">\n{items}\n</ul>'


def _about(fit: "Fit") -> dict[str, str]:
    lines = {
        "Do groups differ?": differ(fit),
        "Rewards": "from {:g} to {:g}".format(*fit.panel.reward_range),
        "Fitted": f"in {fit.seconds:.1f} s",
    }
    if fit.later is not None:
        lines["Last third of the time"] = beyond_independent(fit, fit.later)
    return lines
