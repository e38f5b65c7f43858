"""Off-policy estimates straight from their definitions, one decision after the other."""

import math


def ips(rewards, weights):
    """The mean of weighted rewards (Horvitz and Thompson 1952)."""
    return sum(w * r for w, r in zip(weights, rewards, strict=True)) / len(rewards)


def snips(rewards, weights):
    """The weighted mean (Swaminathan and Joachims 2015)."""
    return sum(w * r for w, r in zip(weights, rewards, strict=True)) / sum(weights)


def dr(arms, rewards, weights, policy):
    """Doubly robust (Dudik, Langford and Li 2011), with means of earlier rewards as predictions."""
    total = 0.0
    for t, (arm, reward, weight) in enumerate(zip(arms, rewards, weights, strict=True)):
        predicted = []
        for other in range(len(policy)):
            before = [rewards[s] for s in range(t) if arms[s] == other]
            predicted.append(sum(before) / len(before) if before else 0.0)
        expected = sum(p * g for p, g in zip(policy, predicted, strict=True))
        total += expected + weight * (reward - predicted[arm])
    return total / len(arms)


def log_capital(gains, weights, value, shares):
    """The capital of bets on plain weighted gains, that their mean is above ``value``."""
    capitals = []
    for share in shares:
        log = 0.0
        for gain, weight in zip(gains, weights, strict=True):
            log += math.log(1.0 + share * (weight * gain / value - 1.0))
        capitals.append(math.exp(log))
    return math.log(sum(capitals) / len(capitals))
