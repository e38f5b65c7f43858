"""Every error the package raises on purpose.

::

    GlobalBanditsError
    ├── ModelError          (ValueError)  a reward model that cannot be used
    ├── PolicyError         (ValueError)  a policy with a wrong parameter, or an unknown one
    ├── RewardError         (ValueError)  a reward or an arm a learner cannot take
    ├── StateError          (ValueError)  a saved state that belongs elsewhere, or is damaged
    ├── EvidenceError       (ValueError)  a statement asked for with a wrong level or wrong data
    ├── ScenarioError       (ValueError)  an environment or a spec file that makes no sense
    ├── SimulationError     (ValueError)  a simulation asked for with wrong arguments
    │   └── SweepError                    some tasks of a sweep went wrong
    ├── ResultError         (ValueError)  a result file that is damaged or foreign
    ├── ContractError       (ValueError)  a policy that breaks the rules all policies keep
    ├── FitError            (ValueError)  a history from which no model can be fitted
    ├── StoreError          (ValueError)  a store that is foreign, damaged, newer, or in use
    │   └── StoreUnavailable              a store that cannot be written or read now
    ├── MissingExtraError   (ModuleNotFoundError)  a package of an extra is not installed
    └── ServiceError        (ValueError)  a request that the decision service refuses
        ├── UnknownError                  nothing has this name or this id
        └── ConflictError                 it would undo or contradict what is stored
"""


class GlobalBanditsError(Exception):
    """Root of every error of this package."""


class ModelError(GlobalBanditsError, ValueError):
    """A reward model that cannot be used: not monotone, not finite, out of range, ..."""


class PolicyError(GlobalBanditsError, ValueError):
    """A policy with a wrong parameter, or a name no policy has."""


class RewardError(GlobalBanditsError, ValueError):
    """A reward or an arm that a learner cannot take; the learner is unchanged."""


class StateError(GlobalBanditsError, ValueError):
    """A saved state that belongs to another model or policy, or is damaged."""


class EvidenceError(GlobalBanditsError, ValueError):
    """A statement asked for with a wrong level, or on data it cannot use."""


class ScenarioError(GlobalBanditsError, ValueError):
    """An environment, or a spec file, that makes no sense."""


class SimulationError(GlobalBanditsError, ValueError):
    """A simulation asked for with wrong arguments."""


class SweepError(SimulationError):
    """Some tasks of a sweep went wrong; the results of the others are kept."""


class ResultError(GlobalBanditsError, ValueError):
    """A result file that is damaged or was written by something else."""


class ContractError(GlobalBanditsError, ValueError):
    """A policy that breaks the rules all policies keep; the text has a line for each."""


class FitError(GlobalBanditsError, ValueError):
    """A history from which no model can be fitted, or a fit asked for with wrong arguments."""


class StoreError(GlobalBanditsError, ValueError):
    """A store that is foreign, damaged, of a newer version, or in use by another process."""


class StoreUnavailable(StoreError):  # noqa: N818 (a state of the store)
    """A store or service that cannot be reached now. Repeat the call; it is idempotent."""


class MissingExtraError(GlobalBanditsError, ModuleNotFoundError):
    """A package of an extra is not installed; the text has the command that installs it."""


class ServiceError(GlobalBanditsError, ValueError):
    """A request that the decision service refuses."""


class UnknownError(ServiceError):
    """Nothing has this name or this id."""


class ConflictError(ServiceError):
    """A request that would undo or contradict what is stored."""
