"""What came out, in words and with the numbers that carry it."""

from collections.abc import Sequence

from globalbandits.experiments import Entry, Outcome, Verdict, count_verdicts
from globalbandits.experiments.outcome import best_entries
from globalbandits.experiments.verdicts import Z95
from globalbandits.report.numbers import format_value

_MAX_NAMED = 3


def conclude(outcomes: Sequence[Outcome]) -> str:
    """The whole reproduction in a few sentences: the main comparison, and what agrees."""
    sentences = [*map(_compared, outcomes), _agreement(outcomes)]
    entries = best_entries(outcomes)
    failed = [entry for entry in entries if entry.verdict is Verdict.NOT_REPRODUCED]
    if failed:
        names = [entry.statement or entry.label for entry in failed]
        more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        sentences.append(f"Not reproduced: {'; '.join(names[:_MAX_NAMED])}{more}.")
    said = " ".join(sentence for sentence in sentences if sentence)
    return said or "Nothing here is judged by what the paper prints."


def in_words(outcome: Outcome) -> str:
    """One experiment: who lost how much, and what agrees with the paper."""
    sentences = (_compared(outcome), _agreement([outcome]))
    return " ".join(sentence for sentence in sentences if sentence)


def _compared(outcome: Outcome) -> str:
    """WAGP's regret beside UCB1's, where the experiment has both."""
    wagp, ucb1 = (outcome.entries.get(key) for key in ("wagp_regret", "ucb1_regret"))
    if wagp is None or ucb1 is None:
        return ""
    many = ucb1.value >= 2.0 * wagp.value > 0.0
    times = f", {ucb1.value / wagp.value:,.0f} times as much" if many else ""
    return (
        f"In {outcome.horizon:,} rounds WAGP loses {_with_error(wagp)} rewards and UCB1 "
        f"{_with_error(ucb1)}{times}."
    )


def _agreement(outcomes: Sequence[Outcome]) -> str:
    counted = count_verdicts(outcomes)
    judged = (Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.TOO_NOISY)
    total = sum(counted[verdict] for verdict in judged)
    if total == 0:
        return ""
    said = ", ".join(
        f"{counted[verdict]} {'is' if counted[verdict] == 1 else 'are'} {verdict}"
        for verdict in judged
        if counted[verdict] > 0
    )
    return f"Of {total} numbers and statements of the paper, {said}."


def _with_error(entry: Entry) -> str:
    value, half = format_value(entry.value, Z95 * entry.sem)
    return f"{value} ± {half}" if half else value
