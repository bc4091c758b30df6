// The page: asks for the topology again and again, as long as somebody can see it.

import { ask, give, keepToken, Unauthorized } from "./api.js";
import { asked, details, NOTHING } from "./details.js";
import { html, setText } from "./dom.js";
import { count, duration, moment, NONE, shortName } from "./format.js";
import { Graph, graphOf, jobCondition } from "./graph.js";
import { barrierRows, jobRows } from "./tables.js";

const PAUSE_MS = 1500;
const BARRIERS = 30;

const at = (id) => document.getElementById(id);
const graph = new Graph(at("canvas"), choose);
let topology = null;
let chosen = null;
let timer = null;
let isAsking = false;
const shown = new Map();

async function refresh() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    const [next, barriers] = await Promise.all([
      ask("v1/topology"),
      ask("v1/barriers", { limit: BARRIERS }),
    ]);
    topology = next;
    const id = chosen;
    const told = id === null ? null : await asked(id, topology).catch(() => null);
    show(barriers, id === chosen ? told : null);
    tell(`Updated ${moment(topology.observedMs, topology.observedMs)}`, true);
  } catch (error) {
    if (error instanceof Unauthorized) {
      askForToken(error);
      return;
    }
    tell(`No answer, trying again: ${error.message}`, false);
  } finally {
    isAsking = false;
  }
  timer = setTimeout(refresh, PAUSE_MS);
}

function show(barriers, told) {
  showFacts();
  if (topology.tables.length === 0) {
    const text = "No job runs in this warehouse: a materialized view or a streaming INSERT makes one.";
    if (at("canvas").querySelector(".empty") === null) {
      at("canvas").replaceChildren(html("p", { class: "empty" }, text));
    }
    graph.shape = "";
  } else {
    graph.show(graphOf(topology));
  }
  replace("jobs", jobRows(topology, choose));
  replace("barriers", barrierRows(barriers, topology));
  if (told !== null) showDetails(told);
}

function showFacts() {
  const now = topology.observedMs;
  const known = topology.jobs.filter((job) => job.delayMs !== null);
  const slowest = known.reduce((one, other) => (other.delayMs > (one?.delayMs ?? 0) ? other : one), null);
  const failing = topology.jobs.filter((job) => jobCondition(job) === "failed").length;
  const pairs = [
    ["Last barrier", moment(topology.barrier, now)],
    ["Readable together", moment(topology.readableBarrier, now)],
    ["Tables", count(topology.tables.length)],
    ["Jobs", `${count(topology.jobs.length)}${failing ? `, ${failing} not running well` : ""}`],
    ["Latest table", slowest === null ? NONE : `${shortName(slowest.table)}, ${duration(slowest.delayMs)}`],
  ];
  const divs = pairs.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value)));
  replace("facts", divs);
}

// Replaces what an element holds if it reads differently, and gives the focus back.
function replace(id, children) {
  const text = children.map((child) => child.outerHTML).join("");
  if (shown.get(id) === text) return;
  shown.set(id, text);
  const place = [...at(id).querySelectorAll("button")].indexOf(document.activeElement);
  at(id).replaceChildren(...children);
  if (place >= 0) at(id).querySelectorAll("button")[place]?.focus();
}

function tell(text, isGood) {
  setText(at("status"), text);
  at("status").classList.toggle("failed", !isGood);
  document.body.classList.toggle("stale", !isGood);
}

async function choose(id) {
  chosen = id;
  graph.select(id);
  at("details").hidden = id === null;
  if (id === null) return;
  graph.focus(id);
  const told = await asked(id, topology).catch(() => NOTHING);
  if (chosen === id) showDetails(told);
}

function showDetails(told) {
  const elements = details(chosen, topology, told, { go: choose, close: leave, order });
  if (elements === null) choose(null);
  else replace("details", elements);
}

async function order(name, job) {
  try {
    const { hasRunner } = await give(name, job);
    tell(hasRunner ? `Ordered: ${name}` : `Ordered: ${name}, for when a job runner works`, true);
  } catch (error) {
    tell(`Not ordered: ${error.message}`, false);
  }
}

function leave() {
  const before = chosen;
  choose(null);
  if (before !== null) graph.focus(before);
}

function askForToken(error) {
  const before = sessionStorage.getItem("token");
  setText(at("login-error"), before === null ? "" : error.message);
  if (!at("login").open) at("login").showModal();
}

at("login").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(at("token").value.trim());
  at("token").value = "";
  at("login").close();
  refresh();
});
at("login").addEventListener("cancel", (event) => event.preventDefault());
at("smaller").addEventListener("click", () => graph.zoom(-1));
at("larger").addEventListener("click", () => graph.zoom(1));
at("fit").addEventListener("click", () => graph.fit());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen !== null) leave();
});
document.addEventListener("visibilitychange", refresh);
refresh();
