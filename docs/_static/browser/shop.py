"""A shop that learns its price, with the core of globalbandits only: NumPy, no threads."""

import math
import random

import globalbandits as gb

model = gb.demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], cost=1.5)
learner = gb.Learner(gb.WAGP(), model, seed=7)
customers = random.Random(1)  # the true theta is 0.22
for _ in range(2_000):
    arm = learner.select()
    sold = customers.random() < math.exp(-0.22 * model.arms[arm])
    learner.update(arm, 1.0 if sold else 0.0)

print(f"price {model.arms[learner.select()]}, theta about {learner.estimate:.3f}")
print(learner.interval())
print(learner.contenders())
print(learner.evidence_against_model())
print(learner.explain())
