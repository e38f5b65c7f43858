"""How many letters a week? Clicks are known but for how fast readers tire of them.

A reader who gets n letters opens each with probability exp(-theta n), so a week brings
n exp(-theta n) clicks. Rewards are clicks, not fractions: the reward range says so.

Look at it: globalbandits analyze --file examples/newsletter.py --theta 0.3
"""

import numpy as np

import globalbandits as gb

model = gb.RewardModel(
    lambda theta, letters: letters * np.exp(-theta * letters),
    arms=[1, 2, 3, 4, 5, 6, 7],
    domain=(0.05, 1.0),
    reward_range=(0.0, 7.0),
)

if __name__ == "__main__":
    for theta in (0.1, 0.3, 0.9):
        best = [model.arms[arm] for arm in model.best_arms(theta)]
        print(f"readers who tire at rate {theta}: send {best[0]} a week")
