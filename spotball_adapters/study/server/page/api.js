// Requests to the study's server. All addresses are relative to the page.

import { wait } from "./dom.js";

const PATIENCE = 20000; // milliseconds for one request
const LONGEST_PAUSE = 30000;
const KEPT_ALIVE = 60000; // bytes of requests that a browser completes after the page is closed

/** No response from the study's server: the network is down, or requires a login. */
export class Unreachable extends Error {}

/** Return the status and content of a response; throw Unreachable without one. */
async function ask(path, options = {}) {
  try {
    const reply = await fetch(path, { credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE), ...options });
    const pause = 1000 * (Number(reply.headers.get("Retry-After")) || 0);
    return { status: reply.status, ok: reply.ok, body: await reply.json(), pause };
  } catch (error) {
    throw new Unreachable(path, { cause: error });
  }
}

export const get = (path) => ask(path, { cache: "no-store" });

export function post(path, content) {
  const body = JSON.stringify(content);
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body, keepalive: body.length < KEPT_ALIVE / 3 });
}

/** Return whether to repeat a request, because the server is busy or failing. */
export const later = (answer) => answer.status === 429 || answer.status >= 500;

/** Return the milliseconds to wait before the nth attempt (from 1): increasing, and random between clients. */
export function pauseBefore(attempt, asked = 0) {
  const pause = Math.min(LONGEST_PAUSE, 500 * 2 ** Math.min(attempt, 10));
  return Math.max(asked, pause * (0.75 + Math.random() / 2));
}

/** Return the first successful response. `waiting` is called after each failure. */
export async function patiently(request, waiting) {
  for (let attempt = 1; ; attempt += 1) {
    let asked = 0;
    try {
      const answer = await request();
      if (!later(answer)) return answer;
      asked = answer.pause;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
    }
    waiting();
    await Promise.race([
      wait(pauseBefore(attempt, asked)),
      new Promise((done) => window.addEventListener("online", done, { once: true })),
    ]);
  }
}
