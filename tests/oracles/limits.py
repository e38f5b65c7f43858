"""Limits of a trial, plainly: a list of patients, and rules that read it from the start."""

import dataclasses


@dataclasses.dataclass
class Patient:
    dose: int
    cohort: int
    outcome: float | None = None


class PlainLimits:
    """Cohorts of decisions, coherence, one step up, any step down, no untried dose skipped."""

    def __init__(self, n_doses, cohort, target, start=0):
        self.n_doses, self.cohort, self.target, self.start = n_doses, cohort, target, start
        self.patients = []
        self.reports = []  # (number of cohorts begun before the report, outcome)

    @property
    def n_cohorts(self):
        return max((patient.cohort for patient in self.patients), default=0)

    def present(self):
        return [patient for patient in self.patients if patient.cohort == self.n_cohorts]

    def observed(self):
        return [patient for patient in self.present() if patient.outcome is not None]

    def treat(self, dose):
        joins = (
            self.patients and self.present()[0].dose == dose and len(self.observed()) < self.cohort
        )
        number = self.n_cohorts if joins else self.n_cohorts + 1
        self.patients.append(Patient(dose, number))

    def report(self, dose, outcome):
        """The oldest patient of the dose without an outcome has this one."""
        waiting = [p for p in self.patients if p.outcome is None]
        mine = [p for p in waiting if p.dose == dose]
        if not mine and (not waiting or (self.patients and self.present()[0].dose == dose)):
            self.treat(dose)
            mine = [self.patients[-1]]
        if mine:
            mine[0].outcome = outcome
        self.reports.append((self.n_cohorts, dose, outcome))

    def next_dose(self, wish):
        if not self.patients:
            return self.start
        here = self.present()[0].dose
        if wish <= here:
            return wish
        if len(self.observed()) < self.cohort:
            return here
        since = sum(y for cohort, _, y in self.reports if cohort == self.n_cohorts)
        if since / len(self.observed()) >= self.target:
            return here
        return min(here + 1, self.n_doses - 1)
