"""The dashboard in a real browser: a program from its first ask to its audit, by every role."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import uvicorn

import aftereffect as ae
from aftereffect.programs.store import Store
from aftereffect.service.app import build_app
from aftereffect.service.tokens import Tokens
from tests.report.browser import Browser

EVIL = "<script>alert(1)</script>"


class Site(NamedTuple):
    url: str
    store: Store
    tokens: Tokens
    browser: Browser

    def log_in(self, role: str, program: str | None = "loans") -> None:
        self.browser.call("Network.clearBrowserCookies")
        self.browser.open(f"{self.url}/login")
        self.fill("#token", self.tokens.create(role, program, f"the {role}"))
        self.browser.follow("form button.primary")

    def fill(self, selector: str, text: str) -> None:
        self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).value = {json.dumps(text)}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    store = ae.open_store(f"sqlite:///{folder / 'store.db'}")
    program = store.create("loans", ["north", EVIL, "south"], units=300, seed=1, floors=0.1)
    for week in range(6):
        program.ask(by="ann")
        program.tell([0.5, 0.4 + week / 50, 0.3], trials=[100, 100, 100], by="ann")
    server = uvicorn.Server(uvicorn.Config(build_app(store), port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with Browser(folder / "browser") as browser:
        yield Site(f"http://127.0.0.1:{port}", store, Tokens(store.database), browser)
    server.should_exit = True
    thread.join(20)
    store.close()


def _wait_for_charts(browser: Browser) -> None:
    deadline = time.monotonic() + 60
    while browser.evaluate("document.body.dataset.drawn") != "yes":
        assert time.monotonic() < deadline, browser.texts(".charts")
        time.sleep(0.05)


def test_a_round_from_advice_to_correction_and_audit(site: Site) -> None:
    browser = site.browser
    site.log_in("operator")
    browser.open(f"{site.url}/programs/loans")
    browser.follow("form[action$='/ask'] button")
    assert "Asked." in browser.texts(".notice")[0]
    browser.follow("form[action$='/deploy'] button.primary")
    program = site.store.program("loans")
    (waiting,) = program.show()["open_rounds"]
    browser.evaluate("document.querySelectorAll('form[action$=\"/tell\"] input[name=reward]')[0].value = '61'")
    browser.evaluate("document.querySelectorAll('form[action$=\"/tell\"] input[name=trials]')[0].value = '120'")
    browser.follow("form[action$='/tell'] button.primary")
    assert program.show()["open_rounds"] == [waiting]  # only one arm has reported
    for arm, name in ((1, EVIL), (2, "south")):
        assert name in program.names[arm]
        program.tell({name: 0.5}, trials={name: 50}, round=waiting)
    assert program.show()["open_rounds"] == []
    browser.open(f"{site.url}/programs/loans")
    site.fill("#correct-round", str(waiting))
    browser.evaluate(
        "document.querySelector('[aria-label=\"Corrected successes or mean reward of north\"]').value = '66'"
    )
    browser.evaluate("document.querySelector('[aria-label=\"Corrected trials of north\"]').value = '120'")
    browser.follow("form:has([name=replace]) button")
    told = [event["request"] for event in program.events() if event["kind"] == "tell"][-1]
    assert (told["replace"], told["rewards"]) == (True, {"north": 0.55})
    browser.follow("form:has([name=audit]) button")
    assert "All fits" in " ".join(browser.texts("#audit ~ .notice"))
    assert not [line for line in browser.complaints if "favicon" not in line]


def test_names_are_text_and_charts_are_drawn(site: Site) -> None:
    browser = site.browser
    site.log_in("viewer")
    browser.open(f"{site.url}/programs/loans")
    _wait_for_charts(browser)
    assert EVIL in browser.texts("figcaption")
    assert browser.evaluate("Chart.all.length") == 7
    browser.centre("[data-kind=time] .chart")
    browser.settle()
    assert browser.evaluate("Chart.all.at(-1).plot.series.length") == 4  # rounds, expected, achieved, the even split
    browser.evaluate("document.querySelector('[data-kind=time] .chart').focus()")
    browser.press("End", 35)
    assert (
        browser.texts("[data-kind=time] .tooltip strong")[0] == f"round {site.store.program('loans').show()['rounds']}"
    )
    assert EVIL in browser.texts("[data-kind=time] .tooltip td")
    browser.click("[data-kind=time] .legend button")
    assert browser.evaluate("Chart.all[3].plot.series.slice(1).map(s => s.label)") == [EVIL, "south"]
    assert browser.count("script:not([src])") == 0
    assert all(url.startswith((site.url, "data:", "about:")) for url in browser.requests)


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1440, False), (390, True)])
def test_people_with_other_needs_can_use_it(site: Site, width: int, dark: bool) -> None:
    site.log_in("admin", None)
    site.browser.resize(width, 900, dark)
    for path in ("/", "/programs/loans", "/login"):
        site.browser.open(f"{site.url}{path}")
        if path.endswith("loans"):
            _wait_for_charts(site.browser)
        assert site.browser.serious() == []
        assert site.browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        log = "[...document.querySelectorAll('.log')]"  # is read without moving it sideways
        assert site.browser.evaluate(f"{log}.every((t) => t.scrollWidth <= t.parentElement.clientWidth)"), path


def test_a_file_is_shown_before_it_is_told(site: Site) -> None:
    program = site.store.program("loans")
    program.ask()
    number = program.deploy()
    site.log_in("operator")
    site.browser.open(f"{site.url}/programs/loans")
    table = f"round,arm,successes,trials\n{number},north,50,100\n{number},south,20,80\n"
    site.browser.evaluate(
        "(text => { const held = new DataTransfer(); held.items.add(new File([text], 'week.csv'));"
        f" document.querySelector('#csv').files = held.files; }})({json.dumps(table)})"
    )
    before = len(program.events())
    site.browser.follow("form[action$='/preview'] button")
    assert site.browser.texts("tbody tr")[0].split() == [f"{number}north0.5100"]
    assert len(program.events()) == before
    site.browser.follow("form[action$='/tell-csv'] button")
    assert program.events()[-1]["request"]["rewards"] == {"north": 0.5, "south": 0.25}
    program.tell(None, round=number)


def test_what_a_viewer_may_not_is_not_offered_and_refused(site: Site) -> None:
    site.log_in("viewer")
    site.browser.open(f"{site.url}/programs/loans")
    assert site.browser.count("form[action$='/ask'], form[action$='/deploy'], form[action$='/archive']") == 0
    before = len(site.store.program("loans").events())
    status = site.browser.evaluate(
        "fetch('/programs/loans/archive', {method: 'POST', body: new URLSearchParams({csrf:"
        " document.querySelector('[name=csrf]').value})}).then(answer => answer.status)"
    )
    assert status == 403
    assert len(site.store.program("loans").events()) == before


def test_logging_out_ends_the_session(site: Site) -> None:
    site.log_in("viewer")
    site.browser.follow("form[action$='/logout'] button")
    site.browser.open(f"{site.url}/programs/loans")
    assert site.browser.evaluate("location.pathname") == "/login"
