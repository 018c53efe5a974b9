// One item, from the display of its image to its answer, explanation or feedback.

import { button, byId, el, prose, say } from "./dom.js";
import { ChoiceView } from "./choice.js";
import { ClicksView } from "./clicks.js";
import { MousePath } from "./mouse.js";
import { draft } from "./queue.js";
import { t } from "./texts.js";

const VIEWS = { clicks: ClicksView, choice: ChoiceView };
const LONGEST = 2000; // characters of an explanation

const lettersOf = (text) => (text.match(/[\p{L}\p{N}]/gu) ?? []).length;

export class Trial {
  /**
   * @param item as the server describes it.
   * @param {import("./progress.js").Progress} progress of which this item is the current one.
   * @param {(kind: string, value: object, elapsed: number) => void} record keeps what is done to the item, and when, in
   *   milliseconds since its picture was painted.
   * @param {{question: string, letters: number, mouse: boolean}} options what is asked where an explanation is wanted,
   *   HTML; how many letters and digits it has at least; and whether the mouse's path is recorded.
   */
  constructor(item, progress, record, { question = "", letters = 0, mouse = false } = {}) {
    this.item = item;
    this.progress = progress;
    this.explanation = { question, letters };
    this.tracks = mouse && item.trial >= 0;
    this.record = record;
    this.emit = (kind, value) => {
      const elapsed = performance.now() - this.painted;
      if (kind === "answer" || kind === "choice") this.#recordPath(elapsed);
      record(kind, value, elapsed);
    };
    this.view = new VIEWS[item.type](item, (kind, value) => this.emit(kind, value));
    const main = byId("main");
    this.foot = el("div", { class: "foot" }, this.view.panel);
    main.className = "task";
    main.replaceChildren(el("h1", { class: "ask" }, this.view.ask), this.view.picture.node, this.foot);
    window.scrollTo(0, 0);
  }

  /** Show the image, and enable input. */
  async begin() {
    this.view.update(this.progress.clicks);
    const painted = await this.view.picture.painted();
    if (this.closed) return;
    this.painted = painted;
    this.record("shown", {}, 0);
    if (this.tracks && !this.progress.explaining) this.path = new MousePath(this.view.picture.frame, painted);
    if (this.progress.explaining) this.explain();
    else this.view.begin();
  }

  /** Show a practice item again that was answered before a reload. */
  async again(feedback, next, on) {
    await this.view.picture.painted();
    this.reveal(feedback, next, on);
  }

  update() {
    this.view.update(this.progress.clicks);
  }

  /** Ask for an explanation of the answer. */
  explain() {
    this.view.lock();
    const { participant } = this.progress, { trial } = this.item;
    const id = "explanation";
    const area = el("textarea", {
      id, rows: "2", maxlength: String(LONGEST),
      "aria-labelledby": `${id}-question`, "aria-describedby": `${id}-missing`,
      oninput: () => {
        missing.textContent = "";
        draft.write(participant, trial, area.value);
      },
    });
    area.value = draft.read(participant, trial);
    const missing = el("p", { id: `${id}-missing`, class: "missing" });
    const done = () => {
      const text = area.value.trim();
      if (lettersOf(text) < this.explanation.letters) {
        missing.textContent = text ? t("Please write a few more words.") : t("Please write a few words first.");
        area.focus();
        return;
      }
      draft.write(participant, trial, "");
      this.emit("explanation", { text });
    };
    this.foot.replaceChildren(el("div", { class: "panel explain" },
      prose(this.explanation.question, { id: `${id}-question` }), area,
      el("div", { class: "buttons" }, button(t("Continue"), done, { class: "main" })), missing));
    area.focus();
  }

  /** Wait for the feedback on a practice item. */
  wait() {
    this.view.lock();
    this.#put(el("div", { class: "panel" }, el("p", { class: "feedback" }, t("One moment …"))));
  }

  /** Show the feedback on a practice item, and continue. */
  reveal(feedback, next, on) {
    this.view.lock();
    const told = this.view.reveal(feedback);
    const go = button(next, on, { class: "main" });
    this.#put(el("div", { class: "panel told" }, told, el("div", { class: "buttons" }, go)));
    say(told.textContent);
    go.focus({ preventScroll: true });
  }

  #recordPath(elapsed) {
    const points = this.path?.points ?? [];
    this.path?.close();
    this.path = null;
    if (points.length) this.record("mouse", { points }, elapsed);
  }

  #put(panel) {
    this.foot.replaceChildren(...(this.view.stays ? [this.view.panel] : []), panel);
  }

  close() {
    this.closed = true;
    this.path?.close();
    this.view.close();
  }
}
