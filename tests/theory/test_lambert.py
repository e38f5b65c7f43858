import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import lambertw

from globalbandits.theory import glog, linear_beats_log


def largest_root(x):
    """The y >= 1 with y - log y = log x, by bisection."""
    low, high = 1.0, 2.0 * math.log(x) + 2.0
    while high - low > 1e-13 * high:
        middle = 0.5 * (low + high)
        if middle - math.log(middle) < math.log(x):
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize("x", [2.72, 2.8, 3.0, 10.0, 1e3, 1e12, 1e100, 1e300, 1.7e308])
def test_glog_is_the_root_found_by_search(x):
    # The root is flat at x = e: its own error there is the square root of the search's.
    assert glog(x).item() == pytest.approx(largest_root(x), rel=1e-11)


def test_glog_at_its_ends():
    assert glog(math.e).item() == 1.0
    assert glog(math.inf).item() == math.inf
    assert np.isnan(glog([2.7, 1.0, 0.0, -5.0, math.nan])).all()


def test_glog_satisfies_its_equation_where_the_exponential_is_a_float():
    x = np.geomspace(2.8, 1e300, 500)
    y = glog(x)
    np.testing.assert_allclose(y - np.log(y), np.log(x), rtol=1e-14)
    assert np.all(np.diff(y) > 0)


def test_linear_beats_log_is_where_the_inequality_starts_to_hold_for_good():
    rng = np.random.default_rng(5)
    for factor in rng.uniform(0.1, 300.0, size=200):
        t = np.arange(1, 4_000)
        broken = t[t < factor * np.log(t)]
        expected = broken[-1] + 1 if broken.size else 1
        assert linear_beats_log(factor).item() == expected


@pytest.mark.parametrize("factor", [math.e, 2.72, 2.73, 3.0 / math.log(3.0)])
def test_between_e_and_three_over_log_three_every_integer_satisfies_it(factor):
    t = np.arange(1, 1000)
    assert (t >= factor * np.log(t) - 1e-12).all()
    assert linear_beats_log(factor).item() == 1.0
    assert linear_beats_log(2.7308).item() == 4.0


def test_linear_beats_log_never_overflows():
    found = linear_beats_log([0.0, 1e-300, 2.0, 1e300, 1e307, 1.7e308, math.inf])
    assert found.tolist()[:3] == [1.0, 1.0, 1.0]
    assert found[3] == pytest.approx(1e300 * largest_root(1e300))
    assert found.tolist()[4:] == [math.inf, math.inf, math.inf]


def test_glog_is_exact_to_a_unit_in_the_last_place():
    """Against Newton's method with fifty digits, also next to e, where the root is steep."""
    near = math.e * (1.0 + np.logspace(-15.0, 0.0, 40))
    for x in [*near, *np.logspace(0.5, 308.0, 80), np.nextafter(math.e, 3.0)]:
        y = glog(x).item()
        with localcontext() as context:
            context.prec = 50
            log_x, root = Decimal(float(x)).ln(), Decimal(y)
            for _ in range(6):
                root -= (root - root.ln() - log_x) / (1 - 1 / root)
            assert abs(root - Decimal(y)) <= Decimal(float(np.spacing(y)))


def test_glog_is_scipys_to_rounding_where_scipys_is_exact():
    x = np.logspace(math.log10(3.0), 308.0, 5_000)
    np.testing.assert_array_max_ulp(glog(x), -lambertw(-1.0 / x, -1).real, maxulp=4)
