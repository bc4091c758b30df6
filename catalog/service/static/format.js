// Numbers and times as people read them.

export const NONE = "–";

/** A duration: 340 ms, 1.2 s, 3 min 20 s, 5 h 10 min, 2 d 3 h. */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return NONE;
  if (milliseconds < 1000) return `${milliseconds} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

/** A moment: its time today, or also its date. */
export function moment(milliseconds, nowMs) {
  if (milliseconds === null || milliseconds === undefined) return NONE;
  const at = new Date(milliseconds);
  const two = (number) => String(number).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** A count with groups of three digits. */
export function count(number) {
  if (number === null || number === undefined) return NONE;
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A text of at most `length` characters; of a longer one the end, which differs more often. */
export function shortened(text, length) {
  const characters = [...text];
  return characters.length <= length ? text : `…${characters.slice(1 - length).join("")}`;
}

/** The name of a table as one says it: the namespace is left out where everybody is. */
export function shortName(name) {
  return name.startsWith("default.") ? name.slice("default.".length) : name;
}
