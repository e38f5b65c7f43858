"""`Report`: a fit in words, as a printout and as one HTML page that needs no other file."""

import dataclasses
import os
import textwrap
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits.errors import FitError
from globalbandits.fitting.assessment.forecast import (
    CURVE_TRUSTING,
    ELASTIC_HISTORY,
    INDEPENDENT,
    Forecast,
)
from globalbandits.fitting.assessment.held_out_scores import Difference
from globalbandits.fitting.assessment.homogeneity import Homogeneity
from globalbandits.fitting.assessment.standard_errors import StandardErrors
from globalbandits.fitting.assessment.value_of_information import ValueOfInformation
from globalbandits.fitting.assessment.verdict import Verdict
from globalbandits.fitting.panel import Panel
from globalbandits.pages import definitions, embed_figure, fill_page, table
from globalbandits.plots.labels import printed_label
from globalbandits.plots.style import svg_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

QUESTION_WIDTH = 27  # characters
MAX_NAMED_MISFITS = 20  # groups on the page
_WORTH_CAPTION = (
    "The average group (line) and four of five groups (band). Each group is a circle at its "
    "observed mean, and a dot at the mean after it was pulled towards the curve, where rewards are "
    "few."
)


def check_page_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a page, or raise an error if it has another ending.

    >>> check_page_path("fit.pdf")
    Traceback (most recent call last):
        ...
    globalbandits.errors.FitError: page path must end in .html, got 'fit.pdf'
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise FitError(f"page path must end in .html, got {str(path)!r}")
    return Path(path)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """What a fit has found, ready to be written; the fields are those of `Fit`."""

    panel: Panel
    homogeneity: Homogeneity
    share: float
    bias_scale: float
    errors: StandardErrors | None
    held_out: Difference  # log score beyond every arm for itself
    later: Difference | None
    information: ValueOfInformation
    arms: "pd.DataFrame"
    groups: "pd.DataFrame"
    forecast: Forecast | None
    notes: tuple[str, ...]
    verdict: Verdict
    seconds: float
    given: bool  # whether the curves are the user's own

    def text(self, width: int) -> str:
        """Return questions and answers, the notes and the verdict, wrapped to a width."""
        panel, errors, information = self.panel, self.errors, self.information
        line = partial(_wrapped, width=width)
        lines = [
            f"{panel.n_groups} groups, {panel.n_arms} arms, {panel.n_rewards} rewards "
            f"({self._kind}), fitted in {self.seconds:.1f} s",
            line("Do groups differ?", self._homogeneity_text()),
            line("One number explains", self._explained_text()),
            line("Held-out groups", _score_text(self.held_out)),
        ]
        if self.later is not None:
            lines.append(line("Last third of the time", _score_text(self.later)))
        total = _plus_minus(information.total, None if errors is None else errors.total)
        through = _plus_minus(information.through, None if errors is None else errors.through)
        knowing = (
            f"{total} per round beyond always {self._fixed_arm!r}; "
            f"{through} of it through the one number"
        )
        lines.append(line("Worth of knowing the group", knowing))
        cells = [
            f"{arm!r}: info {information:.2f}, best {best:.0%}"
            for arm, information, best in zip(
                panel.arms, self.arms["informativeness"], self.arms["best"], strict=True
            )
        ]
        # An arm's cell is never broken across lines.
        unbroken = [cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in cells]
        lines.append(line("Arms", "; ".join(unbroken)))
        stalling = [
            arm for arm, stalls in zip(panel.arms, self.arms["stalls"], strict=True) if stalls
        ]
        if stalling:
            lines.append(line("Stalls greedy play", ", ".join(repr(arm) for arm in stalling)))
        misfits = int(self.groups["misfit"].sum())
        if misfits:
            lines.append(line("Groups that do not fit", f"{misfits} of {panel.n_groups}"))
        if self.forecast is not None:
            lines += _regret_lines(self.forecast)
            lines.append(line("Break-even", _break_even_text(self.forecast)))
        lines += [line("Note", note) for note in self.notes]
        lines.append(line("Verdict", str(self.verdict)))
        return "\n".join(lines)

    def write_page(self, path: Path, figures: "dict[str, Figure]", currency: str = "") -> Path:
        """Write the page as a whole or not at all, and return its path.

        Args:
            path: See `check_page_path`.
            figures: The figures "worth", "curves" and "groups", and "regret" if there is a
                forecast.
            currency: The unit of worth, or empty.
        """
        panel = self.panel
        title = f"Deploy {self.verdict.policy}"
        page = fill_page(
            __package__,
            "report.html",
            title=title,
            lead=escape(
                f"What {panel.n_groups:,} groups, {panel.n_arms} arms and {panel.n_rewards:,} "
                f"rewards ({self._kind}) say about a new group."
            ),
            verdict="\n".join(f"<p>{escape(text)}</p>" for text in self.verdict.sentences),
            tally=self._cards_html(f" {currency}" if currency else ""),
            worth=embed_figure(svg_bytes(figures["worth"]), _WORTH_CAPTION),
            arm_name=escape(panel.arm_name),
            share=self._share_html(),
            pictures=self._figures_html(figures),
            regret=self._regret_html(figures),
            arms=self._arms_html(),
            notes=self._notes_html(),
            about=definitions(self._about()),
        )
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return path

    @property
    def _kind(self) -> str:
        if self.panel.with_trials:
            return f"trials, {self.panel.rounds_per_row:.3g} a row"
        if self.panel.unbounded:
            return "without a highest value"
        return "0 or 1" if self.panel.binary else "continuous"

    @property
    def _fixed_arm(self) -> Any:
        return self.panel.arms[self.information.fixed]

    def _homogeneity_text(self) -> str:
        found = self.homogeneity
        if np.isnan(found.p_value):
            return "cannot be told: every group has one reward per arm"
        shown = f"{found.p_value:.2g}" if found.p_value >= 1e-300 else "0"
        return f"chi² {found.statistic:.0f} on {found.freedom}: p = {shown}"

    def _explained_text(self) -> str:
        errors = self.errors
        bias = _plus_minus(self.bias_scale, None if errors is None else errors.bias_scale)
        off = f"curves off by {bias} of the range (rms over arms)"
        if np.isnan(self.share):
            return f"nothing to explain; {off}"
        return f"{self._share_text()} of how they differ; {off}"

    def _share_text(self) -> str:
        error = "" if self.errors is None else f" ± {self.errors.share:.0%}"
        return f"{self.share:.0%}{error}"

    def _cards_html(self, unit: str) -> str:
        cards = []
        if self.forecast is not None and self.homogeneity.differ():
            end = self.forecast.means[self.verdict.policy][-1]
            rounds = f"{self.forecast.horizon:,} rounds"
            cards.append((f"{end:.3g}{unit}", f"lost in {rounds} of a new group"))
        if not np.isnan(self.share):
            cards.append((f"{self.share:.0%}", "of how groups differ, explained by one number"))
        cards.append((f"{self.bias_scale:.3f}", "of the range: bias, the groups' own errors"))
        total, through = self.information.total, self.information.through
        cards.append((f"{total:.3g}{unit}", "per round: worth of knowing a group"))
        cards.append((f"{through:.3g}{unit}", "of that through the one number"))
        return "\n".join(
            f"<div><b>{escape(value)}</b>{escape(text)}</div>" for value, text in cards
        )

    def _share_html(self) -> str:
        if np.isnan(self.share):
            return "<p>Groups do not differ measurably: there is nothing to explain.</p>"
        return (
            '<div class="share"><div class="bar" role="img" '
            f'aria-label="share explained by one number: {self.share:.0%}">'
            f'<span style="width:{100 * self.share:.1f}%"></span></div>'
            f'<div class="words"><span>One number explains {self._share_text()} of how groups '
            f"differ</span><span>the rest is every group's own</span></div></div>"
            f"<p>On held-out groups: {escape(_score_text(self.held_out))}.</p>"
        )

    def _figures_html(self, figures: "dict[str, Figure]") -> str:
        curves = (
            f"{'Your' if self.given else 'The'} curves (lines), the bias around them (bands), and "
            "the groups (dots, larger with more rewards; means are shrunk to the curve where "
            "rewards are few)."
        )
        groups = "The groups' theta with 90 % intervals, coloured by their best arm."
        captions = {"curves": curves, "groups": groups}
        return "\n".join(
            embed_figure(svg_bytes(figures[name]), caption) for name, caption in captions.items()
        )

    def _regret_html(self, figures: "dict[str, Figure]") -> str:
        forecast = self.forecast
        if forecast is None:
            return ""
        early = _early_checkpoint(forecast)
        rows = [
            [
                name + (" (recommended)" if name == self.verdict.policy else ""),
                f"{means[early]:.3g}",
                f"{means[-1]:.4g} ± {forecast.errors[name][-1]:.2g}",
            ]
            for name, means in forecast.means.items()
        ]
        head = ["policy", f"{forecast.times[early]:,} rounds", f"{forecast.horizon:,} rounds"]
        caption = (
            "Regret over rounds with 95 % bands. A diamond marks where a policy that uses the "
            "curves falls behind learning every arm for itself. Policies that lose much more "
            "leave the picture."
        )
        figure = embed_figure(svg_bytes(figures["regret"]), caption)
        return (
            "<h2>What is lost in a new group</h2>\n"
            f"<p>{forecast.n_runs:,} groups drawn from the fitted population, with errors of their "
            "own around the curves. Smaller is better.</p>\n"
            f'<div class="pictures">{figure}<div>{table(head, rows)}'
            f"<p>Break-even: {escape(_break_even_text(forecast))}.</p></div></div>"
        )

    def _arms_html(self) -> str:
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
            for arm, row in self.arms.iterrows()
        ]
        return table(["arm", "rewards", "mean", "info", "best", "bias", "noise"], rows)

    def _notes_html(self) -> str:
        lines = list(self.notes)
        lines += [
            f"arm {printed_label(arm)} stalls greedy play: it is often best and hardly informative"
            for arm in self.arms.index[self.arms["stalls"]]
        ]
        misfits = self.groups.index[self.groups["misfit"]]
        if len(misfits):
            named = ", ".join(printed_label(name) for name in misfits[:MAX_NAMED_MISFITS])
            more = ", ..." if len(misfits) > MAX_NAMED_MISFITS else ""
            text = f"{len(misfits)} of {self.panel.n_groups} groups do not fit the curves"
            lines.append(f"{text}: {named}{more}")
        if not lines:
            return ""
        items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
        return f'<h2>Notes</h2>\n<ul class="why-list">\n{items}\n</ul>'

    def _about(self) -> dict[str, str]:
        lines = {
            "Do groups differ?": self._homogeneity_text(),
            "Rewards": "from {:g} to {:g}".format(*self.panel.reward_range),
            "Fitted": f"in {self.seconds:.1f} s",
        }
        if self.later is not None:
            lines["Last third of the time"] = _score_text(self.later)
        return lines


def _wrapped(question: str, answer: str, width: int) -> str:
    """Wrap a question and its answer; a non-breaking space is printed as a space."""
    return textwrap.fill(
        answer,
        width=width,
        initial_indent=f"{question:<{QUESTION_WIDTH}}",
        subsequent_indent=" " * QUESTION_WIDTH,
        break_long_words=False,
    ).replace("\N{NO-BREAK SPACE}", " ")


def _plus_minus(value: float, error: float | None) -> str:
    return f"{value:.3g}" if error is None else f"{value:.3g} ± {error:.2g}"


def _score_text(found: Difference) -> str:
    return f"log score {found.mean:+.2f} ± {found.se:.2f} per group against every arm for itself"


def _regret_lines(forecast: Forecast) -> list[str]:
    """Return the regret of every policy early and at the horizon."""
    early = _early_checkpoint(forecast)
    rounds = f"{forecast.times[early]} / {forecast.horizon} rounds"
    title = f"{'Lost in a new group':<{QUESTION_WIDTH}}"
    lines = [f"{title}after {rounds} ({forecast.n_runs} simulated)"]
    for name, means in forecast.means.items():
        early_loss, error = f"{means[early]:.3g}", forecast.errors[name][-1]
        lines.append(f"    {name:<32}{early_loss:>9} / {means[-1]:.4g} ± {error:.2g}")
    return lines


def _early_checkpoint(forecast: Forecast) -> int:
    """Return the place of the checkpoint nearest to a tenth of the horizon."""
    return int(np.abs(forecast.times - forecast.horizon / 10).argmin())


def _break_even_text(forecast: Forecast) -> str:
    """Say when policies that use the curves fall behind learning every arm for itself."""
    found = []
    for name in (ELASTIC_HISTORY, *CURVE_TRUSTING, forecast.fixed):
        if name in forecast.means and INDEPENDENT in forecast.means:
            rounds = forecast.break_even(name)
            if rounds is None:
                when = f"beyond {forecast.horizon} rounds"
            elif rounds == forecast.times[0]:
                when = "from the start"
            else:
                when = f"after about {rounds} rounds"
            found.append(f"{name} {when}")
    return f"{', '.join(found)}, against every arm for itself ({INDEPENDENT})"
