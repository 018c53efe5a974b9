// Events on their way to the server: stored in the browser before they are sent, sent in order, and sent again
// until they are stored. An event that is sent twice has the same id and is stored once.

import { later, pauseBefore, post, Unreachable } from "./api.js";

const AT_ONCE = 25;

export class Queue {
  /**
   * @param {string} participant whose it is; another's events in the same browser are left alone.
   * @param {{stored, refused, unknown, waiting}} told what is called: stored(answer, events) after events are stored, refused()
   *   when the server's rules or its order do not allow them, unknown() where it does not know the participant,
   *   waiting(number, failing) whenever that changes.
   */
  constructor(participant, told) {
    this.key = `spotball:queue:${participant}`;
    this.told = told;
    this.events = [];
    this.failures = 0;
    this.sending = this.stopped = false;
    this.online = () => this.#now();
    window.addEventListener("online", this.online);
  }

  /** Return the events that were not stored when the page was closed: those after the server's last. */
  restore(seq) {
    this.events = read(this.key).filter((event) => event.seq > seq);
    if (this.events.some((event, i) => event.seq !== seq + 1 + i)) this.events = [];
    this.#keep();
    void this.#send();
    return [...this.events];
  }

  push(event) {
    this.events.push(event);
    this.#keep();
    void this.#send();
  }

  /** Stop sending and storing, because another tab continues. */
  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    window.removeEventListener("online", this.online);
  }

  #now() {
    clearTimeout(this.timer);
    void this.#send();
  }

  async #send() {
    if (this.sending || this.stopped) return;
    this.sending = true;
    while (this.events.length && !this.stopped) {
      let answer = { status: 0, pause: 0 };
      try {
        answer = await post("api/events", { events: this.events.slice(0, AT_ONCE) });
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
      }
      if (this.stopped) break;
      // 421: the proxy in front of the study is not configured yet.
      if (answer.status === 0 || answer.status === 421 || later(answer)) {
        this.failures += 1;
        this.told.waiting(this.events.length, true);
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.#now(), pauseBefore(this.failures, answer.pause));
        break;
      }
      if (!answer.ok) {
        this.stop();
        if (answer.status === 401) this.told.unknown();
        else this.told.refused();
        break;
      }
      this.failures = 0;
      const done = this.events.filter((event) => event.seq <= answer.body.seq);
      this.events = this.events.filter((event) => event.seq > answer.body.seq);
      this.#keep();
      this.told.waiting(this.events.length, false);
      this.told.stored(answer.body, done);
    }
    this.sending = false;
  }

  #keep() {
    write(this.key, this.events);
  }
}

/** Delete the events that the server rejected. */
export function forget(participant) {
  write(`spotball:queue:${participant}`, []);
}

/** Unsent text, stored so that a reload does not lose it. */
export const draft = {
  read: (participant, trial) => {
    const kept = read(`spotball:draft:${participant}`)[0];
    return kept?.trial === trial ? kept.text : "";
  },
  write: (participant, trial, text) => write(`spotball:draft:${participant}`, text ? [{ trial, text }] : []),
};

function read(key) {
  try {
    const kept = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    // Storage is disabled or has other content, so only the server's state is available.
    return [];
  }
}

function write(key, entries) {
  try {
    if (entries.length) localStorage.setItem(key, JSON.stringify(entries));
    else localStorage.removeItem(key);
  } catch {
    // Storage is disabled or full, so events are sent from memory.
  }
}

/** A random UUID; crypto.randomUUID is missing where the page does not come by HTTPS. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
