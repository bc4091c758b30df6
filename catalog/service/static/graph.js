// The topology as SVG: drawn anew when tables or jobs come or go, else only its texts change.

import { setText, svg } from "./dom.js";
import { count, duration, moment, NONE, shortened, shortName } from "./format.js";
import { layOut } from "./layout.js";

const TABLE = { width: 190, height: 58 };
const JOB = { width: 178, height: 44 };
const MARGIN = 12;
const LATE_MS = 10000;
const LEGIBLE = 0.7;
const SCALES = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.6];

/** What is drawn: nodes with texts and a condition, and edges between their ids. */
export function graphOf(topology) {
  const now = topology.observedMs;
  const tables = topology.tables.map((table) => ({
    ...TABLE,
    id: `table ${table.name}`,
    kind: "table",
    name: table.name,
    first: moment(table.barrier, now),
    second: table.job === null ? "root" : `${duration(table.delayMs)} late`,
    condition: tableCondition(table),
  }));
  const jobs = topology.jobs.map((job) => ({
    ...JOB,
    id: `job ${job.id}`,
    kind: "job",
    name: jobName(job),
    first: jobText(job),
    second: job.rowsPerSecond === null ? NONE : `${count(job.rowsPerSecond)} rows/s`,
    condition: jobCondition(job),
  }));
  const edges = topology.jobs.flatMap((job) => [
    ...job.sources.map((source) => [`table ${source}`, `job ${job.id}`]),
    [`job ${job.id}`, `table ${job.table}`],
  ]);
  for (const table of tables) if (table.second === "0 ms late") table.second = "up to date";
  return { nodes: [...tables, ...jobs], edges };
}

function tableCondition(table) {
  if (table.job === null) return "root";
  if (table.barrier === null || table.delayMs === null) return "unknown";
  return table.delayMs > LATE_MS ? "late" : "good";
}

// Views, and INSERTs without a name of their own, are called as their tables.
function jobName(job) {
  return job.name.endsWith(`.${job.table}`) ? job.table : job.name;
}

function jobText(job) {
  if (job.failures > 0) return `${job.failures} × failed`;
  return job.state === "RUNNING" ? (job.rule ?? "no epoch yet") : job.state.toLowerCase();
}

/** How a job is: `failed`, `unknown` before it has begun, or `good`. */
export function jobCondition(job) {
  if (["FAILED", "SUSPENDED"].includes(job.state) || job.failures > 0) return "failed";
  return job.state !== "RUNNING" || job.barrier === null ? "unknown" : "good";
}

export class Graph {
  /** `chosen` is called with the node that a click or a key chooses, or null. */
  constructor(canvas, chosen) {
    this.canvas = canvas;
    this.chosen = chosen;
    this.nodes = new Map();
    this.edges = [];
    this.shape = "";
    this.scale = null;
    this.current = null;
    this.selected = null;
    this.size = { width: 0, height: 0 };
    canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#resize()).observe(canvas.closest("main"));
  }

  show({ nodes, edges }) {
    const shape = JSON.stringify([nodes.map((node) => node.id), edges]);
    if (shape !== this.shape) {
      this.#draw(nodes, edges);
      this.shape = shape;
    }
    for (const node of nodes) this.#update(this.nodes.get(node.id), node);
  }

  /** Marks a node and what it is connected with; none without an id. */
  select(id) {
    this.selected = this.nodes.has(id) ? id : null;
    const related = this.#related(this.selected);
    for (const [other, { group }] of this.nodes) {
      group.classList.toggle("selected", other === this.selected);
      group.classList.toggle("apart", related !== null && !related.has(other));
      group.setAttribute("aria-pressed", other === this.selected);
    }
    for (const { from, to, path } of this.edges) {
      const isApart = related !== null && !(related.has(from) && related.has(to));
      path.classList.toggle("apart", isApart);
      path.classList.toggle("related", related !== null && !isApart);
    }
    if (this.selected !== null) this.#makeCurrent(this.selected);
  }

  focus(id) {
    this.#makeCurrent(id);
    const group = this.nodes.get(id)?.group;
    group?.focus({ preventScroll: true });
    group?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  zoom(step) {
    const now = this.scale ?? this.#fitting();
    const larger = SCALES.find((scale) => scale > now + 0.01) ?? SCALES.at(-1);
    const smaller = SCALES.findLast((scale) => scale < now - 0.01) ?? SCALES[0];
    this.scale = step > 0 ? larger : smaller;
    this.#resize();
  }

  fit() {
    this.scale = this.#fitting(SCALES[0]);
    this.#resize();
  }

  #draw(nodes, edges) {
    const hadFocus = this.canvas.contains(document.activeElement);
    const { width, height, ways } = layOut(nodes, edges);
    this.size = { width: width + 2 * MARGIN, height: height + 2 * MARGIN };
    this.edges = edges.map(([from, to], at) => ({ from, to, path: edge(ways[at]) }));
    this.nodes = new Map(nodes.map((node) => [node.id, this.#node(node)]));
    this.image = svg(
      "svg",
      {
        viewBox: `${-MARGIN} ${-MARGIN} ${this.size.width} ${this.size.height}`,
        role: "group",
        "aria-label": "Tables and the jobs between them",
      },
      svg("g", { class: "edges" }, ...this.edges.map(({ path }) => path)),
      ...[...this.nodes.values()].map(({ group }) => group),
    );
    this.canvas.replaceChildren(this.image);
    this.#resize();
    this.#makeCurrent(this.nodes.has(this.current) ? this.current : (nodes[0]?.id ?? null));
    this.select(this.selected);
    if (hadFocus) this.focus(this.current);
  }

  #node(node) {
    const { id, width, height, kind } = node;
    const pad = kind === "table" ? 14 : 16;
    const [upper, lower] = kind === "table" ? [24, 44] : [19, 34];
    const name = svg("text", { class: "name", x: pad, y: upper });
    const first = svg("text", { x: pad, y: lower });
    const second = svg("text", { x: width - pad + 2, y: lower, "text-anchor": "end" });
    const title = svg("title");
    const radius = kind === "table" ? 6 : height / 2;
    const bar = kind === "table"
      ? svg("rect", { class: "mark", x: 0, y: 10, width: 4, height: height - 20, rx: 2 })
      : svg("circle", { class: "mark", cx: width - 17, cy: 15, r: 4 });
    const group = svg(
      "g",
      {
        role: "button",
        tabindex: -1,
        transform: `translate(${node.x - width / 2} ${node.y - height / 2})`,
        onclick: () => this.#choose(id),
        onfocus: () => this.#makeCurrent(id),
      },
      title,
      svg("rect", { class: "box", width, height, rx: radius }),
      bar,
      name,
      first,
      second,
    );
    return { group, title, name, first, second, x: node.x, y: node.y, layer: node.layer };
  }

  #update(drawn, node) {
    const { group, title, name, first, second } = drawn;
    setText(name, shortened(shortName(node.name), node.kind === "table" ? 21 : 19));
    setText(first, node.first);
    setText(second, node.second);
    setText(title, node.name);
    const shown = ["selected", "apart"].filter((one) => group.classList.contains(one));
    group.setAttribute("class", ["node", node.kind, node.condition, ...shown].join(" "));
    const label = `${node.kind} ${node.name}, ${node.first}, ${node.second}`;
    if (group.getAttribute("aria-label") !== label) group.setAttribute("aria-label", label);
  }

  #makeCurrent(id) {
    this.nodes.get(this.current)?.group.setAttribute("tabindex", -1);
    this.current = id;
    this.nodes.get(id)?.group.setAttribute("tabindex", 0);
  }

  #choose(id) {
    this.chosen(id === this.selected ? null : id);
  }

  #key(event) {
    const here = this.nodes.get(this.current);
    if (here === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowLeft: () => this.#beside(here, -1),
      ArrowRight: () => this.#beside(here, 1),
      ArrowUp: () => this.#within(here, -1),
      ArrowDown: () => this.#within(here, 1),
    };
    if (event.key === "Enter" || event.key === " ") this.#choose(this.current);
    else if (event.key in moves) this.focus(moves[event.key]() ?? this.current);
    else return;
    event.preventDefault();
  }

  // The nearest node to the left or right: one that is connected, or any.
  #beside(here, step) {
    const linked = this.edges
      .map(({ from, to }) => (step > 0 ? [from, to] : [to, from]))
      .filter(([one]) => one === this.current)
      .map(([, other]) => other);
    const others = linked.length
      ? linked
      : [...this.nodes.keys()].filter((id) => (this.nodes.get(id).layer - here.layer) * step > 0);
    const far = (id) => {
      const other = this.nodes.get(id);
      return Math.abs(other.layer - here.layer) * 1e6 + Math.abs(other.y - here.y);
    };
    return others.sort((one, other) => far(one) - far(other))[0];
  }

  #within(here, step) {
    return [...this.nodes.keys()]
      .filter((id) => this.nodes.get(id).layer === here.layer)
      .filter((id) => (this.nodes.get(id).y - here.y) * step > 0)
      .sort((one, other) => (this.nodes.get(one).y - this.nodes.get(other).y) * step)[0];
  }

  // The node, with all from which it comes and all that comes from it.
  #related(id) {
    if (id === null) return null;
    const found = new Set([id]);
    for (const [start, end] of [["from", "to"], ["to", "from"]]) {
      const left = [id];
      const seen = new Set(left);
      while (left.length) {
        const one = left.pop();
        for (const edge of this.edges) {
          if (edge[start] === one && !seen.has(edge[end])) {
            seen.add(edge[end]);
            left.push(edge[end]);
          }
        }
      }
      for (const one of seen) found.add(one);
    }
    return found;
  }

  // The width that is there without details: they do not change the size of what is drawn.
  #room() {
    const main = this.canvas.closest("main");
    const style = getComputedStyle(main);
    return main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  }

  // All of it, as long as its texts can be read.
  #fitting(least = LEGIBLE) {
    const { width, height } = this.size;
    const room = Math.min((this.#room() - 2) / width, 660 / height);
    return Math.min(1, Math.max(least, room || 1));
  }

  #resize() {
    if (this.image === undefined) return;
    const scale = this.scale ?? this.#fitting();
    this.image.setAttribute("width", this.size.width * scale);
    this.image.setAttribute("height", this.size.height * scale);
  }
}

function edge(points) {
  const [[x, y], ...others] = points;
  let d = `M${x} ${y}`;
  let [fromX, fromY] = [x, y];
  for (const [toX, toY] of others) {
    const middle = (fromX + toX) / 2;
    d += ` C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`;
    [fromX, fromY] = [toX, toY];
  }
  return svg("path", { d });
}
