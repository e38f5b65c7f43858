"""Formulas: what they mean, what is refused and where, and that nothing of them is executed."""

import math
import os
import pickle
import random

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.formulas.evaluation import FUNCTIONS
from globalbandits.model.formulas.parser import (
    MAX_CHARACTERS,
    MAX_STEPS,
)

N_FUZZ = int(os.environ.get("GLOBALBANDITS_FUZZ", "400"))
EXPIT = {"expit": lambda x: 1 / (1 + math.exp(-x)), "logistic": lambda x: 1 / (1 + math.exp(-x))}


@pytest.mark.parametrize(
    "text",
    [
        "arm * (1 - arm*theta)**2",
        "-theta + arm",
        "-theta**2",
        "2**-theta",
        "2**arm**theta",
        "arm / theta / 3 - 1 - 2",
        "+.5e-1 * theta + 3. - 1E2",
        "exp(theta) + expm1(theta) + log(arm) + log1p(theta) + sqrt(arm)",
        "abs(theta - arm) + tanh(theta)",
        "expit(3*theta - arm) + logistic(-arm)",
        "min(theta, arm, 0.5) + max(theta, 0.1)",
        "( theta\n + arm )\t* 2",
        " theta ",
        "7",
    ],
)
def test_a_formula_means_what_python_means(text):
    # The texts above are ours: Python's own evaluation is an independent reference.
    functions = {name: getattr(math, name, None) for name in FUNCTIONS}
    names = functions | EXPIT | {"abs": abs, "min": min, "max": max}
    thetas, arms = np.array([0.1, 0.7, 2.0]), np.array([[0.4], [1.5]])
    found = Expression(text)(thetas, arms)
    code = compile(f"({text})", "formula", "eval")
    expected = [
        [eval(code, {}, names | {"theta": theta, "arm": arm}) for theta in thetas.tolist()]
        for arm in arms[:, 0].tolist()
    ]
    assert found.shape == (2, 3)
    assert found == pytest.approx(np.array(expected, dtype=float), rel=1e-14)
    assert Expression(text)(0.7, 1.5) == pytest.approx(expected[1][1], rel=1e-14)


def test_large_arrays_are_worked_on_in_blocks_with_the_same_numbers():
    formula = Expression("arm * exp(-theta) + min(theta, arm)")
    theta, arm = np.linspace(0, 1, 70_001), np.array([[0.3], [0.9]])
    whole = formula(theta, arm)
    parts = np.concatenate([formula(part, arm) for part in np.array_split(theta, 7)], axis=1)
    assert whole.shape == (2, 70_001)
    assert np.array_equal(whole, parts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mean must be a formula, got an empty text"),
        ("   ", "mean must be a formula, got an empty text"),
        ("thta * arm", r"got 'thta' at character 1 of 'thta \* arm'; did you mean 'theta'\?"),
        ("arm * sin(theta)", "got 'sin' at character 7 of"),
        ("  arm * Exp(theta)", r"got 'Exp' at character 9 of .*did you mean 'exp'\?"),
        ("arm * exp(-theta", r"such as arm \* exp\(-theta\), got '\(-theta' at character 10 of"),
        ("arm theta", "be a formula such as .* got 'theta' at character 5"),
        ("(arm theta)", "be a formula such as .* at character 6"),
        ("arm *", "got 'its end' at character 6"),
        ("arm * * theta", "character 7"),
        ("* theta", "character 1"),
        ("arm * ) theta", "character 7"),
        ("(arm", "character 1"),
        ("arm * ((theta - 2)", "character 7"),
        ("arm)", "character 4"),
        ("exp(theta,)", "character 11"),
        ("2 (theta)", "character 3"),
        ("arm(theta)", "character 4"),
        ("a" * 2_000, "mean must have at most 1,000 letters, has 2,000"),
        ("theta ** 101", "powers between -100 and 100, got '101' at character 10"),
        ("theta ** (3 ** 5)", r"powers between -100 and 100, got '3 \*\* 5\)' at character 11"),
        ("9**9**9**9 * theta", "powers between -100 and 100, got '9"),
        ("1e999 * theta", r"numbers up to 1e\+100, got '1e999"),
        ("9" * 500, r"numbers up to 1e\+100, got '9999"),
        ("1_000 * theta", "plain numbers, such as 2, 0.5 or 1e-3, got '1_000' at character 1"),
        ("0x10 * theta", "plain numbers, such as .* got '0x10'"),
        ("2j * theta", "plain numbers, such as .* got '2j'"),
        ("1if theta else 2", "plain numbers, such as .* got '1if'"),
        ("exp", r"call exp with \(\.\.\.\), got 'exp' at character 1"),
        ("exp(theta, arm)", "give exp one number, got"),
        ("min(theta)", "give min two or more numbers, got"),
        ("exp()", "character 5"),
        ("exp(*theta)", "character 5"),
        ("exp(**theta)", "character 5"),
        ("exp(theta)(arm)", "character 11"),
        ("theta, arm", "be arithmetic and calls of the known functions"),
        ("(theta", "be a formula such as"),
        ("theta)", "be a formula such as"),
        ("()", "character 2"),
        ("theta // arm", "character 8"),
        ("(" * 250 + "theta" + ")" * 250, "be a formula such as"),
        ("-" * 990 + "theta", "have at most 100 parts inside each other"),
        ("+".join(["theta"] * 130), "have at most"),
        ("theta*theta" * 1 + "+1" * 95 + "*1" * 60, "have at most"),
    ],
)
def test_what_is_refused_is_named_with_its_place(text, message):
    with pytest.raises(ModelError, match=message):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "theta.__class__",
        "().__class__.__bases__[0].__subclasses__()",
        "eval('1')",
        "exec('1')",
        "open('x')",
        "lambda: 1",
        "(lambda t: t)(theta)",
        "[t for t in arm]",
        "{theta}",
        "theta if arm else 1",
        "theta and arm",
        "not theta",
        "theta < arm",
        "theta := 1",
        "f'{theta}'",
        "'theta'",
        "b'a'",
        "theta[0]",
        "theta @ arm",
        "theta % 2",
        "theta << 9",
        "~theta",
        "theta | arm",
        "await theta",
        "yield",
        "...",
        "True",
        "None",
        "theta; arm",
        "theta = 1",
        "import os",
        "globals()",
        "np.exp(theta)",
        "\uff54heta",
        "thet\u0430",
        "theta\x00",
        "theta\x0b+1",
        "\ufefftheta",
        "theta # a note",
        "theta \\\n + 1",
        "print(theta)",
        "breakpoint()",
        "type(theta)",
        "getattr(theta, arm)",
        "exp.__globals__",
        "min.__self__",
    ],
)
def test_hostile_texts_are_refused(text):
    with pytest.raises(ModelError, match="mean must"):
        Expression(text)


@pytest.mark.parametrize("text", [None, 3, b"theta", ["theta"], 1.5])
def test_only_texts_are_formulas(text):
    with pytest.raises(ModelError, match="mean must be a text with a formula, got"):
        Expression(text)


def test_fuzzed_texts_are_formulas_or_errors_of_ours():
    source = random.Random(17)
    words = [*FUNCTIONS, "theta", "arm", "lambda", "__import__", "x", "if", "0x", "1e", "e5", "j"]
    signs = [*"+-*/(),.[]{}:;=<>!'\"\\@%&|^~# \t\n\x00é中\U0001d7d9_", "**", "//", "0", "9", "1e9"]
    n_good = 0
    for _ in range(N_FUZZ):
        if source.random() < 0.5:
            text = _grown(source, 0)
        else:
            text = "".join(source.choice(words + signs * 2) for _ in range(source.randint(1, 40)))
        if source.random() < 0.3 and text:
            cut = source.randrange(len(text))
            text = text[:cut] + chr(source.randint(0, 0x2FFF)) + text[cut + 1 :]
        try:
            formula = Expression(text)
        except ModelError:
            continue
        n_good += 1
        assert formula(np.array([0.2, 0.9]), 0.5).shape == (2,)
    assert n_good > N_FUZZ / 10  # the fuzz reaches what is behind the reader, too


def _grown(source, depth):
    """A random formula that is mostly well formed."""
    kind = source.random()
    if depth > 6 or kind < 0.3:
        return source.choice(["theta", "arm", "2", "0.5", "1e-3", "3.", ".25"])
    if kind < 0.5:
        inner = ", ".join(_grown(source, depth + 1) for _ in range(source.randint(1, 2)))
        return f"{source.choice(list(FUNCTIONS))}({inner})"
    if kind < 0.6:
        return f"-{_grown(source, depth + 1)}"
    sign = source.choice([" + ", "-", "*", "/", "**"])
    return f"({_grown(source, depth + 1)}{sign}{_grown(source, depth + 1)})"


def test_the_limits_are_the_stated_ones():
    Expression("theta" + "+theta" * ((MAX_STEPS - 1) // 5))
    Expression("theta" + " " * (MAX_CHARACTERS - 5))


def test_models_take_formulas_and_pickle():
    arms = [0.4, 0.6, 0.8]
    code = gb.RewardModel(lambda t, p: p * (1 - p * t) ** 2, arms, value=lambda m, p: (p + 0.1) * m)
    text = gb.RewardModel("arm * (1 - arm*theta)**2", arms, value="(arm + 0.1) * mean")
    again = pickle.loads(pickle.dumps(text))
    for model in (text, again):
        assert model.fingerprint == code.fingerprint
        assert np.array_equal(model.worth(0.3), code.worth(0.3))
        assert model.regions == code.regions
        assert model.resolution == 0.0
    assert again.to_dict() == text.to_dict()
    assert Expression("arm") == Expression("arm") != Expression("arm + 0")
    assert len({Expression("arm"), Expression("arm")}) == 1
    assert repr(Expression("arm * theta")) == "Expression('arm * theta')"


def test_a_formula_of_labelled_arms_may_not_use_the_label():
    with pytest.raises(ModelError, match="arms must be numbers where the formula of the mean uses"):
        gb.RewardModel("arm * theta", ["low", "high"])
    with pytest.raises(ModelError, match="arms must be numbers where the formula of the value use"):
        gb.RewardModel.from_functions(["theta", "1 - theta"], ["low", "high"], value="arm * mean")
    model = gb.RewardModel.from_functions(["theta", "1 - theta"], ["low", "high"], value="mean**2")
    assert model.worth(0.2) == pytest.approx([0.04, 0.64])


def test_formulas_per_arm_may_use_only_theta():
    with pytest.raises(ModelError, match=r"functions\[1\] must use only theta, .* got 'arm'"):
        gb.RewardModel.from_functions(["theta", "arm * theta"])
    with pytest.raises(ModelError, match=r"values\[0\] must use only mean, .* got 'theta'"):
        gb.RewardModel.from_functions(["theta"], values=["theta"])
    with pytest.raises(ModelError, match="values must not be given together with value"):
        gb.RewardModel.from_functions(["theta"], value="mean", values=["mean"])


def test_a_mean_that_is_neither_function_nor_text_is_refused():
    with pytest.raises(ModelError, match=r"mean must be a function of \(theta, arm\), or a text"):
        gb.RewardModel(3, [1.0])
    with pytest.raises(ModelError, match=r"value must be a function of \(mean, arm\), or a text"):
        gb.RewardModel("arm * theta", [1.0], value=3)


def test_a_formula_that_leaves_its_domain_is_named_as_any_mean_is():
    with pytest.raises(ModelError, match=r"mean of arm 1\.0 must be finite, got nan at theta = 0"):
        gb.RewardModel("sqrt(theta - 0.5)", [1.0])
    with pytest.raises(ModelError, match=r"mean of arm 1\.0 must be finite, got inf"):
        gb.RewardModel("1 / (theta - 0.5)", [1.0], reward_range=(-1e9, 1e9))


def test_exprel_has_a_value_at_zero():
    formula = Expression("exprel(theta)", ("theta",))
    x = np.array([-40.0, -1.5, -1e-3, -1e-300, 0.0, 1e-300, 1e-3, 1.5, 40.0])
    expected = [math.expm1(each) / each if each else 1.0 for each in x]
    assert formula(x) == pytest.approx(expected, rel=1e-15)


def test_constants_are_part_of_a_formula():
    formula = Expression("(arm / reference)**power", constants={"reference": 2.0, "power": 150.0})
    assert formula(0.0, 2.0) == 1.0
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert formula != Expression(formula.text, constants={"reference": 2.0, "power": 3.0})
    assert repr(formula).endswith("constants={'reference': 2.0, 'power': 150.0})")
    with pytest.raises(ModelError, match="use only theta and arm"):
        Expression("(arm / refrence)**power", constants={"reference": 2.0, "power": 150.0})


@pytest.mark.parametrize("shape", [(200_000,), (1, 200_000), (3, 70_000), (900, 200)])
def test_large_arrays_are_evaluated_in_blocks(shape):
    formula = Expression("exp(-theta*arm) + log(arm)/3")
    theta = np.linspace(0.0, 1.0, shape[-1])
    arm = np.linspace(0.5, 2.0, shape[0])[:, None] if len(shape) > 1 else np.array(0.7)
    expected = np.exp(-theta * arm) + np.log(arm) / 3
    assert np.array_equal(formula(theta, arm), np.broadcast_to(expected, shape))


def test_a_formula_that_is_one_name_returns_a_new_array():
    theta = np.linspace(0.0, 1.0, 5)
    found = Expression("theta", ("theta",))(theta)
    assert found is not theta
    assert np.array_equal(found, theta)
