// Allow only one tab at a time, because two tabs would number their events independently.

import { wait } from "./dom.js";

const ANSWER_WITHIN = 300; // milliseconds

const channel = new BroadcastChannel(`spotball-study ${location.pathname}`);
let mine = false;
let leave = null;
let heard = null;

channel.onmessage = ({ data }) => {
  if (data === "anyone?" && mine) channel.postMessage("here");
  else if (data === "mine now" && mine) {
    mine = false;
    leave();
    channel.postMessage("yours");
  } else if (data === "here" || data === "yours") heard?.(data);
};

/** Return whether another tab responds. */
async function answers(question, wanted) {
  const answered = new Promise((done) => {
    heard = (data) => data === wanted && done(true);
  });
  channel.postMessage(question);
  return Promise.race([answered, wait(ANSWER_WITHIN).then(() => false)]);
}

/** Make this tab active unless another is active; `left` is called when another tab takes over. */
export async function claim(left) {
  if (await answers("anyone?", "here")) return false;
  mine = true;
  leave = left;
  return true;
}

/** Make this tab active after the other one has stopped; false if a third tab interfered. */
export async function takeOver(left) {
  // Do this before the response, so that no request of the other tab is missed.
  mine = true;
  leave = left;
  await answers("mine now", "yours");
  return mine;
}

export const isMine = () => mine;

/** Release the study at its end, so that other tabs may show anything. */
export function release() {
  mine = false;
}
