"""Goal: a person sees the topology on the page, with eyes, mouse or keys, and nobody else's markup.

Method: the process of the service, over a warehouse that plain Python writes meanwhile, in a real
browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.meta_service.submitted_jobs import Order, Submission, SubmittedJobs
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.shown.topology_tables import WarehouseTopology, topology_table
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology
from tests.servers.chromium import BrowserPage, browser_page
from tests.servers.meta_service import meta_service

pytestmark = [pytest.mark.slow]

TOKEN = "a-token-that-is-long-enough"
HOSTILE = "<img src=x onerror=document.title='owned'>"
NODES = "document.querySelectorAll('#canvas .node').length"
FOCUS = "document.activeElement.getAttribute('aria-label')"
DETAILS = (
    "document.getElementById('details').hidden ? '' : document.getElementById('details').innerText"
)

COLUMNS = (
    "[...document.querySelectorAll('#details .columns tr')]"
    ".map(row => [...row.children].map(cell => cell.innerText))"
)
TOTALS_UNKNOWN = ("totals", "n", None, None, None)

# The contrast of WCAG 2, of a text with the ground that is seen behind it.
CONTRAST = """
(selector => {
  const light = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(selector);
  const style = getComputedStyle(element);
  const text = element instanceof SVGElement ? style.fill : style.color;
  let behind = element;
  let ground = 'rgba(0, 0, 0, 0)';
  while (ground === 'rgba(0, 0, 0, 0)') {
    ground = getComputedStyle(behind).backgroundColor;
    behind = behind.parentElement;
  }
  const [dark, bright] = [light(text), light(ground)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
})
"""

# Whether nodes of a topology with 100 jobs overlap or stand left of what they come from.
HUNDRED = """
(async () => {
  const { layOut } = await import('/static/layout.js');
  const nodes = [];
  const edges = [];
  for (let at = 0; at < 110; at += 1) {
    nodes.push({ id: `t${at}`, width: 184, height: 58 });
    if (at >= 10) {
      nodes.push({ id: `j${at}`, width: 178, height: 44 });
      edges.push([`j${at}`, `t${at}`]);
      for (const back of [1, 3, 10]) edges.push([`t${(at * 7 + back) % at}`, `j${at}`]);
    }
  }
  const begin = performance.now();
  const { width, height, ways } = layOut(nodes, edges);
  const milliseconds = performance.now() - begin;
  const faults = [];
  const by = new Map(nodes.map(node => [node.id, node]));
  for (const [from, to] of edges) {
    const [one, other] = [by.get(from), by.get(to)];
    if (one.x + one.width / 2 >= other.x - other.width / 2) faults.push([from, to]);
  }
  for (const one of nodes) {
    if (one.x - one.width / 2 < 0 || one.x + one.width / 2 > width + 0.1) faults.push(one.id);
    if (one.y - one.height / 2 < -0.1 || one.y + one.height / 2 > height + 0.1) faults.push(one.id);
    for (const other of nodes) {
      if (one !== other && Math.abs(one.x - other.x) < (one.width + other.width) / 2
          && Math.abs(one.y - other.y) < (one.height + other.height) / 2) {
        faults.push([one.id, other.id]);
      }
    }
  }
  return { faults, milliseconds, ways: ways.length };
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserPage]:
    with browser_page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser: BrowserPage) -> BrowserPage:
    browser.open("about:blank")  # the page before goes on asking a service that has ended
    browser.complaints.clear()
    browser.set_dark(False)
    return browser


@pytest.fixture
def written(tmp_path: Path) -> WrittenTopology:
    """`orders` → `totals` → `report`; the last job has failed."""
    root = str(tmp_path / "warehouse")
    made = WrittenTopology(Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds()))
    made.write("orders")
    now = made.cut(SystemClock().now_ms(), "orders")
    made.epoch("totals", now, orders=1)
    made.told("totals", now, now + 40, 30)
    made.epoch("report", now, totals=1)
    made.told("report", now, now + 90, 30)
    made.told("report", now, now + 95, 5, error=f"[X] {HOSTILE}")
    return made


def root_of(written: WrittenTopology) -> str:
    return written.warehouse.root


def test_it_draws_and_goes_on_by_itself(page: BrowserPage, written: WrittenTopology) -> None:
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        assert page.await_value(f"{NODES} === 5")
        text = page.value("document.querySelector('#canvas').textContent")
        assert all(name in text for name in ("orders", "totals", "report"))
        assert "1 × failed" in text
        assert page.value("document.querySelectorAll('#jobs tbody tr').length") == 2
        made = written.cut(SystemClock().now_ms(), "orders")
        page.await_value(f"document.getElementById('barriers').innerText.includes('{made}')")
        written.epoch("more", made, orders=1)
        assert page.await_value(f"{NODES} === 7")
    assert page.complaints == []


def test_keys(page: BrowserPage, written: WrittenTopology) -> None:
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        for _ in range(5):
            page.press("Tab")
            if str(page.value(FOCUS)).startswith("table"):
                break
        assert page.value(FOCUS).startswith("table default.orders")
        for name in ("job totals", "table default.totals", "job report"):
            page.press("ArrowRight")
            assert page.value(FOCUS).startswith(name)
        page.press("ArrowLeft")
        assert page.value(FOCUS).startswith("table default.totals")
        page.press("Enter")
        details = page.await_value(DETAILS)
        assert all(text in details for text in ("default.totals", "How late barriers came", "p99"))
        page.press("Escape")
        page.await_value(f"({DETAILS}) === ''")
        assert page.value(FOCUS).startswith("table default.totals")
        page.press("ArrowRight")
        page.press(" ")
        page.await_value(f"({DETAILS}).includes('Last epochs')")
        page.value("document.querySelector('#details button').focus()")
        written.told("report", 1, SystemClock().now_ms(), 777)
        page.await_value(f"({DETAILS}).includes('777 ms')")
        assert page.value(FOCUS) == "Close"
        page.press("Enter")
        page.await_value(f"({DETAILS}) === ''")
        assert page.value(FOCUS).startswith("job report")
    assert page.complaints == []


def test_columns_and_whence_they_come(page: BrowserPage, written: WrittenTopology) -> None:
    """By a click and by Enter: the same as the oracle, the rows of `sys.column_lineage`."""
    written.state("report", "INSERT INTO report SELECT 2 * t.n FROM totals t WHERE n > 0")
    table = topology_table("sys", "column_lineage")
    assert table is not None
    rows = table.records(WarehouseTopology(written.warehouse, "default"))
    lineage = [tuple(row.values())[1:] for row in rows]
    known = ("report", "n", "totals", "n", "value")
    assert lineage == [known, ("report", None, "totals", "n", "indirect"), TOTALS_UNKNOWN]
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        page.click("#canvas .node[aria-label^='table default.report']")
        page.await_value(f"({DETAILS}).includes('Comes from')")
        assert page.value(COLUMNS) == [["Column", "Comes from"], ["n\nINT", "totals.n"]]
        assert "Which rows there are depends on\ntotals.n" in page.value(DETAILS)
        page.click("#details .columns button")
        page.await_value(f"({DETAILS}).startsWith('default.totals')")
        page.await_value(f"({COLUMNS})[1]?.[1] === 'not known'")
        assert page.value(FOCUS).startswith("table default.totals")
        for _ in range(2):
            page.press("ArrowLeft")
        page.press("Enter")
        page.await_value(f"({DETAILS}).startsWith('default.orders')")
        page.await_value(f"({COLUMNS}).length === 2")
        assert page.value(COLUMNS) == [["Column"], ["n\nINT"]]
    assert page.complaints == []


def test_names_are_never_markup(page: BrowserPage, written: WrittenTopology) -> None:
    job = written.registry.find(written.table("totals").path)
    assert job is not None
    written.registry.register(replace(job, id=HOSTILE, name=HOSTILE))
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        click = "document.querySelector('#jobs tbody tr:nth-child({}) button').click()"
        page.value(click.format(1))
        page.await_value(f"({DETAILS}).includes('{HOSTILE[:8]}')")
        page.value(click.format(2))
        page.await_value(f"({DETAILS}).includes('onerror')")
        assert page.value("document.querySelectorAll('img').length") == 0
        assert page.value("document.title") == "MetaService"
    assert page.complaints == []


@pytest.mark.parametrize("is_dark", [False, True])
def test_light_and_dark(page: BrowserPage, written: WrittenTopology, is_dark: bool) -> None:
    page.set_dark(is_dark)
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        ground = page.value("getComputedStyle(document.body).backgroundColor")
        red = int(ground.removeprefix("rgb(").partition(",")[0])
        assert (red < 100) == is_dark
        for selector in ("h1", "dt", "#jobs td", "#jobs button", ".node .name", ".node text"):
            assert page.value(f"{CONTRAST}({selector!r})") >= 4.5, selector


def test_a_token(page: BrowserPage, written: WrittenTopology, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    enter = (
        "document.getElementById('token').value = '{}';"
        "document.querySelector('#login button').click()"
    )
    with meta_service(root_of(written), "--token-file", str(file)) as (_, address):
        page.open(address)
        page.await_value("document.getElementById('login').open")
        assert page.value(NODES) == 0
        page.value(enter.format("another"))
        page.await_value("document.getElementById('login-error').textContent")
        page.value(enter.format(TOKEN))
        page.await_value(f"{NODES} === 5")
        assert not page.value("document.getElementById('login').open")
        page.open(address)
        page.await_value(f"{NODES} === 5")
    assert {complaint.partition(" http")[0] for complaint in page.complaints} == {
        "Failed to load resource: the server responded with a status of 401 (Unauthorized)"
    }


def test_orders(page: BrowserPage, written: WrittenTopology, tmp_path: Path) -> None:
    """A job of a job runner is paused by a click; the others have no buttons for that."""
    file = tmp_path / "token"
    file.write_text(TOKEN)
    jobs = SubmittedJobs.of(written.warehouse)
    jobs.submit(Submission(sink=written.table("totals").path, listed="the planner's text"))
    buttons = "[...document.querySelectorAll('#details .orders button')].map(b => b.textContent)"
    choose = (
        "[...document.querySelectorAll('#jobs button')].find(b => b.textContent === {!r}).click()"
    )
    with meta_service(root_of(written), "--token-file", str(file)) as (_, address):
        page.open(address)
        page.await_value("document.getElementById('login').open")
        page.value(
            f"document.getElementById('token').value = '{TOKEN}';"
            "document.querySelector('#login button').click()"
        )
        page.await_value(f"{NODES} === 5")
        page.value(choose.format("report"))
        assert "report" in page.await_value(DETAILS)
        assert page.value(buttons) == []
        page.value(choose.format("totals"))
        page.await_value(f"{buttons}.length === 2")
        assert page.value(buttons) == ["Pause", "Refresh"]
        page.value("document.querySelector('#details .orders button').click()")
        page.await_value(
            "document.getElementById('status').textContent.startsWith('Ordered: pause')"
        )
    (given,) = jobs.all()
    assert (given.order, given.listed) == (Order.PAUSE, "the planner's text")


def test_a_service_that_goes_and_comes(page: BrowserPage, written: WrittenTopology) -> None:
    with meta_service(root_of(written)) as (process, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        process.kill()
        page.await_value("document.body.classList.contains('stale')")
        assert "trying again" in page.value("document.getElementById('status').textContent")
    port = int(address.rstrip("/").rpartition(":")[2])
    with meta_service(root_of(written), port=port):
        page.await_value("!document.body.classList.contains('stale')")
        assert page.value(NODES) == 5


def test_it_rests_while_nobody_sees_it(page: BrowserPage, written: WrittenTopology) -> None:
    asked = "performance.getEntriesByType('resource').filter(e => e.name.includes('/v1/')).length"
    hide = (
        "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    wait = "new Promise(done => setTimeout(done, {}))"
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{asked} > 2")
        page.value(hide.format("true"))
        page.value(wait.format(500))
        before = page.value(asked)
        page.value(wait.format(2500))
        assert page.value(asked) == before
        page.value(hide.format("false"))
        page.await_value(f"{asked} > {before}")


def test_a_hundred_jobs_are_laid_out_without_overlaps(
    page: BrowserPage, written: WrittenTopology
) -> None:
    with meta_service(root_of(written)) as (_, address):
        page.open(address)
        page.await_value(f"{NODES} === 5")
        told = page.value(HUNDRED)
    assert (told["faults"], told["ways"]) == ([], 400)
    assert told["milliseconds"] < 2000
