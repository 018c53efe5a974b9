// One tab at a time: two would each number their clicks and get in each other's way.

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

/** Whether another tab answers. */
async function answers(question, wanted) {
  const answered = new Promise((done) => {
    heard = (data) => data === wanted && done(true);
  });
  channel.postMessage(question);
  return Promise.race([answered, wait(ANSWER_WITHIN).then(() => false)]);
}

/** Make this the tab of the study unless another is; `left` is called when another takes over. */
export async function claim(left) {
  if (await answers("anyone?", "here")) return false;
  mine = true;
  leave = left;
  return true;
}

/** Make this the tab of the study; the other one stops first. False if a third request came meanwhile. */
export async function takeOver(left) {
  // Before the answer, so that a request of the other tab is not missed.
  mine = true;
  leave = left;
  await answers("mine now", "yours");
  return mine;
}

export const isMine = () => mine;

/** The study is over here; other tabs may show what they like. */
export function release() {
  mine = false;
}
