// The tables of jobs and of barriers below the topology.

import { html } from "./dom.js";
import { count, duration, moment, NONE } from "./format.js";
import { jobCondition } from "./graph.js";

function table(columns, rows) {
  const head = columns.map(([name, kind = ""]) => html("th", { class: kind, scope: "col" }, name));
  const body = rows.map((cells) => html("tr", {}, cells.map((cell, at) => {
    const kind = columns[at][1] ?? "";
    return kind === "head" ? html("th", { scope: "row" }, cell) : html("td", { class: kind }, cell);
  })));
  return [html("thead", {}, html("tr", {}, head)), html("tbody", {}, body)];
}

const JOBS = [
  ["Job"], ["State"], ["Table"], ["Barrier"], ["Delay", "number"], ["Last rule"],
  ["Took", "number"], ["Rows changed", "number"], ["Rows/s", "number"], ["Failures", "number"],
  ["Error", "long"],
];

/** Returns the content of the table of jobs. */
export function jobRows({ jobs, observedMs }, go) {
  return table(JOBS, jobs.map((job) => {
    const id = `job ${job.id}`;
    const name = html("button", { type: "button", class: "link", onclick: () => go(id) }, job.name);
    return [
      name,
      html("span", { class: `state ${jobCondition(job)}` }, job.state),
      job.table,
      moment(job.barrier, observedMs),
      duration(job.delayMs),
      job.rule ?? NONE,
      duration(job.milliseconds),
      count(job.rowsChanged),
      count(job.rowsPerSecond),
      count(job.failures),
      job.error ?? "",
    ];
  }));
}

const BARRIERS = [
  ["Barrier"], ["Number", "number"], ["Age", "number"], ["Jobs that have it"],
  ["Tables that were looked at for it", "long"],
];
const TABLES_SHOWN = 6;

/** Returns the content of the table of barriers. */
export function barrierRows({ barriers, observedMs }, { tables }) {
  const written = tables.filter((one) => one.job !== null);
  return table(BARRIERS, barriers.map((barrier) => {
    const have = written.filter((one) => one.barrier !== null && one.barrier >= barrier.number);
    const label = `${have.length} of ${written.length}`;
    const share = html("meter", { max: written.length || 1, value: have.length, "aria-label": label });
    const looked = barrier.tables.slice(0, TABLES_SHOWN).map((one) => `${one.table} @ ${one.snapshot}`);
    const more = barrier.tables.length - looked.length;
    return [
      moment(barrier.number, observedMs),
      String(barrier.number),
      duration(Math.max(0, observedMs - barrier.number)),
      html("span", {}, share, label),
      looked.join(", ") + (more > 0 ? ` and ${more} more` : ""),
    ];
  }));
}
