// Where the nodes of a graph without cycles are drawn: in layers from left to right.
//
// After Sugiyama, Tagawa and Toda (1981): layers by the longest way; bends where an edge passes a
// layer; an order within each layer by the mean places of neighbours; then heights that are as near
// to the neighbours' as the order and the gaps allow, by isotonic regression.

const SWEEPS = 12;
const COLUMN_GAP = 44;
const ROW_GAP = 16;
const BEND_GAP = 8;
const BEND_HEIGHT = 6;

/**
 * Sets `x`, `y` (the middle), `layer` and `row` of each node, and returns the size of the drawing
 * and the ways of the edges as lists of points.
 *
 * @param nodes values with `id`, `width` and `height`
 * @param edges pairs of ids, from left to right
 */
export function layOut(nodes, edges) {
  const known = new Map(nodes.map((node) => [node.id, { node, to: [], from: [], ...node }]));
  const links = edges.filter(([from, to]) => known.has(from) && known.has(to));
  for (const [from, to] of links) {
    known.get(from).to.push(known.get(to));
    known.get(to).from.push(known.get(from));
  }
  setLayers([...known.values()]);
  const ways = links.map(([from, to]) => way(known.get(from), known.get(to)));
  const layers = ordered([...known.values()], ways);
  const size = placed(layers);
  for (const one of known.values()) {
    const { x, y, layer, row } = one;
    Object.assign(one.node, { x, y, layer, row });
  }
  return { ...size, ways: ways.map(points) };
}

function setLayers(all) {
  const missing = new Map(all.map((one) => [one, one.from.length]));
  const ready = all.filter((one) => one.from.length === 0);
  for (const one of all) one.layer = 0;
  for (const one of ready) {
    for (const next of one.to) {
      next.layer = Math.max(next.layer, one.layer + 1);
      missing.set(next, missing.get(next) - 1);
      if (missing.get(next) === 0) ready.push(next);
    }
  }
  // What begins a way stands beside who goes on, not at the far left.
  for (const one of all) {
    if (one.from.length === 0 && one.to.length > 0) {
      one.layer = Math.max(0, Math.min(...one.to.map((next) => next.layer)) - 1);
    }
  }
}

function way(from, to) {
  const found = [from];
  for (let layer = from.layer + 1; layer < to.layer; layer += 1) {
    found.push({ layer, width: 0, height: BEND_HEIGHT, isBend: true });
  }
  return [...found, to];
}

function ordered(all, ways) {
  const layers = [];
  for (const one of new Set([...all, ...ways.flat()])) {
    one.left = [];
    one.right = [];
    (layers[one.layer] ??= []).push(one);
  }
  for (const stops of ways) {
    for (let at = 1; at < stops.length; at += 1) {
      stops[at - 1].right.push(stops[at]);
      stops[at].left.push(stops[at - 1]);
    }
  }
  number(layers);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const [side, order] = sweep % 2 ? ["right", [...layers].reverse()] : ["left", layers];
    for (const layer of order) {
      for (const one of layer) one.wish = mean(one[side].map((other) => other.row), one.row);
      layer.sort((one, other) => one.wish - other.wish);
      number([layer]);
    }
  }
  return layers;
}

function number(layers) {
  for (const layer of layers) layer.forEach((one, row) => { one.row = row; });
}

function mean(values, otherwise) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : otherwise;
}

function placed(layers) {
  let x = 0;
  for (const layer of layers) {
    const width = Math.max(...layer.map((one) => one.width));
    let y = 0;
    for (const [at, one] of layer.entries()) {
      if (at > 0) y += gap(layer[at - 1], one);
      one.x = x + width / 2;
      if (one.isBend) one.width = width; // it goes straight past the nodes of its layer
      one.y = y + one.height / 2;
      y += one.height;
    }
    x += width + COLUMN_GAP;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) align(layer);
  }
  const all = layers.flat();
  const top = Math.min(...all.map((one) => one.y - one.height / 2), Infinity);
  for (const one of all) one.y -= top;
  const height = Math.max(...all.map((one) => one.y + one.height / 2), 0);
  return { width: Math.max(0, x - COLUMN_GAP), height };
}

function gap(one, other) {
  return one.isBend && other.isBend ? BEND_GAP : ROW_GAP;
}

// The heights nearest to those wished for, in order and with gaps: pools of adjacent violators.
function align(layer) {
  let offset = 0;
  const pools = [];
  layer.forEach((one, at) => {
    if (at > 0) offset += (layer[at - 1].height + one.height) / 2 + gap(layer[at - 1], one);
    one.offset = offset;
    const wish = mean([...one.left, ...one.right].map((other) => other.y), one.y) - offset;
    pools.push({ wish, count: 1 });
    while (pools.length > 1 && pools.at(-2).wish > pools.at(-1).wish) {
      const last = pools.pop();
      const one = pools.at(-1);
      one.wish = (one.wish * one.count + last.wish * last.count) / (one.count + last.count);
      one.count += last.count;
    }
  });
  let at = 0;
  for (const pool of pools) {
    for (const end = at + pool.count; at < end; at += 1) layer[at].y = pool.wish + layer[at].offset;
  }
}

function points(stops) {
  const [first, last] = [stops[0], stops.at(-1)];
  return [
    [first.x + first.width / 2, first.y],
    ...stops.slice(1, -1).flatMap(({ x, y, width }) => [[x - width / 2, y], [x + width / 2, y]]),
    [last.x - last.width / 2, last.y],
  ];
}
