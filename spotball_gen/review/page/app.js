// The review: the current image, keyboard control, and decisions.

import { ballMiddle, draw, firstRegion, isRegion, moved } from "./picture.js";
import { Refused, get, post } from "./server.js";

const byId = (id) => document.getElementById(id);
const SAID = { accept: "Accepted", reject: "Rejected", repaint: "Inpaint again" };

let review = null; // the images and decisions from the server
let at = 0; // index of the current image
let going = Promise.resolve(); // requests, sent one after another
const LARGEST = 8; // maximum magnification
const NEAR = 10; // number of small images
const thumbs = new Map(); // small images by their index
// `marking` is the purpose of a drawn region: "repaint", "player" (a new box) or "move" (the selected box's new place).
const look = {
  ball: false, both: false, boxes: true, chosen: null, marking: null, region: null, zoom: 1, middle: null,
};

const item = () => review.items[at];

// View --------------------------------------------------------------------------------------------------------------

function show() {
  const { decision, players } = item();
  const told = {
    toggle: (index) => inTurn(() => toggle(index)),
    drag: (region) => inTurn(() => drag(region)),
    enlarge: (point, larger) => inTurn(seen(() => enlarge(point, larger))),
  };
  draw(byId("pictures"), at, item(), look, told);
  byId("where").textContent = `${at + 1} of ${review.items.length}: ${item().sport}/${item().image}`;
  const count = (verdict) => review.items.filter((one) => one.decision.verdict === verdict).length;
  byId("counts").textContent =
    `${review.reviewer}: ${count("accept")} accepted, ${count("reject")} rejected, ${count("repaint")} to inpaint again, ` +
    `${count(null)} undecided`;
  const score = item().artifact === null ? "" : ` (artifact score ${item().artifact.toFixed(2)})`;
  byId("mark").hidden = !item().first;
  byId("mark").textContent = `Look closely: ${item().why.join(", ")}${score}`;
  const { verdict, reason } = decision;
  byId("verdict").className = verdict ?? "";
  byId("verdict").textContent = verdict ? SAID[verdict] + (reason ? `: ${reason}` : "") : "Not decided";
  review.reasons.forEach((one, index) => {
    byId("reasons").children[index].firstChild.setAttribute("aria-pressed", String(one === reason));
  });
  byId("near").replaceChildren(...near());
  byId("boxes").replaceChildren(...players.map(boxEntry), ...decision.added.map(addedEntry));
  byId("boxes").children[look.chosen]?.scrollIntoView({ block: "nearest" });
  const pressed = { accept: verdict === "accept", ball: look.ball, both: look.both, overlay: look.boxes };
  const marking = { region: "repaint", player: "player", move: "move" };
  for (const [id, use] of Object.entries(marking)) pressed[id] = look.marking === use;
  for (const [id, on] of Object.entries({ ...pressed, zoom: look.zoom > 1 })) {
    byId(id).setAttribute("aria-pressed", String(on));
  }
  byId("ball").disabled = byId("both").disabled = !item().with_ball;
  byId("undo").disabled = review.last === 0;
  byId("move").disabled = look.chosen === null;
  byId("times").textContent = `${look.zoom}×`;
  byId("drop").disabled = !decision.regions.length;
  for (const [part, there] of [["with", item().with_ball], ["without", true]]) {
    // Preload the next image.
    if (there && at + 1 < review.items.length) new Image().src = `images/${part}/${at + 1}`;
  }
}

/** Return the images around the current one, with their decisions. */
function near() {
  const first = Math.max(0, Math.min(at - NEAR / 2, review.items.length - NEAR));
  return review.items.slice(first, first + NEAR).map((one, place) => thumb(one, first + place));
}

function thumb({ sport, image, decision }, index) {
  if (!thumbs.has(index)) {
    const entry = document.createElement("li");
    const button = entry.appendChild(document.createElement("button"));
    button.type = "button";
    button.tabIndex = -1;
    button.addEventListener("click", () => inTurn(seen(() => go(index))));
    const picture = button.appendChild(new Image());
    picture.src = `images/without/${index}`;
    thumbs.set(index, entry);
  }
  const entry = thumbs.get(index);
  entry.className = decision.verdict ?? "";
  entry.firstChild.setAttribute("aria-current", String(index === at));
  entry.querySelector("img").alt = `${sport}/${image}: ${decision.verdict ? SAID[decision.verdict] : "Not decided"}`;
  return entry;
}

function boxEntry(box, index) {
  const entry = document.createElement("li");
  entry.className = index === look.chosen ? "chosen" : "";
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "checkbox";
  input.tabIndex = -1;
  input.checked = !item().decision.unchecked.includes(index);
  input.addEventListener("change", () => inTurn(() => toggle(index)));
  label.append(input, String(index + 1));
  entry.append(label);
  return entry;
}

/** Return the entry of an added box; unchecking removes it. */
function addedEntry(box, index) {
  const entry = boxEntry(box, item().players.length + index);
  entry.classList.add("added");
  entry.querySelector("input").checked = true;
  return entry;
}

function trouble(text) {
  byId("trouble").hidden = text === null;
  byId("trouble").textContent = text ?? "";
}

// Decisions ---------------------------------------------------------------------------------------------------------

/** Run actions one after another, because each depends on the stored results of earlier ones. */
function inTurn(action) {
  going = going.then(action).catch((error) => {
    if (!(error instanceof Refused)) throw error;
    trouble(`${error.message}. Reload the page.`);
  });
  return going;
}

const waiting = (why) => trouble(why && `Not stored yet: ${why}. Trying again.`);

async function change(changes, then = () => {}) {
  const shown = item();
  const decision = { ...shown.decision, ...changes };
  const sent = { change: newId(), after: review.last, item: at, ...decision };
  review.last = (await post("api/decide", sent, waiting)).last;
  shown.decision = decision;
  then();
  show();
}

/** Return a random id, also if the page is not served from this machine. */
function newId() {
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  return bytes.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const accept = () => change({ verdict: "accept", reason: null, regions: [] }, () => step(1));

const reject = (reason) => change({ verdict: "reject", reason, regions: [] }, () => step(1));

function toggle(index) {
  const { unchecked, added } = item().decision;
  const place = index - item().players.length;
  if (place >= 0) {
    look.chosen = null;
    return change({ added: added.toSpliced(place, 1) });
  }
  look.chosen = index;
  const others = unchecked.filter((one) => one !== index);
  return change({ unchecked: others.length < unchecked.length ? others : [...others, index] });
}

/** Uncheck the selected box and add it elsewhere; move it if it was added. */
function move(box) {
  const { unchecked, added } = item().decision;
  const place = look.chosen - item().players.length;
  if (place >= 0) return change({ added: added.with(place, box) });
  const others = unchecked.filter((one) => one !== look.chosen);
  const changes = { unchecked: [...others, look.chosen], added: [...added, box] };
  look.chosen = item().players.length + added.length;
  return change(changes);
}

const repaint = (regions) => change({ verdict: regions.length ? "repaint" : null, reason: null, regions });

async function undo() {
  if (!review.last) return;
  const undone = await post("api/undo", { number: review.last }, waiting);
  review.last = undone.last;
  if (undone.item !== null) {
    review.items[undone.item].decision = undone.decision;
    go(undone.item);
  }
  show();
}

// Navigation --------------------------------------------------------------------------------------------------------

function go(to) {
  if (to !== at) Object.assign(look, { ball: false, chosen: null, marking: null, region: null, middle: null });
  at = to;
  history.replaceState(null, "", `#${at + 1}`);
}

const step = (by) => go(Math.min(Math.max(at + by, 0), review.items.length - 1));

/** Return the next undecided image, continuing at the beginning after the end. */
function undecided() {
  const n = review.items.length;
  for (let by = 1; by <= n; by += 1) {
    const to = (at + by) % n;
    if (review.items[to].decision.verdict === null) return go(to);
  }
  return undefined;
}

/** Actions that change only the view. */
const seen = (action) => () => {
  action();
  show();
};

function choose(by) {
  const n = item().players.length + item().decision.added.length;
  if (n) look.chosen = look.chosen === null ? (by > 0 ? 0 : n - 1) : (look.chosen + by + n) % n;
}

/** Return the corners of a box, detected or added. */
const corners = (index) => [...item().players, ...item().decision.added][index];

function mark(use) {
  look.marking = look.marking === use || (use === "move" && look.chosen === null) ? null : use;
  const first = use === "move" ? corners(look.chosen) : firstRegion(item());
  look.region = look.marking ? first : null;
}

function drag(region) {
  const use = look.marking;
  Object.assign(look, { marking: null, region: null });
  if (!isRegion(region)) return show();
  const { regions, added } = item().decision;
  if (use === "move") return move(region);
  return use === "player" ? change({ added: [...added, region] }) : repaint([...regions, region]);
}

/** Zoom in or out around a point. */
function enlarge(point, larger) {
  look.zoom = Math.min(Math.max(look.zoom * (larger ? 2 : 0.5), 1), LARGEST);
  look.middle = point;
}

/** Zoom in step by step around the ball's position, then show the whole image. */
function zoom() {
  look.middle = ballMiddle(item());
  look.zoom = look.zoom === LARGEST ? 1 : look.zoom * 2;
}

const actions = {
  accept,
  undo,
  region: seen(() => mark("repaint")),
  player: seen(() => mark("player")),
  move: seen(() => mark("move")),
  zoom: seen(zoom),
  drop: () => item().decision.regions.length && repaint(item().decision.regions.slice(0, -1)),
  ball: seen(() => (look.ball = !look.ball && item().with_ball)),
  both: seen(() => (look.both = !look.both)),
  overlay: seen(() => (look.boxes = !look.boxes)),
  previous: seen(() => step(-1)),
  next: seen(() => step(1)),
  open: seen(undecided),
};

const KEYS = {
  a: "accept", Enter: "accept", u: "undo", Backspace: "undo", m: "region", d: "player", v: "move", z: "zoom", Delete: "drop", b: "ball", s: "both",
  o: "overlay", ArrowLeft: "previous", p: "previous", ArrowRight: "next", n: "open",
};

function whileMarking(event) {
  if (event.key === "Escape" || KEYS[event.key] in { region: 0, player: 0, move: 0 }) return seen(() => mark(look.marking));
  if (event.key === "z") return seen(zoom);
  if (event.key === "Enter") return () => drag(look.region);
  if (!event.key.startsWith("Arrow")) return null;
  return seen(() => (look.region = moved(look.region, event.key, event.shiftKey, item())));
}

/** Return the action of a key, or null. */
function meant(event) {
  if (look.marking) return whileMarking(event);
  if (event.key === "ArrowUp") return seen(() => choose(-1));
  if (event.key === "ArrowDown") return seen(() => choose(1));
  if (event.key === " ") return look.chosen === null ? null : () => toggle(look.chosen);
  const reason = /^[1-9]$/.test(event.key) ? review.reasons[Number(event.key) - 1] : undefined;
  if (reason) return () => reject(reason);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return Object.hasOwn(KEYS, key) ? actions[KEYS[key]] : null;
}

function pressed(event) {
  const control = event.ctrlKey || event.metaKey;
  if (event.altKey || (control && event.key !== "z") || event.key === "Tab") return;
  // A focused button handles the key itself.
  if (document.activeElement instanceof HTMLButtonElement && ["Enter", " "].includes(event.key)) return;
  if (event.key.length === 1 || event.key.startsWith("Arrow") || event.key === "Backspace") event.preventDefault();
  inTurn(() => (control ? undo() : meant(event)?.()));
}

function begin() {
  byId("reasons").replaceChildren(
    ...review.reasons.map((reason, index) => {
      const entry = document.createElement("li");
      const button = entry.appendChild(document.createElement("button"));
      button.type = "button";
      const key = button.appendChild(document.createElement("kbd"));
      key.textContent = String(index + 1);
      button.append(` ${reason}`);
      button.addEventListener("click", () => inTurn(() => reject(reason)));
      return entry;
    }),
  );
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", () => inTurn(action));
  document.addEventListener("click", (event) => {
    // Remove the focus after a mouse click, so that keys keep their actions.
    if (event.detail) document.activeElement?.blur();
  });
  document.addEventListener("keydown", pressed);
  const wanted = Number(location.hash.slice(1));
  if (Number.isInteger(wanted) && wanted >= 1 && wanted <= review.items.length) go(wanted - 1);
  else if (item().decision.verdict !== null) undecided();
  show();
}

try {
  review = await get("api/review");
  begin();
} catch (error) {
  trouble(error instanceof Refused ? error.message : "The server does not respond. Check that spotball gen review is running.");
}
