"""The check that a model has invertible means."""

from globalbandits.errors import PolicyError
from globalbandits.model.tables import Tables


def require_inverses(tables: Tables, policy: str) -> None:
    """Raise PolicyError unless every mean of the model can be inverted.

    >>> from globalbandits.model import RewardModel
    >>> flat = RewardModel(lambda theta, x: x + 0 * theta, [0.2, 0.4], monotone=False)
    >>> require_inverses(flat.tables, "WAGP")
    Traceback (most recent call last):
        ...
    globalbandits.errors.PolicyError: model must be monotone for WAGP, which inverts the arms' \
means (GridThompson, IDS, Elastic, UCBS, UCBC and TSC do not), got monotone=False
    """
    rule = (
        f"be monotone for {policy}, which inverts the arms' means "
        "(GridThompson, IDS, Elastic, UCBS, UCBC and TSC do not)"
    )
    if not tables.invertible:
        raise PolicyError(f"model must {rule}, got monotone=False")
