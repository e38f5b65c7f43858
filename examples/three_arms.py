"""The paper's illustration of gap and distance: three arms, one of them best at each parameter.

Run it, or draw it: globalbandits analyze --file examples/three_arms.py --theta 0.5 --plot out.svg
"""

import numpy as np

import globalbandits as gb

model = gb.RewardModel.from_functions(
    [lambda theta: 1 - np.sqrt(theta), lambda theta: 0.8 * theta, lambda theta: theta**2],
    arms=["1 - √θ", "0.8 θ", "θ²"],
)

if __name__ == "__main__":
    for region in model.regions:
        print(f"{model.arms[region.arm]:>7} is best from {region.low:.6f} to {region.high:.6f}")
    print(f"at 0.5: gap {model.suboptimality_gap(0.5):.4f}", end=", ")
    print(f"distance {model.suboptimality_distance(0.5):.4f}")
