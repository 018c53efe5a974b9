// Controls the study for a participant: the order of screens, and the recording of events.

import { get, patiently, post } from "./api.js";
import { fill, Gate } from "./display.js";
import { byId, say } from "./dom.js";
import { preload } from "./picture.js";
import { Progress } from "./progress.js";
import { ask } from "./questions.js";
import { draft, forget, Queue, uuid } from "./queue.js";
import * as screens from "./screens.js";
import { claim, isMine, release, takeOver } from "./tabs.js";
import { t } from "./texts.js";
import { Trial } from "./trial.js";

const PERSON = `spotball:person:${location.pathname}`; // One host may serve several studies.
const KEY = `spotball:key:${location.pathname}`;
const NOTICE_AFTER = 1500; // milliseconds after which a slow request is announced
const AGAIN = { label: t("Reload"), on: () => location.reload() };
const CONTINUE = { label: t("Continue here"), on: async () => { if (await takeOver(left)) await refresh(); } };

let study, progress, queue, trial, feedbackOf, gate;
let recovering = false; // The cookie was lost and restored by the link, and nothing was stored since.

const wanted = new URLSearchParams(location.search).get("list"); // The list to preview, in a pilot.
const viewport = () => [window.innerWidth, window.innerHeight, window.devicePixelRatio];

/** Return the IDs in Prolific's link, or null without one. */
function fromLink() {
  const query = new URLSearchParams(location.search);
  const [pid, ofStudy, session] = ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"].map((name) => query.get(name) ?? "");
  return pid || ofStudy || session ? { pid, study: ofStudy, session } : null;
}

/** Remember the person if the browser allows it, to distinguish two people at one computer. */
const person = {
  known: () => stored(() => localStorage.getItem(PERSON)),
  isAnother: () => {
    const known = person.known(), now = fromLink()?.pid;
    return Boolean(known && now && known !== now);
  },
  /** Whether the person of the link has given consent in this browser. */
  isSame: () => Boolean(fromLink()?.pid) && person.known() === fromLink().pid,
  remember: () => stored(() => localStorage.setItem(PERSON, fromLink()?.pid ?? "")),
};

function stored(action) {
  try {
    return action();
  } catch {
    return null; // Storage is disabled.
  }
}

const unreachable = () => { saving(t("The study cannot be reached. Trying again …")); };

function saving(text) {
  const line = byId("saving");
  if (line.textContent !== text) line.textContent = text;
}

async function asked(request) {
  const answer = await patiently(request, unreachable);
  saving("");
  return answer;
}

async function open() {
  const slow = setTimeout(() => saving(t("Loading …")), NOTICE_AFTER);
  const described = await asked(() => get("api/study"));
  clearTimeout(slow);
  saving("");
  if (!described.ok) return failed(described);
  study = described.body;
  document.title = study.title;
  byId("pilot").hidden = !study.pilot;
  gate = new Gate(study.display, (on) => record("fullscreen", progress.trial, { on }, 0));
  const { state } = study;
  const isOther = person.isAnother() || (wanted && wanted !== state?.list);
  if (state && !isOther) return enter(state);
  if (person.isSame()) return recover();
  return screens.consent(study, start);
}

const begin = (more = {}) =>
  asked(() => post("api/start", {
    consent: true, prolific: fromLink(), viewport: viewport(), ...(wanted ? { list: wanted } : {}), ...(study.records.device ? device() : {}), ...more,
  }));

/** Return the key of the next start, which stays the same until a start succeeds, also if the page is loaded again. */
function startKey() {
  const key = stored(() => sessionStorage.getItem(KEY)) ?? uuid();
  stored(() => sessionStorage.setItem(KEY, key));
  return key;
}

const device = () => ({ language: navigator.language || null, touch: navigator.maxTouchPoints > 1 });

/** Continue without a new consent if the cookie is lost but the link identifies the person. */
async function recover() {
  const answer = await begin({ resume: true });
  if (!answer.ok) return screens.consent(study, start);
  recovering = true;
  return enter(answer.body);
}

async function start() {
  // Call this immediately, because browsers allow it only during the click.
  const filled = fill(study.display);
  const key = startKey();
  const answer = await begin({ key });
  await filled;
  if (!answer.ok) gate.end();
  if (answer.ok) {
    stored(() => sessionStorage.removeItem(KEY));
    person.remember();
    return enter(answer.body);
  }
  const refusals = {
    403: [
      t("Please use your link"),
      t("This study is only available through the link that you received. Please open that link."),
    ],
    410: [t("The study is full"), t("No more participants are needed at the moment. Thank you for your interest.")],
    409: [t("You have already taken part"), t("Each person can take part once. Thank you for your interest.")],
    422: [
      t("Your link is not complete"),
      t("Part of your link is missing. Please open the study again from where you found it."),
    ],
  };
  return refusals[answer.status] ? screens.notice(...refusals[answer.status]) : failed(answer);
}

function failed({ status, body }) {
  const told = typeof body.error === "string" ? ` (${body.error})` : "";
  screens.notice(
    t("This did not work"),
    t("The study's server reported error {status}. Please reload the page or tell the researchers.", {
      status: `${status}${told}`,
    }),
    AGAIN,
  );
}

/** Continue from a server state, unless another tab has the study. */
async function enter(state) {
  if (!isOver(state.stage) && !(await claim(left))) {
    return screens.notice(
      t("The study is open in another tab"),
      t("You can continue there or here. Your answers are kept in both cases."),
      CONTINUE,
    );
  }
  return resume(state);
}

function left() {
  leave();
  byId("bar").hidden = true;
  saving("");
  screens.notice(
    t("The study continues in another tab"),
    t("The study continues in another tab of this browser. You can close this tab."),
    CONTINUE,
  );
}

/** Replace the local state by the server's. */
async function refresh() {
  const state = await asked(() => get("api/state"));
  if (!isMine()) return undefined; // Another tab has taken over.
  if (state.ok) return resume(state.body);
  return unknown();
}

const isOver = (stage) => stage === "finished" || stage === "screened";

function leave() {
  gate?.watch(false);
  queue?.stop();
  trial?.close();
  trial = null;
}

function resume(state) {
  leave();
  progress = new Progress(state, study);
  queue = new Queue(progress.participant, {
    stored: (answer, events) => {
      recovering = false;
      if (events.some(({ kind }) => kind === "quiz")) return void refresh();
      const answered = events.some(({ kind }) => kind === "answer" || kind === "choice");
      if (progress.stage === "practice" && answered) gotFeedback(answer.feedback ?? {});
      if (progress.ended && !queue.events.length) void finish();
      return undefined;
    },
    refused: () => {
      forget(progress.participant);
      say(t("The page was updated."));
      void refresh();
    },
    unknown,
    waiting: (_, failing) => saving(failing ? t("Not saved yet, trying again …") : ""),
  });
  feedbackOf = null;
  queue.restore(progress.seq).forEach((event) => progress.take(event));
  next();
  // A new participant may still have to answer the browser's question about full screen.
  if (gate.fullscreenIsMissing && !progress.ended && progress.seq > 1) record("fullscreen", progress.trial, { on: false }, 0);
}

function unknown() {
  leave();
  byId("bar").hidden = true;
  release();
  saving("");
  // Without cookies, the link would lead back to this point in an endless loop.
  if (study && !recovering && person.isSame()) return recover();
  if (study && !recovering && fromLink()) return screens.consent(study, start);
  return screens.notice(
    t("The study cannot continue in this browser"),
    t("The page no longer knows who you are. If cookies are blocked, please allow them for this page and open your link to the study again."),
    AGAIN,
  );
}

function record(kind, number, value, elapsed) {
  const event = {
    seq: progress.seq + 1, event: uuid(), kind, trial: number, value,
    elapsed_ms: Math.round(Math.max(0, elapsed) * 10) / 10, viewport: viewport(),
  };
  progress.take(event);
  queue.push(event);
}

const stageIsOver = (stage) => { record("stage", null, { stage }, 0); next(); };

/** Show the current screen. */
function next() {
  trial?.close();
  trial = null;
  bar();
  preload(progress.item, progress.following);
  gate.watch(!progress.ended);
  if (progress.stage === "instructions") {
    screens.instructions(study, progress, () => stageIsOver("instructions"));
  } else if (progress.questionnaire) fillIn(progress.questionnaire);
  else if (progress.stage === "quiz") attempt();
  else if (progress.stage === "waiting") screens.notice(t("One moment"), t("Your answers are being checked."));
  else if (progress.ended) end();
  else if (progress.item) showTrial();
  else endOfPractice();
}

/** Unsent answers of a page, stored so that a reload does not lose them. */
const kept = (page) => ({
  read: () => {
    try {
      return JSON.parse(draft.read(progress.participant, page) || "{}");
    } catch {
      return {};
    }
  },
  write: (answers) => draft.write(progress.participant, page, Object.keys(answers).length ? JSON.stringify(answers) : ""),
});

function fillIn(questionnaire) {
  const { name } = questionnaire;
  ask(questionnaire, progress.survey, kept(`questionnaire ${name}`), (answers) => {
    record("questionnaire", null, { name, answers }, 0);
    next();
  });
}

function attempt() {
  const { attempts, left } = progress.quiz;
  const note = attempts > 0 && left < study.quiz.attempts ? screens.attemptsLeft(left) : null;
  const page = { title: t("Questions about the instructions"), text: study.quiz.text, note, questions: study.quiz.questions };
  ask(page, {}, kept("quiz"), (answers) => {
    record("quiz", null, { answers }, 0);
    next();
  });
}

function showTrial() {
  const { item } = progress;
  trial = new Trial(item, progress, (kind, value, elapsed) => did(item, kind, value, elapsed), {
    question: study.texts.explanation, letters: study.explanation_letters, mouse: study.records.mouse,
  });
  if (progress.stage === "trials") say(imageOf(progress.trial));
  void trial.begin();
}

/** Handle an event on the current item. */
function did(item, kind, value, elapsed) {
  const { explaining, stage } = progress;
  record(kind, item.trial, value, elapsed);
  if (kind === "shown" || kind === "mouse") return;
  if (kind === "click" || kind === "undo") trial.update();
  else if (stage === "practice") {
    feedbackOf = item;
    trial.wait();
  } else if (progress.explaining && !explaining) {
    bar();
    trial.explain();
  } else next();
}

const afterPractice = () => (progress.item ? t("Next") : t("Start"));

function goOn() {
  feedbackOf = null;
  if (progress.item) next();
  else stageIsOver("practice");
}

/** Handle the response after practice events are stored: it has feedback if they end with an answer. */
function gotFeedback(feedback) {
  if (feedbackOf) trial.reveal(feedback, afterPractice(), goOn);
  else if (!progress.item) {
    progress.feedback.set(progress.practice.at(-1).trial, feedback);
    endOfPractice();
  }
}

/** Show the feedback on the last practice item again after a reload, then the images. */
function endOfPractice() {
  const item = progress.practice.at(-1), feedback = progress.feedback.get(item.trial);
  trial?.close();
  trial = new Trial(item, progress, () => {});
  if (feedback) void trial.again(feedback, afterPractice(), goOn);
  else trial.wait();
}

function end() {
  screens.notice(t("One moment"), t("Your last answers are being saved. Please keep this page open for a moment."));
  if (!queue.events.length) void finish();
}

async function finish() {
  const state = await asked(() => get("api/state"));
  if (!state.ok) return unknown();
  if (!isOver(state.body.stage)) return resume(state.body);
  queue.stop();
  release();
  gate.end();
  byId("bar").hidden = true;
  if (state.body.wait) setTimeout(() => void finish(), 1000 * (state.body.wait + 1));
  return state.body.stage === "screened" ? screens.screened(state.body) : screens.finished(state.body);
}

const imageOf = (number) => t("Image {number} of {total}", { number: number + 1, total: progress.trials.length });

function bar() {
  const { stage, trials, answered, trial: number } = progress;
  byId("bar").hidden = stage !== "practice" && stage !== "trials";
  const done = stage === "practice" ? 0 : answered;
  byId("where").textContent = stage === "practice" ? t("Practice") : imageOf(number ?? 0);
  const line = byId("progress");
  line.setAttribute("aria-valuemax", trials.length);
  line.setAttribute("aria-valuenow", done);
  line.setAttribute("aria-valuetext", t("{done} of {total} images done", { done, total: trials.length }));
  line.firstElementChild.style.width = `${(100 * done) / trials.length}%`;
}

// Record how long the page was hidden or without focus, when it is visible again.
let since = null;

const away = () => { since ??= performance.now(); };

function back() {
  if (since === null || document.visibilityState === "hidden" || !document.hasFocus()) return;
  const ms = performance.now() - since;
  since = null;
  const going = queue && !queue.stopped && !progress.ended;
  if (going && study.records.focus) record("away", progress.trial, { ms: Math.round(ms) }, 0);
}

window.addEventListener("blur", away);
window.addEventListener("focus", back);
document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? away() : back()));

// A page restored from the browser's memory may be outdated.
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

void open();
