// What a chosen table or job is: from the topology, with its last epochs and how late it was.

import { ask, hasToken } from "./api.js";
import { html } from "./dom.js";
import { count, duration, moment, NONE, shortName } from "./format.js";

const EPOCHS = 12;

/** Returns the id of a job that tells more of a node; null for a root. */
function jobOf(id, topology) {
  if (id.startsWith("job ")) return id.slice(4);
  return topology.tables.find((table) => `table ${table.name}` === id)?.job ?? null;
}

/** What is told of a node of which the service says nothing else. */
export const NOTHING = { delays: null, epochs: [], columns: null };

/** Returns what else the service tells of a node. */
export async function asked(id, topology) {
  const job = jobOf(id, topology);
  const [delays, { epochs }, columns] = await Promise.all([
    job === null ? NOTHING.delays : ask("v1/delays", { job }),
    job === null ? NOTHING : ask("v1/progress", { job, limit: EPOCHS }),
    id.startsWith("table ") ? columnsOf(id.slice(6)) : NOTHING.columns,
  ]);
  return { delays, epochs, columns };
}

// A table that was dropped has none, but there is more to tell of it.
function columnsOf(table) {
  return ask("v1/lineage/columns", { table }).catch(() => NOTHING.columns);
}

/** Returns the elements that show a node; `go` is called with the id of one that is clicked, and
 * `order` with an order and the id of a job that is to have it. */
export function details(id, topology, told, { go, close, order }) {
  const links = (kind, names) => names.map((name) => link(kind, name, topology, go));
  const table = topology.tables.find((one) => `table ${one.name}` === id);
  const job = topology.jobs.find((one) => `job ${one.id}` === id);
  const shown = table ?? job;
  if (shown === undefined) return null;
  const now = topology.observedMs;
  const title = html(
    "div",
    { class: "title" },
    html("h2", {}, shown.name),
    html("button", { type: "button", "aria-label": "Close", onclick: close }, "×"),
  );
  if (table !== undefined) {
    const from = (column) => comesFrom(column, topology, go);
    return [title, tableFacts(table, links, now), ...columns(table, told, from), ...lateness(told)];
  }
  const about = [...failure(job), ...shares(told), ...epochs(told, now)];
  return [title, ...orders(job, order), jobFacts(job, links, now), ...about];
}

function orders(job, order) {
  if (!job.isSubmitted || !hasToken()) return [];
  const names = job.state === "RUNNING" ? ["pause", "refresh"] : ["resume", "refresh"];
  const labels = { pause: "Pause", resume: "Resume", refresh: "Refresh" };
  const buttons = names.map((name) => html(
    "button",
    { type: "button", onclick: () => order(name, job.id) },
    labels[name],
  ));
  return [html("div", { class: "orders", role: "group", "aria-label": "Orders" }, buttons)];
}

function link(kind, name, topology, go) {
  const job = kind === "job" ? topology.jobs.find((one) => one.id === name) : undefined;
  const shown = job?.name ?? name;
  return html("button", { type: "button", class: "link", onclick: () => go(`${kind} ${name}`) }, shown);
}

// A column of another table, which may be none of the topology.
function comesFrom({ table, column }, topology, go) {
  const text = `${shortName(table)}.${column}`;
  if (!topology.tables.some((one) => one.name === table)) return html("span", {}, text);
  return html("button", { type: "button", class: "link", onclick: () => go(`table ${table}`) }, text);
}

function columns(table, { columns: told }, from) {
  if (told === null) return [];
  const isRoot = table.job === null;
  const rows = told.columns.map((column) => html(
    "tr",
    {},
    html("th", { scope: "row" }, column.name, html("span", {}, column.type)),
    isRoot ? null : html("td", { class: "sources" }, sources(column, told, from)),
  ));
  const names = isRoot ? ["Column"] : ["Column", "Comes from"];
  const head = names.map((name) => html("th", { scope: "col" }, name));
  const shown = html(
    "table",
    { class: "columns" },
    html("thead", {}, html("tr", {}, head)),
    html("tbody", {}, rows),
  );
  return [html("h3", {}, "Columns"), shown, ...conditions(told, from)];
}

function sources(column, told, from) {
  if (!told.isKnown) return "not known";
  return column.sources.length === 0 ? "no column" : column.sources.map(from);
}

function conditions(told, from) {
  if (told.conditions.length === 0) return [];
  return [
    html("h3", {}, "Which rows there are depends on"),
    html("div", { class: "sources" }, told.conditions.map(from)),
  ];
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value.length !== 0);
  return html("dl", {}, shown.flatMap(([name, value]) => [
    html("dt", {}, name),
    html("dd", {}, value),
  ]));
}

function tableFacts(table, links, now) {
  return facts([
    ["Kind", table.job === null ? "root: no job writes it" : "written by a job"],
    ["Delay", table.job === null ? null : duration(table.delayMs)],
    ["Barrier", moment(table.barrier, now)],
    ["Its number", table.barrier === null ? null : String(table.barrier)],
    ["Snapshot there", count(table.snapshot)],
    ["Newest snapshot", count(table.newestSnapshot)],
    ["Waits for", links("job", table.bottlenecks)],
    ["Written by", table.job === null ? null : links("job", [table.job])],
    ["Read by", links("job", table.readers)],
  ]);
}

function jobFacts(job, links, now) {
  return facts([
    ["Kind", job.kind],
    ["State", job.state],
    ["Reads", links("table", job.sources)],
    ["Writes", links("table", [job.table])],
    ["Barrier", moment(job.barrier, now)],
    ["Its number", job.barrier === null ? null : String(job.barrier)],
    ["Last rule", job.rule],
    ["Because of", job.reason],
    ["Took", duration(job.milliseconds)],
    ["Rows read", job.rowsPerSecond === null ? NONE : `${count(job.rowsPerSecond)} per second`],
    ["Failures", job.failures === 0 ? null : `${job.failures} in a row`],
  ]);
}

function failure(job) {
  const text = job.error ?? job.lastError;
  if (text === null) return [];
  const title = job.error === null ? "Last error, since overcome" : "Error";
  return [html("h3", {}, title), html("p", { class: "error" }, text)];
}

function lateness({ delays }) {
  const table = delays?.tables[0];
  if (table === undefined) return [];
  const rows = table.windows.map((one) => distribution(one.window, one.delayMs));
  return [html("h3", {}, "How late barriers came"), distributions(rows)];
}

function shares({ delays }) {
  const job = delays?.jobs[0];
  if (job === undefined) return [];
  const rows = job.windows.flatMap((one) => [
    distribution(`${one.window}, waiting`, one.waitingMs),
    distribution(`${one.window}, working`, one.workingMs),
  ]);
  return [html("h3", {}, "What it added to the delay"), distributions(rows)];
}

function distribution(name, values) {
  const shown = values === null
    ? [NONE, NONE, NONE, "0"]
    : [duration(values.p50), duration(values.p99), duration(values.max), count(values.count)];
  return html("tr", {}, html("td", {}, name), shown.map((text) => html("td", { class: "number" }, text)));
}

function distributions(rows) {
  const names = ["p50", "p99", "max", "barriers"];
  const head = names.map((name) => html("th", { class: "number", scope: "col" }, name));
  return html(
    "table",
    {},
    html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "Last"), head)),
    html("tbody", {}, rows),
  );
}

function epochs({ epochs: last }, now) {
  if (last.length === 0) return [];
  const rows = last.map((epoch) => html(
    "tr",
    { title: epoch.error ?? epoch.reason },
    html("td", {}, moment(epoch.finishedMs, now)),
    html("td", { class: "number" }, duration(epoch.milliseconds)),
    html("td", {}, epoch.error === null ? (epoch.rule ?? NONE) : "failed"),
    html("td", { class: "number" }, count(epoch.rowsRead)),
    html("td", { class: "number" }, count(epoch.rowsChanged)),
  ));
  const names = [["Ended", ""], ["Took", "number"], ["Rule", ""], ["Read", "number"], ["Changed", "number"]];
  const head = names.map(([name, kind]) => html("th", { class: kind, scope: "col" }, name));
  return [
    html("h3", {}, "Last epochs"),
    html("table", {}, html("thead", {}, html("tr", {}, head)), html("tbody", {}, rows)),
  ];
}
