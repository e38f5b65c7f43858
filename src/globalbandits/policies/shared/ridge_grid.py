"""The ridge grid: a few points of the unit square that follow a posterior of two numbers.

A good policy plays one arm nearly always. The posterior of two numbers is then a long, thin and
curved ridge, which no fixed grid resolves. The points are laid in these steps:

- The density on 16 x 16 coarse cells gives a first point, Fisher scoring leads to the mode.
- The information at the mode has a strong and a weak direction. A march along the weak one follows
  the top of the ridge to both sides, until 13 nats are lost or the square ends.
- Slices cross the ridge along the strong direction, each between the points where 8 nats are lost.
  A slice has a few equidistant points. They are shifted from slice to slice by the golden ratio,
  because the regions of the best arms are often parallel to an axis.
- A coarse cell outside of the slices that is nearly as likely as the mode starts another ridge.

Three numbers have a stack of such grids. The third number is cut into sheets, each with the ridges
of the other two. A window of the third number is narrowed until most of its sheets matter.

Everything is a function of the density, so a posterior on these points is one of counts and sums.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.vector_tables import MEAN_MARGIN, VectorTables

N_COARSE = 16  # coarse cells per axis
MAX_RIDGES = 3
MAX_STEPS = 40  # of a march to one side
N_SHEETS = 11  # of a third number
# A window of sheets is narrowed until this number of them are within SLICE_NATS of the best one.
MIN_SHEETS = 7

# Loss of log density, from the mode, at which a march along the ridge ends.
RIDGE_NATS = 13.0
# Loss of log density, from the top of a slice, at which the slice ends.
SLICE_NATS = 8.0
# An uncovered coarse cell with less than this loss from the mode starts another ridge.
MODE_NATS = 4.0

# Width of a slice in the middle of a bell-shaped ridge, relative to slices of equal width.
_MIDDLE_SLICE_WIDTH = 0.4
_GOLDEN_SECTION = 0.6180339887498949
_MIN_INFORMATION = 1e-9  # added to an information that may be 0
NEVER = -1e300  # logarithm of an impossible odds


class Box(NamedTuple):
    """The curves over the unit square, the prior, and the size of the grid."""

    nodes: FloatArray  # (n, n, n_arms) means of the arms on the unit scale, at equidistant nodes
    coarse: FloatArray  # (n_cells, n_arms) means in the middles of the coarse cells
    coarse_odds: FloatArray  # (n_cells, n_arms) log(m / (1 - m))
    coarse_rests: FloatArray  # (n_cells, n_arms) log(1 - m)
    prior: FloatArray  # (5,) mean x, y and precision xx, xy, yy of a normal prior; 0 if uniform
    # (2,) For a log-normal prior of a number: the lower end of its domain, divided by the length.
    # The prior above is then one of log(offset + x). Negative for a normal prior.
    offsets: FloatArray
    n_slices: int
    n_inner: int  # points of a slice
    monotone: bool  # whether every mean is monotone in every number, so that modes are rare
    # (n, n, n, n_arms) the means over three numbers; empty for fewer. The fields above are then
    # those of the first two numbers at one value of the third.
    solid: FloatArray
    depth_prior: FloatArray  # (3,) mean, precision and offset of the prior of the third number


class UnitPrior(NamedTuple):
    """A prior on the unit square or cube, as the fields of `Box`."""

    normal: FloatArray  # (5,)
    offsets: FloatArray  # (2,)
    depth: FloatArray  # (3,)


class Density(NamedTuple):
    """The evidence of the arms' rewards about their means m_k.

    The density is ``prod_k exp(-n_k kl(x_k, m_k))`` with the divergence of Bernoulli rewards, times
    the odds of the arm that is most likely an exception, if they are above 1. If n_k is the number
    of rewards and x_k their mean, this is the likelihood of Bernoulli rewards.
    """

    weights: FloatArray  # (n_arms,) n_k; 0 without rewards
    own: FloatArray  # (n_arms,) x_k
    entropies: FloatArray  # (n_arms,) of Bernoulli rewards with the mean x_k, times -1
    odds: FloatArray  # (n_arms,) log odds of a near exception whose mean is x_k; NEVER for none
    wide: FloatArray  # (n_arms,) n_k of a near exception
    far_odds: FloatArray  # (n_arms,) log odds of a far exception whose mean is x_k
    far_precisions: FloatArray  # (n_arms,) of its mean, which is Normal


class Grid(NamedTuple):
    """The points, and scratch arrays for laying them."""

    n_points: IntArray  # (1,)
    n_ridges: IntArray  # (1,)
    points: FloatArray  # (max_points, 3) in the unit cube; the third number is 0 if there is none
    log_areas: FloatArray  # (max_points,) of the part of the square that a point represents
    means: FloatArray  # (max_points, n_arms)
    sides: FloatArray  # (max_points, 4) the sides of that part: across x, y, along x, y
    frames: FloatArray  # (MAX_RIDGES, 4) mode x, y and the strong direction
    edges: FloatArray  # (MAX_RIDGES, n_slices + 1) of the slices, along the weak direction
    spans: FloatArray  # (MAX_RIDGES, n_slices, 2) ends of the slices, along the strong direction
    paths: FloatArray  # (2, MAX_STEPS, 3) steps of the marches: along, across, value
    seen: FloatArray  # (n_cells,) log density in the coarse cells
    local: FloatArray  # (6,) value, gradient and information at a point
    across: FloatArray  # (4,) place, value, slope and information at the top of a chord
    basis: FloatArray  # (4, 4) weights of the nodes and of their slopes, x and y
    rows: FloatArray  # (3, n_arms) means at a point, and their slopes in x and y


def no_grid(box: Box) -> Grid:
    """Empty arrays."""
    n_arms, most = box.coarse.shape[1], MAX_RIDGES * box.n_slices * box.n_inner
    if box.solid.size:
        most *= N_SHEETS
    return Grid(
        n_points=np.zeros(1, np.int64),
        n_ridges=np.zeros(1, np.int64),
        points=np.zeros((most, 3)),
        log_areas=np.zeros(most),
        means=np.zeros((most, n_arms)),
        sides=np.zeros((most, 4)),
        frames=np.zeros((MAX_RIDGES, 4)),
        edges=np.zeros((MAX_RIDGES, box.n_slices + 1)),
        spans=np.zeros((MAX_RIDGES, box.n_slices, 2)),
        paths=np.zeros((2, MAX_STEPS, 3)),
        seen=np.zeros(box.coarse.shape[0]),
        local=np.zeros(6),
        across=np.zeros(4),
        basis=np.zeros((4, 4)),
        rows=np.zeros((3, n_arms)),
    )


def no_density(n_arms: int) -> Density:
    """No rewards, and no exceptions."""
    density = Density(*(np.zeros(n_arms) for _ in Density._fields))
    density.odds[:] = NEVER
    density.far_odds[:] = NEVER
    return density


# Means at a point, by cubic interpolation.


def set_basis(x: float, n: int, weights: FloatArray, slopes: FloatArray) -> int:
    """Set four Lagrange weights and their slopes at x in [0, 1]; return the first node."""
    place = x * (n - 1)
    node = 1
    # The comparison is False for nan, which must not become an index.
    if place >= 2.0:
        node = min(int(place), n - 3)
    t = place - node
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    weights[0] = -t * b * c / 6.0
    weights[1] = a * b * c / 2.0
    weights[2] = -a * t * c / 2.0
    weights[3] = a * t * b / 6.0
    slopes[0] = -(b * c + t * c + t * b) / 6.0 * (n - 1)
    slopes[1] = (b * c + a * c + a * b) / 2.0 * (n - 1)
    slopes[2] = -(t * c + a * c + a * t) / 2.0 * (n - 1)
    slopes[3] = (t * b + a * b + a * t) / 6.0 * (n - 1)
    return node - 1


def means_at(nodes: FloatArray, x: float, y: float, basis: FloatArray, means: FloatArray) -> None:
    """Compute the means of all arms at a point of the unit square.

    The number of the 16 nodes around the point is read from an array, because a compiler that
    knows it writes the inner loop 16 times.
    """
    i = set_basis(x, nodes.shape[0], basis[0], basis[1])
    j = set_basis(y, nodes.shape[1], basis[2], basis[3])
    n_nodes = basis.shape[0] * basis.shape[1]
    for k in range(means.shape[0]):
        means[k] = 0.0
    for node in range(n_nodes):
        a, b = node // 4, node % 4
        weight = basis[0, a] * basis[2, b]
        row = nodes[i + a, j + b]
        for k in range(means.shape[0]):
            means[k] += weight * row[k]
    for k in range(means.shape[0]):
        means[k] = min(max(means[k], MEAN_MARGIN), 1.0 - MEAN_MARGIN)


def slopes_at(nodes: FloatArray, x: float, y: float, basis: FloatArray, rows: FloatArray) -> None:
    """Compute means and slopes of all arms at a point of the unit square."""
    i = set_basis(x, nodes.shape[0], basis[0], basis[1])
    j = set_basis(y, nodes.shape[1], basis[2], basis[3])
    n_nodes = basis.shape[0] * basis.shape[1]
    means, in_x, in_y = rows[0], rows[1], rows[2]
    n_arms = rows.shape[1]
    for k in range(n_arms):
        means[k] = 0.0
        in_x[k] = 0.0
        in_y[k] = 0.0
    for node in range(n_nodes):
        a, b = node // 4, node % 4
        weight = basis[0, a] * basis[2, b]
        weight_x = basis[1, a] * basis[2, b]
        weight_y = basis[0, a] * basis[3, b]
        row = nodes[i + a, j + b]
        for k in range(n_arms):
            means[k] += weight * row[k]
            in_x[k] += weight_x * row[k]
            in_y[k] += weight_y * row[k]
    for k in range(n_arms):
        means[k] = min(max(means[k], MEAN_MARGIN), 1.0 - MEAN_MARGIN)


# The log density and its derivatives.


def log_prior(box: Box, x: float, y: float) -> float:
    """Return the logarithm of the prior density, up to a constant."""
    p = box.prior
    jacobian = 0.0
    if box.offsets[0] >= 0.0:
        x = math.log(box.offsets[0] + x)
        jacobian -= x
    if box.offsets[1] >= 0.0:
        y = math.log(box.offsets[1] + y)
        jacobian -= y
    dx, dy = x - p[0], y - p[1]
    return float(jacobian - 0.5 * (p[2] * dx * dx + 2.0 * p[3] * dx * dy + p[4] * dy * dy))


def derive_prior(box: Box, x: float, y: float, local: FloatArray) -> None:
    """Set the gradient and the information of `local` to those of the prior."""
    p = box.prior
    # The slopes of the prior's coordinates, 1 for a normal prior.
    slope_x, slope_y = 1.0, 1.0
    local[1], local[2] = 0.0, 0.0
    if box.offsets[0] >= 0.0:
        slope_x = 1.0 / (box.offsets[0] + x)
        x = -math.log(slope_x)
        local[1] = -slope_x
    if box.offsets[1] >= 0.0:
        slope_y = 1.0 / (box.offsets[1] + y)
        y = -math.log(slope_y)
        local[2] = -slope_y
    dx, dy = x - p[0], y - p[1]
    local[1] -= (p[2] * dx + p[3] * dy) * slope_x
    local[2] -= (p[3] * dx + p[4] * dy) * slope_y
    local[3], local[4] = p[2] * slope_x * slope_x, p[3] * slope_x * slope_y
    local[5] = p[4] * slope_y * slope_y


def log_density(box: Box, density: Density, means: FloatArray, x: float, y: float) -> float:
    """Return the log density at a point with these means, up to a constant."""
    value = log_prior(box, x, y)
    weights, own = density.weights, density.own
    odds = 0.0
    for k in range(means.shape[0]):
        if weights[k] > 0.0:
            rest = math.log(1.0 - means[k])
            gap = density.entropies[k] - own[k] * (math.log(means[k]) - rest) - rest
            value -= weights[k] * gap
            if density.odds[k] > NEVER:
                odds = max(odds, exception_odds(density, k, gap, means[k]))
    return value + odds


def exception_odds(density: Density, arm: int, gap: float, mean: float) -> float:
    """Return the log odds of the likelier kind of exception, given the arm's divergence."""
    near = density.odds[arm] + (density.weights[arm] - density.wide[arm]) * gap
    distance = density.own[arm] - mean
    far = density.far_odds[arm] + density.weights[arm] * gap
    far -= 0.5 * density.far_precisions[arm] * distance * distance
    return float(max(near, far))


def value_at(box: Box, density: Density, grid: Grid, x: float, y: float) -> float:
    """Return the log density at a point, up to a constant."""
    means_at(box.nodes, x, y, grid.basis, grid.rows[0])
    return log_density(box, density, grid.rows[0], x, y)


def derive_at(box: Box, density: Density, grid: Grid, x: float, y: float) -> None:
    """Set `local`: the log density at a point, its gradient and its information."""
    slopes_at(box.nodes, x, y, grid.basis, grid.rows)
    local, means, in_x, in_y = grid.local, grid.rows[0], grid.rows[1], grid.rows[2]
    weights, own = density.weights, density.own
    exception = -1
    largest = 0.0
    is_far = False
    for k in range(means.shape[0]):
        if weights[k] > 0.0 and density.odds[k] > NEVER:
            rest = math.log(1.0 - means[k])
            gap = density.entropies[k] - own[k] * (math.log(means[k]) - rest) - rest
            odds = exception_odds(density, k, gap, means[k])
            if odds > largest:
                exception, largest = k, odds
                near = density.odds[k] + (weights[k] - density.wide[k]) * gap
                is_far = near < odds
    local[0] = log_density(box, density, means, x, y)
    derive_prior(box, x, y, local)
    for k in range(means.shape[0]):
        precision = weights[k]
        if not precision > 0.0:
            continue
        if k == exception:
            precision = density.wide[k]
        precision /= means[k] * (1.0 - means[k])
        if k == exception and is_far:
            precision = density.far_precisions[k]
        pull = precision * (own[k] - means[k])
        local[1] += pull * in_x[k]
        local[2] += pull * in_y[k]
        local[3] += precision * in_x[k] * in_x[k]
        local[4] += precision * in_x[k] * in_y[k]
        local[5] += precision * in_y[k] * in_y[k]


# The grid.


def lay_grid(box: Box, density: Density, grid: Grid) -> None:
    """Lay the points of a density of two numbers."""
    grid.n_points[0] = 0
    lay_ridges(box, density, grid)


def lay_ridges(box: Box, density: Density, grid: Grid) -> None:
    """Add the points of a density of two numbers to those of the grid."""
    cell = scan_coarse(box, density, grid)
    seen_best = grid.seen[cell]
    grid.n_ridges[0] = 0
    top = NEVER
    for ridge in range(grid.frames.shape[0]):
        x, y = cell_middle(cell)
        top = max(top, lay_ridge(box, density, grid, ridge, x, y))
        grid.n_ridges[0] = ridge + 1
        # A narrow mode lies between the coarse cells. Its nearest cell is compared with the best
        # cell, which has the same handicap.
        least = top - MODE_NATS if box.monotone else seen_best - MODE_NATS
        cell = best_uncovered(grid, least)
        if cell < 0:
            break


def cell_middle(cell: int) -> tuple[float, float]:
    """Return the middle of a coarse cell.

    >>> cell_middle(17)
    (0.09375, 0.09375)
    """
    return (cell // N_COARSE + 0.5) / N_COARSE, (cell % N_COARSE + 0.5) / N_COARSE


def scan_coarse(box: Box, density: Density, grid: Grid) -> int:
    """Compute the density in the coarse cells, and return the likeliest one."""
    seen, n_arms = grid.seen, box.coarse.shape[1]
    best = 0
    for cell in range(seen.shape[0]):
        x, y = cell_middle(cell)
        value, odds = log_prior(box, x, y), 0.0
        log_odds, rests = box.coarse_odds[cell], box.coarse_rests[cell]
        for k in range(n_arms):
            weight = density.weights[k]
            if weight > 0.0:
                gap = density.entropies[k] - density.own[k] * log_odds[k] - rests[k]
                value -= weight * gap
                if density.odds[k] > NEVER:
                    odds = max(odds, exception_odds(density, k, gap, box.coarse[cell, k]))
        seen[cell] = value + odds
        if seen[cell] > seen[best]:
            best = cell
    return best


def best_uncovered(grid: Grid, least: float) -> int:
    """Return the likeliest coarse cell outside of all ridges, of at least this log density; or -1.

    A cell within its own width of a slice is covered.
    """
    best = -1
    for cell in range(grid.seen.shape[0]):
        if grid.seen[cell] >= least and (best < 0 or grid.seen[cell] > grid.seen[best]):
            x, y = cell_middle(cell)
            if not is_covered(grid, grid.n_ridges[0], x, y, 1.0 / N_COARSE):
                best = cell
    return best


def is_covered(grid: Grid, n_ridges: int, x: float, y: float, slack: float) -> bool:
    """Whether a slice of the first ridges contains a point, or has it within ``slack``."""
    for ridge in range(n_ridges):
        frame, edges = grid.frames[ridge], grid.edges[ridge]
        ux, uy = frame[2], frame[3]
        across = (x - frame[0]) * ux + (y - frame[1]) * uy
        along = (y - frame[1]) * ux - (x - frame[0]) * uy
        n_slices = edges.shape[0] - 1
        if edges[0] - slack <= along <= edges[n_slices] + slack:
            piece = 0
            while piece < n_slices - 1 and edges[piece + 1] <= along:
                piece += 1
            span = grid.spans[ridge, piece]
            if span[0] - slack <= across <= span[1] + slack:
                return True
    return False


def lay_ridge(
    box: Box, density: Density, grid: Grid, ridge: int, start_x: float, start_y: float
) -> float:
    """Lay the points of the ridge near a start, and return the log density at its top."""
    local = grid.local
    x, y = find_mode(box, density, grid, start_x, start_y)
    top = local[0]
    # Eigenvectors of the information: u is the strong direction, (-u_y, u_x) the weak one.
    middle, half = 0.5 * (local[3] + local[5]), 0.5 * (local[3] - local[5])
    radius = math.sqrt(half * half + local[4] * local[4])
    ux, uy = 1.0, 0.0
    if radius >= _MIN_INFORMATION * middle and middle >= 1.0:
        ux, uy = (half + radius, local[4]) if half >= 0.0 else (local[4], radius - half)
        length = math.sqrt(ux * ux + uy * uy)
        ux, uy = ux / length, uy / length
    frame = grid.frames[ridge]
    frame[0], frame[1], frame[2], frame[3] = x, y, ux, uy
    deviation = 1.0 / math.sqrt(max(middle - radius, 0.0) + _MIN_INFORMATION)
    low, high = 0.0, 0.0
    for corner in range(4):
        along = (corner // 2 - y) * ux - (corner % 2 - x) * uy
        low, high = min(low, along), max(high, along)
    n_left = march(box, density, grid, ridge, 0, -low, deviation, top)
    n_right = march(box, density, grid, ridge, 1, high, deviation, top)
    cut_slices(grid, ridge, n_left, n_right, top)
    highest = top
    for piece in range(box.n_slices):
        n_steps = n_right if grid.edges[ridge, piece] + grid.edges[ridge, piece + 1] > 0 else n_left
        highest = max(highest, lay_slice(box, density, grid, ridge, piece, n_steps))
    return float(highest)


def find_mode(box: Box, density: Density, grid: Grid, x: float, y: float) -> tuple[float, float]:
    """Return the mode near a point, by Fisher scoring inside the square; `local` is set there."""
    local = grid.local
    derive_at(box, density, grid, x, y)
    for _ in range(25):
        gx, gy = local[1], local[2]
        fixed_x = (x <= 0.0 and gx < 0.0) or (x >= 1.0 and gx > 0.0)
        fixed_y = (y <= 0.0 and gy < 0.0) or (y >= 1.0 and gy > 0.0)
        if fixed_x and fixed_y:
            break
        hxx, hxy, hyy = local[3] + _MIN_INFORMATION, local[4], local[5] + _MIN_INFORMATION
        det = hxx * hyy - hxy * hxy
        if fixed_x:
            step_x, step_y = 0.0, gy / hyy
        elif fixed_y:
            step_x, step_y = gx / hxx, 0.0
        elif det > 1e-9 * hxx * hyy:
            step_x, step_y = (hyy * gx - hxy * gy) / det, (hxx * gy - hxy * gx) / det
        else:
            step_x, step_y = gx / (hxx + hyy), gy / (hxx + hyy)
        # A step covers at most half of the square.
        scale = min(1.0, 0.5 / max(abs(step_x), abs(step_y), 0.5))
        value = local[0]
        new_x, new_y = x, y
        found = False
        for _ in range(12):
            new_x = min(max(x + scale * step_x, 0.0), 1.0)
            new_y = min(max(y + scale * step_y, 0.0), 1.0)
            if value_at(box, density, grid, new_x, new_y) >= value:
                found = True
                break
            scale *= 0.4
        if not found:
            break
        gain = scale * (step_x * gx + step_y * gy)
        x, y = new_x, new_y
        derive_at(box, density, grid, x, y)
        if local[0] - value < 1e-3 and gain < 1e-2:
            break
    return x, y


def chord_of(x: float, y: float, ux: float, uy: float) -> tuple[float, float]:
    """Return the a for which (x, y) + a (ux, uy) is in the unit square; (1, 0) if there is none.

    >>> chord_of(0.25, 0.5, 1.0, 0.0)
    (-0.25, 0.75)
    """
    low, high = -1e9, 1e9
    for place, slope in ((x, ux), (y, uy)):
        if abs(slope) < 1e-12:
            if place < -1e-12 or place > 1.0 + 1e-12:
                return 1.0, 0.0
        else:
            one, other = -place / slope, (1.0 - place) / slope
            low, high = max(low, min(one, other)), min(high, max(one, other))
    return low, high


def climb_chord(
    box: Box,
    density: Density,
    grid: Grid,
    line: tuple[float, float, float, float],
    ends: tuple[float, float],
    place: float,
) -> None:
    """Set `across`: the top of a chord, by Newton's method from ``place``.

    Args:
        box: the curves.
        density: the density.
        grid: receives the result.
        line: a point of the chord, and its direction.
        ends: the ends of the chord.
        place: where to start.
    """
    x, y, ux, uy = line
    low, high = ends
    local = grid.local
    place = min(max(place, low), high)
    derive_at(box, density, grid, x + place * ux, y + place * uy)
    for _ in range(12):
        slope = local[1] * ux + local[2] * uy
        information = (
            local[3] * ux * ux + 2.0 * local[4] * ux * uy + local[5] * uy * uy + _MIN_INFORMATION
        )
        new = min(max(place + slope / information, low), high)
        if abs(new - place) * math.sqrt(information) < 0.1 or abs(new - place) < 1e-12:
            break
        # Nearly every step succeeds, so the derivatives at its end are computed at once.
        value = local[0]
        derive_at(box, density, grid, x + new * ux, y + new * uy)
        for _ in range(10):
            if local[0] >= value:
                break
            new = place + 0.4 * (new - place)
            derive_at(box, density, grid, x + new * ux, y + new * uy)
        if not local[0] >= value:
            derive_at(box, density, grid, x + place * ux, y + place * uy)
            break
        place = new
        if local[0] - value < 1e-3:
            break
    grid.across[0] = place
    grid.across[1] = local[0]
    grid.across[2] = local[1] * ux + local[2] * uy
    grid.across[3] = local[3] * ux * ux + 2.0 * local[4] * ux * uy + local[5] * uy * uy


def march(
    box: Box,
    density: Density,
    grid: Grid,
    ridge: int,
    side: int,
    room: float,
    deviation: float,
    top: float,
) -> int:
    """Follow the top of the ridge from the mode to one side, and return the number of steps.

    Newton's method from the mode cannot reach a slice of a curved ridge that is far away. So each
    step starts where the last one points to. Its length is adapted to lose between .5 and 4 nats.

    Args:
        box: the curves.
        density: the density.
        grid: `paths` receives the steps.
        ridge: number of the ridge, whose frame is set.
        side: 0 for the left side, 1 for the right one.
        room: distance to the last corner of the square.
        deviation: standard deviation along the weak direction, for the first step.
        top: log density at the mode.
    """
    frame, path = grid.frames[ridge], grid.paths[side]
    ux, uy = frame[2], frame[3]
    sign = 2.0 * side - 1.0
    path[0, 0], path[0, 1], path[0, 2] = 0.0, 0.0, top
    step = min(max(0.7 * deviation, 1e-6), 0.25)
    along, across, value, slope = 0.0, 0.0, top, 0.0
    n_steps = 1
    while n_steps < path.shape[0] and along < room:
        new = min(along + step, room)
        # The last corner itself has no chord.
        out = sign * min(new, room * (1.0 - 1e-9))
        x, y = frame[0] - out * uy, frame[1] + out * ux
        ends = chord_of(x, y, ux, uy)
        if ends[0] > ends[1]:
            break
        climb_chord(box, density, grid, (x, y, ux, uy), ends, across + slope * (new - along))
        loss = value - grid.across[1]
        if loss > 6.0 and step > 1e-6:
            step *= 0.4
            continue
        slope = (grid.across[0] - across) / max(new - along, 1e-300)
        along, across, value = new, grid.across[0], grid.across[1]
        path[n_steps, 0], path[n_steps, 1], path[n_steps, 2] = along, across, value
        n_steps += 1
        if top - value > RIDGE_NATS:
            break
        if loss < 0.5:
            step *= 2.0
        elif loss < 1.5:
            step *= 1.3
        elif loss > 4.0:
            step *= 0.7
    return n_steps


def cut_slices(grid: Grid, ridge: int, n_left: int, n_right: int, top: float) -> None:
    """Cut the marched length into slices, which are narrow near the mode of a bell shape.

    The edges are ``w (c s + (1 - c) s**3)`` for equidistant s. A flat density has c = 1, so its
    slices are equal.
    """
    left, right = grid.paths[0, n_left - 1], grid.paths[1, n_right - 1]
    length = max(left[0], right[0])
    edges = grid.edges[ridge]
    n_slices = edges.shape[0] - 1
    lost = top - (left[2] if left[0] > right[0] else right[2])
    c = 1.0 - (1.0 - _MIDDLE_SLICE_WIDTH) * min(1.0, max(0.0, lost / RIDGE_NATS))
    first, last = -cubic_root(c, left[0] / max(length, 1e-300)), 1.0
    if left[0] > right[0]:
        first, last = -1.0, cubic_root(c, right[0] / length)
    for edge in range(n_slices + 1):
        s = first + (last - first) * edge / n_slices
        edges[edge] = length * (c * s + (1.0 - c) * s * s * s)


def cubic_root(c: float, value: float) -> float:
    """Return the s in [0, 1] with ``c s + (1 - c) s**3 = value``, for c in (0, 1].

    >>> round(cubic_root(0.4, 0.275), 6)
    0.5
    """
    s = value
    for _ in range(20):
        s -= (c * s + (1.0 - c) * s * s * s - value) / (c + 3.0 * (1.0 - c) * s * s)
    return s


def lay_slice(
    box: Box, density: Density, grid: Grid, ridge: int, piece: int, n_steps: int
) -> float:
    """Lay the points of one slice, and return the log density at its top."""
    frame, edges, span = grid.frames[ridge], grid.edges[ridge], grid.spans[ridge, piece]
    ux, uy = frame[2], frame[3]
    along = 0.5 * (edges[piece] + edges[piece + 1])
    width = edges[piece + 1] - edges[piece]
    x, y = frame[0] - along * uy, frame[1] + along * ux
    span[0], span[1] = 0.0, 0.0
    ends = chord_of(x, y, ux, uy)
    if ends[0] > ends[1] or not width > 0.0:
        return NEVER
    path = grid.paths[1 if along > 0.0 else 0]
    step = 1
    while step < n_steps - 1 and path[step, 0] < abs(along):
        step += 1
    place, drift = 0.0, 0.0
    if n_steps > 1:
        drift = (path[step, 1] - path[step - 1, 1]) / max(path[step, 0] - path[step - 1, 0], 1e-300)
        place = path[step - 1, 1] + (abs(along) - path[step - 1, 0]) * drift
    if along < 0.0:
        drift = -drift
    line = (x, y, ux, uy)
    climb_chord(box, density, grid, line, ends, place)
    place, top, slope = grid.across[0], grid.across[1], grid.across[2]
    reach = 4.5 / math.sqrt(grid.across[3] + _MIN_INFORMATION)
    # At an end of the chord the slope decides how fast the density falls.
    if (place <= ends[0] and slope < -1e-6) or (place >= ends[1] and slope > 1e-6):
        reach = min(reach, 12.0 / abs(slope))
    below = reach_of(box, density, grid, line, place, top, -1.0, reach, place - ends[0])
    above = reach_of(box, density, grid, line, place, top, 1.0, reach, ends[1] - place)
    span[0], span[1] = place - below, place + above
    gap = (below + above) / box.n_inner
    log_area = math.log(max(gap * width, 1e-300))
    shift = (0.5 + _GOLDEN_SECTION * (piece - box.n_slices // 2)) % 1.0
    for inner in range(box.n_inner):
        out = span[0] + (inner + shift) * gap
        px, py = min(max(x + out * ux, 0.0), 1.0), min(max(y + out * uy, 0.0), 1.0)
        if ridge > 0 and is_covered(grid, ridge, px, py, 0.0):
            continue
        point = grid.n_points[0]
        grid.n_points[0] = point + 1
        grid.points[point, 0], grid.points[point, 1] = px, py
        grid.log_areas[point] = log_area
        grid.sides[point, 0], grid.sides[point, 1] = gap * ux, gap * uy
        # The next slice continues where the ridge goes.
        grid.sides[point, 2] = width * (drift * ux - uy)
        grid.sides[point, 3] = width * (drift * uy + ux)
        means_at(box.nodes, px, py, grid.basis, grid.means[point])
    return float(top)


def reach_of(
    box: Box,
    density: Density,
    grid: Grid,
    line: tuple[float, float, float, float],
    place: float,
    top: float,
    sign: float,
    reach: float,
    room: float,
) -> float:
    """Return how far to one side of a slice's top the density is within SLICE_NATS of it."""
    if not room > 0.0:
        return 0.0
    x, y, ux, uy = line
    reach = min(room, reach)
    for _ in range(6):
        out = place + sign * reach
        lost = top - value_at(box, density, grid, x + out * ux, y + out * uy)
        if lost < SLICE_NATS:
            if reach >= room:
                break
            growth = 1.1 * math.sqrt(SLICE_NATS / max(lost, 1e-3))
            reach = min(room, reach * min(2.5, max(1.2, growth)))
        elif lost > 3.0 * SLICE_NATS:
            reach *= max(0.25, 1.1 * math.sqrt(SLICE_NATS / lost))
        else:
            break
    return reach


# Three numbers.


def lay_sheet(box: Box, density: Density, grid: Grid, depth: float, height: float) -> None:
    """Add the points of the sheet at one value of the third number, which is ``height`` high."""
    cut_sheet(box, grid, depth)
    first = grid.n_points[0]
    lay_ridges(box, density, grid)
    log_height = math.log(height) + log_depth_prior(box, depth)
    for point in range(first, grid.n_points[0]):
        grid.points[point, 2] = depth
        grid.log_areas[point] += log_height


def cut_sheet(box: Box, grid: Grid, depth: float) -> None:
    """Set the curves of two numbers of the box to those at one value of the third number."""
    solid, nodes = box.solid, box.nodes
    first = set_basis(depth, solid.shape[2], grid.basis[0], grid.basis[1])
    a, b, c, d = grid.basis[0, 0], grid.basis[0, 1], grid.basis[0, 2], grid.basis[0, 3]
    for i in range(nodes.shape[0]):
        for j in range(nodes.shape[1]):
            column, node = solid[i, j], nodes[i, j]
            for k in range(nodes.shape[2]):
                node[k] = (
                    a * column[first, k]
                    + b * column[first + 1, k]
                    + c * column[first + 2, k]
                    + d * column[first + 3, k]
                )
    for cell in range(box.coarse.shape[0]):
        x, y = cell_middle(cell)
        means = box.coarse[cell]
        means_at(nodes, x, y, grid.basis, means)
        for k in range(means.shape[0]):
            rest = math.log(1.0 - means[k])
            box.coarse_rests[cell, k] = rest
            box.coarse_odds[cell, k] = math.log(means[k]) - rest


def log_depth_prior(box: Box, depth: float) -> float:
    """Return the logarithm of the prior density of the third number, up to a constant."""
    p = box.depth_prior
    jacobian = 0.0
    if p[2] >= 0.0:
        depth = math.log(p[2] + depth)
        jacobian = -depth
    return float(jacobian - 0.5 * p[1] * (depth - p[0]) ** 2)


def find_window(box: Box, density: Density, grid: Grid) -> tuple[float, float]:
    """Return an interval of the third number that contains all sheets that matter."""
    low, high = 0.0, 1.0
    tops = np.empty(N_SHEETS)
    for _ in range(12):
        height = (high - low) / N_SHEETS
        top = -math.inf
        for sheet in range(N_SHEETS):
            depth = low + (sheet + 0.5) * height
            cut_sheet(box, grid, depth)
            x, y = cell_middle(scan_coarse(box, density, grid))
            find_mode(box, density, grid, x, y)
            tops[sheet] = grid.local[0] + log_depth_prior(box, depth)
            top = max(top, tops[sheet])
        first, last = N_SHEETS, 0
        for sheet in range(N_SHEETS):
            if tops[sheet] >= top - SLICE_NATS:
                first, last = min(first, sheet), max(last, sheet)
        if last - first + 1 >= MIN_SHEETS:
            break
        low, high = max(0.0, low + (first - 0.5) * height), min(1.0, low + (last + 1.5) * height)
    return low, high


def build_box(
    tables: VectorTables,
    *,
    n_slices: int,
    n_inner: int,
    prior: UnitPrior | None = None,
) -> Box:
    """Return the curves of a model with one to three unknown numbers.

    A model with one number gets a second one that has no influence.
    """
    n, n_arms = tables.n_nodes, tables.n_arms
    solid = np.zeros((0, 0, 0, n_arms))
    if tables.n_parameters == 1:
        nodes = np.repeat(tables.nodes[:, np.newaxis], 4, axis=1)
    elif tables.n_parameters == 3:
        solid = tables.nodes.reshape(n, n, n, n_arms)
        nodes = solid[:, :, n // 2].copy()
    else:
        nodes = tables.nodes.reshape(n, n, n_arms)
    basis = np.zeros((4, 4))
    coarse = np.zeros((N_COARSE * N_COARSE, n_arms))
    for cell in range(len(coarse)):
        means_at(nodes, *cell_middle(cell), basis, coarse[cell])
    return Box(
        nodes=nodes,
        coarse=coarse,
        coarse_odds=np.log(coarse / (1.0 - coarse)),
        coarse_rests=np.log1p(-coarse),
        prior=np.zeros(5) if prior is None else prior.normal,
        offsets=np.full(2, -1.0) if prior is None else prior.offsets,
        n_slices=n_slices,
        n_inner=n_inner,
        monotone=tables.monotone,
        solid=solid,
        depth_prior=np.array([0.0, 0.0, -1.0]) if prior is None else prior.depth,
    )
