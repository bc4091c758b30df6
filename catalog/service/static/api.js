// Requests to the service, with the token if it asks for one.

const KEY = "token";
const TIMEOUT_MS = 15000;

export class Unauthorized extends Error {}

/** Keeps the token until the tab is closed. */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

/** Whether this tab has a token, without which a service takes no orders. */
export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

/** Gives an order, and returns what the service answers; throws as `ask`. */
export function give(order, job) {
  return ask(`v1/jobs/${order}`, { job }, "POST");
}

/** Returns what a path answers; throws `Unauthorized`, or an error that says what went wrong. */
export async function ask(path, parameters = {}, method = "GET") {
  const token = sessionStorage.getItem(KEY);
  const query = new URLSearchParams(parameters).toString();
  const response = await fetch(query ? `${path}?${query}` : path, {
    method,
    headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return response.json();
  const { error } = await response.json().catch(() => ({ error: null }));
  const text = error === null ? `status ${response.status}` : error.message;
  throw response.status === 401 ? new Unauthorized(text) : new Error(text);
}
