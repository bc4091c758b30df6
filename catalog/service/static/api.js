// Requests to the service, with the token if it asks for one.

const KEY = "token";
const TIMEOUT_MS = 15000;

export class Unauthorized extends Error {}

/** Keeps the token until the tab is closed. */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

/** Returns what a path answers; throws `Unauthorized`, or an error that says what went wrong. */
export async function ask(path, parameters = {}) {
  const token = sessionStorage.getItem(KEY);
  const query = new URLSearchParams(parameters).toString();
  const response = await fetch(query ? `${path}?${query}` : path, {
    headers: token === null ? {} : { Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return response.json();
  const { error } = await response.json().catch(() => ({ error: null }));
  const text = error === null ? `status ${response.status}` : error.message;
  throw response.status === 401 ? new Unauthorized(text) : new Error(text);
}
