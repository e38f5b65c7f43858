"""The page in a real browser: create, decide, reward, see it move; token, restart, phone, dark."""

import os
import re
import shutil
from pathlib import Path

import pytest

from globalbandits.service.log import Log
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving, talking
from tests.service.test_contexts import SHOP as SEGMENTS
from tests.service.worlds import MODEL, WAGP

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
SECRET = "a-secret-of-the-operator"
OPTIONS = ServiceOptions(compiled=False, reading_seconds=0.2)
PICTURES = os.environ.get("GLOBALBANDITS_PICTURES")  # a folder for pictures to look at


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def page(browser):
    """A page; an error in its console fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda said: _note(page, said))
    yield page
    context.close()
    assert page.faults == []


def _note(page, said):
    expected = "Failed to load resource" in said.text  # a status that a test provokes
    if said.type == "error" and not expected:
        page.faults.append(said.text)


def learned(log, n, name="shop"):
    for number in range(n):
        decision = log.decide(name, f"{name}-{number}").decision
        log.reward(name, decision.id, (0.1, 0.4, 0.7)[number % 3])


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_create_a_bandit_decide_and_reward(page):
    with serving(SQLiteStore(":memory:"), OPTIONS) as (service, url):
        page.goto(url)
        page.get_by_text("There is no bandit yet.").wait_for()
        page.get_by_role("link", name="Create the first one").click()
        page.get_by_role("img", name=re.compile("Mean reward of each arm. Best: 0.8")).wait_for()
        page.get_by_label("Parameters").fill("cost=0.1")
        page.get_by_role("img", name=re.compile("Worth of each arm")).wait_for()
        page.get_by_label("Prices, lowest").fill("0.4, -1")
        page.get_by_role("alert").filter(has_text="must").wait_for()
        page.get_by_label("Prices, lowest").fill("0.4, 0.6, 0.8")
        page.get_by_label("Name").fill("shop")
        page.get_by_label("Today's price").fill("0.6")
        picture(page, "new")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", name="shop").wait_for()
        page.get_by_text("No reward yet: nothing is known.").wait_for()
        for reward in (0.3, 0.5):
            # By the keyboard alone.
            page.get_by_role("button", name="Decide").focus()
            page.keyboard.press("Enter")
            page.locator("#reward:focus").wait_for()
            page.keyboard.type(str(reward))
            page.keyboard.press("Enter")
            page.get_by_text(f"Learned: reward {reward}").wait_for()
        page.get_by_role("button", name="Decide").click()
        page.get_by_label("Reward of this decision").fill("7")
        page.get_by_role("button", name="Send the reward").click()
        page.get_by_role("alert").filter(has_text="reward must").wait_for()
        page.get_by_role("img", name=re.compile("After 2 rewards theta is about")).wait_for()
        page.get_by_text("of 3 prices can still be best").wait_for()
        page.get_by_text("Nothing speaks against the curves.").wait_for()
        page.get_by_text("No change found.").wait_for()
        page.get_by_text("more than with today's price all the time").wait_for()
        assert page.locator("#latest tbody tr").count() == 3
        # Another client sends rewards: the page updates without a click.
        learned(service.log, 30)
        page.get_by_role("img", name=re.compile("After 32 rewards theta is about")).wait_for()
        page.get_by_text("32 rewards learned").wait_for()


def test_a_token_is_typed_once(page):
    store = SQLiteStore(":memory:")
    with serving(store, OPTIONS._replace(token=SECRET)) as (service, url):
        service.log.create("shop", WAGP)
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_label("Token").fill("wrong-token-of-nobody")
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("This token is not valid here.").wait_for()
        page.get_by_label("Token").fill(SECRET)
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("0 rewards learned").wait_for()
        page.reload()
        page.get_by_text("0 rewards learned").wait_for()
        assert page.context.cookies() == []
        assert page.evaluate("localStorage.length") == 0


def test_the_server_is_restarted_under_the_page(page, tmp_path):
    path = tmp_path / "log.db"
    with serving(SQLiteStore(path), OPTIONS) as (service, url):
        service.log.create("shop", WAGP)
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_text("0 rewards learned").wait_for()
    page.get_by_text("connection lost, trying again").wait_for()
    page.get_by_role("button", name="Decide").click()
    page.get_by_role("alert").filter(has_text="the service does not answer").wait_for()
    port = int(url.rpartition(":")[2])
    with serving(SQLiteStore(path), OPTIONS, port=port) as (service, _):
        page.locator("#connection").filter(has_text="live").wait_for()
        learned(service.log, 3)
        page.get_by_text("3 rewards learned").wait_for()


def test_the_list_comes_back_with_the_server(page):
    with serving(SQLiteStore(":memory:"), OPTIONS) as (_, url):
        page.goto(url)
        page.get_by_text("There is no bandit yet.").wait_for()
    page.evaluate("location.hash = '#/again'")
    page.get_by_text("the service does not answer").wait_for()
    with serving(SQLiteStore(":memory:"), OPTIONS, port=int(url.rpartition(":")[2])):
        page.get_by_text("There is no bandit yet.").wait_for()


def test_a_refused_stream_shows_its_reason(page):
    with serving(SQLiteStore(":memory:"), OPTIONS._replace(most_streams=0)) as (service, url):
        service.log.create("shop", WAGP)
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_text("streams must be at most 0, got one more, trying again").wait_for()


def test_the_main_picture_after_a_refutation_and_remarks(page):
    """What was observed remains, with bars; the highest price is called the end of the offer."""
    with serving(SQLiteStore(":memory:"), OPTIONS) as (service, url):
        log = service.log
        log.create("shop", WAGP | {"policy": {"policy": "ucb1"}, "incumbent": 0.5})
        for number in range(40):
            decision = log.decide("shop", str(number)).decision
            log.reward("shop", decision.id, 1.0 if decision.shown > 2 else 0.0)
        page.goto(f"{url}/#/bandit/shop")
        picture_of = page.locator("#profit svg")
        picture_of.locator("circle").first.wait_for()
        page.get_by_role("img", name=re.compile("dashed: today's price")).wait_for()
        page.locator("#profit .bar-of-dot").first.wait_for(state="attached")
        assert picture_of.locator("circle").count() == page.locator("#profit .bar-of-dot").count()
        for number in range(40, 400):
            decision = log.decide("shop", str(number)).decision
            log.reward("shop", decision.id, 1.0 if decision.shown > 2 else 0.0)
        page.get_by_role(
            "img", name=re.compile("do not follow the curves. Best observed price")
        ).wait_for()
        assert page.locator("#profit .band").count() == 0
        picture(page, "refuted")
        model = {"family": "demand.exponential", "arms": [20.0, 24.0, 30.0], "cost": 12.0}
        log.create("edge", {"model": model, "policy": {"policy": "wagp"}, "seed": 1})
        for number in range(30):
            log.reward("edge", log.decide("edge", str(number)).decision.id, 0.0)
        page.goto(f"{url}/#/bandit/edge")
        page.locator("#now").get_by_text("30.0 is the highest arm on offer").wait_for()
        page.locator("#now").get_by_text("at the upper end of the domain").wait_for()


def test_a_segment_is_chosen(page):
    with serving(SQLiteStore(":memory:"), OPTIONS) as (service, url):
        log = service.log
        log.create("shop", SEGMENTS)
        for number in range(20):
            context = "weekend" if number % 4 == 0 else "weekday"
            decision = log.decide("shop", str(number), context=context).decision
            log.reward("shop", decision.id, float(number % 2))
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_role("img", name=re.compile("^15 decisions")).wait_for()
        page.locator("#latest th", has_text="segment").wait_for()
        page.get_by_label("Segment").select_option("weekend")
        page.get_by_role("img", name=re.compile("^5 decisions")).wait_for()
        page.locator("#contenders").get_by_text("can still be best").wait_for()
        page.get_by_role("button", name="Decide").click()
        page.get_by_text("(decision ").wait_for()
        assert log.store.latest(1, 1)[0].context == "weekend"


@pytest.mark.parametrize("contexts", [None, ["weekday", "weekend"]])
def test_a_shop_with_two_unknown_numbers(page, contexts):
    """Level and slope: the main picture has a band, and each number has a history."""
    model = {
        "family": "demand.exponential",
        "arms": [4.0, 6.0, 8.0],
        "cost": 1.5,
        "level": [0.02, 1.0],
    }
    if contexts:
        model = {
            "mean": "level * exp(0.3*context - slope*arm)",
            "value": "(arm - 1.5) * mean",
            "arms": [4.0, 6.0, 8.0],
            "domain": {"level": [0.02, 0.7], "slope": [0.05, 0.5]},
            "contexts": {name: place for place, name in enumerate(contexts)},
        }
    with serving(SQLiteStore(":memory:"), OPTIONS) as (service, url):
        log = service.log
        log.create("shop", {"model": model, "policy": {"policy": "grid_thompson"}})
        for number in range(40):
            context = contexts[number % 2] if contexts else None
            decision = log.decide("shop", str(number), context=context).decision
            log.reward("shop", decision.id, float(number % 5 == 0))
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_role("img", name=re.compile("^Best .* so far: .*band: what the")).wait_for()
        page.get_by_role("img", name=re.compile("^After 40 rewards the slope that fits")).wait_for()
        page.get_by_role("img", name=re.compile("^Evidence against the curves")).wait_for()
        page.get_by_text("What the unknown numbers can be").wait_for()


def test_names_are_shown_as_text(page):
    arms = ["<img src=x onerror=alert(1)>", "b"]
    with serving(SQLiteStore(":memory:"), OPTIONS) as (_, url):
        model = {"means": ["theta", "1 - theta"], "arms": arms}
        with talking(url) as http:
            answer = http.put(
                "/v1/bandits/shop", json={"model": model, "policy": {"policy": "wagp"}}
            )
            assert answer.status_code == 201, answer.text
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_text(arms[0]).first.wait_for()
        assert page.locator("main img:not([role])").count() == 0


VIOLATIONS = Path(__file__).with_name("violations.js").read_text().partition("\n")[2]


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1200), ("dark", 390)], ids=["desk", "phone in the dark"]
)
def test_the_page_is_accessible(browser, scheme, width):
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    with serving(SQLiteStore(":memory:"), OPTIONS) as (service, url):
        service.log.create("shop", WAGP | {"model": MODEL, "incumbent": 0.5})
        learned(service.log, 120)
        page.goto(f"{url}/#/bandit/shop")
        page.get_by_role("img", name=re.compile("After 120 rewards theta is about")).wait_for()
        page.get_by_text("can still be best").first.wait_for()
        page.get_by_role("img", name=re.compile("Best price so far")).wait_for()
        page.locator("#earnings .big").wait_for()
        page.locator("#latest tbody tr").first.wait_for()
        picture(page, f"bandit-{scheme}-{width}")
        assert page.evaluate(VIOLATIONS) == []
        axe = os.environ.get("GLOBALBANDITS_AXE")  # axe.min.js of the package axe-core
        if axe:
            page.evaluate(Path(axe).read_text())
            report = page.evaluate("async () => await axe.run()")
            bad = ("serious", "critical")
            assert [one["id"] for one in report["violations"] if one["impact"] in bad] == []
        page.goto(f"{url}/#/new")
        page.get_by_role("img", name=re.compile("Mean reward of each arm")).wait_for()
        assert page.evaluate(VIOLATIONS) == []
        page.goto(f"{url}/#/")
        page.get_by_role("link", name="shop").first.wait_for()
        assert page.evaluate(VIOLATIONS) == []
    context.close()


def test_files_of_the_page_are_served_without_a_token():
    with (
        serving(SQLiteStore(":memory:"), OPTIONS._replace(token=SECRET)) as (_, url),
        talking(url) as http,
    ):
        for path, media in (("/", "text/html"), ("/page.js", "text/javascript")):
            answer = http.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(media)
            assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert http.post("/").status_code == 405
        assert http.get("/page/../app.py").status_code == 404


def test_data_of_the_page_agree_with_the_library(tmp_path):
    """Curves, history, latest decisions and the catalogue, against the library itself."""
    with serving(SQLiteStore(tmp_path / "s"), OPTIONS) as (service, url), talking(url) as http:
        log: Log = service.log
        log.create("shop", WAGP | {"incumbent": 0.5})
        learned(log, 40)
        log.retract("shop", log.decide("shop", "shop-7").decision.id)
        model = log.bandit("shop").learner.model
        drawn = http.get("/v1/bandits/shop/curves").json()
        place = drawn["thetas"].index(0.5)
        assert [ys[place] for ys in drawn["means"]] == pytest.approx(model.means(0.5).tolist())
        assert [ys[place] for ys in drawn["worths"]] == pytest.approx(model.worth(0.5).tolist())
        assert http.post("/v1/models:preview", json={"model": MODEL}).json() == drawn
        wrong = http.post("/v1/models:preview", json={"model": {"family": "none", "arms": [1]}})
        assert wrong.status_code == 422
        latest = http.get("/v1/bandits/shop/decisions?limit=3").json()["decisions"]
        assert [one["state"] for one in latest] == ["rewarded"] * 3
        assert len(http.get("/v1/bandits/shop/decisions").json()["decisions"]) == 20
        families = {one["family"] for one in http.get("/v1/catalogue").json()["families"]}
        assert "demand.linear_power" in families
        while (answer := http.get("/v1/bandits/shop/history")).status_code == 202:
            pass
        points = answer.json()["points"]
        assert points[-1]["version"] == 41
        learner = log.bandit("shop").learner
        span = learner.interval()
        assert (points[-1]["low"], points[-1]["high"]) == (span.low, span.high)
        assert points[-1]["log_e_value"] == learner.evidence_against_model().log_e_value
        while (answer := http.get("/v1/bandits/shop/evidence")).status_code == 202:
            pass
        earnings = answer.json()["evidence"]["earnings"]
        assert earnings["amount"] == pytest.approx(learner.earnings(1).amount)
