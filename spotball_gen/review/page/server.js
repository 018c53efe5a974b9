// Requests to the review's server. A change is sent again until the server confirms that it is stored.

const PATIENCE = 10000; // milliseconds for one request
const PAUSE = 1000;

export class Refused extends Error {
  constructor(status, why) {
    super(why);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const reply = await fetch(path, { credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE), ...options });
  const body = await reply.json();
  if (reply.ok) return body;
  throw new Refused(reply.status, body.error);
}

export const get = (path) => ask(path, { cache: "no-store" });

/** Send a request until it succeeds; `waiting` is called with the reason of a failure, then with null. */
export async function post(path, content, waiting) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  for (;;) {
    try {
      const body = await ask(path, options);
      waiting(null);
      return body;
    } catch (error) {
      if (error instanceof Refused && error.status < 500) throw error;
      waiting(error instanceof Refused ? error.message : "the server does not answer");
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }
}
