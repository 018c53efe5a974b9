// An item of the type "choice": an image, a question, and options as buttons, also selectable with number keys.

import { button, byId, el, enable } from "./dom.js";
import { Picture } from "./picture.js";
import { t } from "./texts.js";

export class ChoiceView {
  /**
   * @param item as the server describes it.
   * @param {(kind: string, value: object) => void} emit does something to the item.
   */
  constructor(item, emit) {
    this.item = item;
    this.emit = emit;
    this.stays = true; // the panel shows the choice
    this.open = false;
    this.ask = item.question;
    this.picture = new Picture(item);
    this.options = item.options.map((option, i) => {
      const node = button("", () => this.#choose(i), { class: "option", "aria-disabled": "true" });
      node.append(el("kbd", { "aria-hidden": "true" }, String(i + 1)), el("span", {}, option));
      return node;
    });
    this.panel = el("div", { class: "panel choice" },
      el("div", { class: "options", role: "group", "aria-label": item.question }, ...this.options));
    this.key = (event) => {
      const i = Number(event.key) - 1;
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !this.options[i] || byId("main").inert) return;
      event.preventDefault();
      this.#choose(i);
    };
    document.addEventListener("keydown", this.key);
  }

  begin() {
    this.open = true;
    this.options.forEach((node) => enable(node, true));
  }

  update() {}

  lock() {
    this.open = false;
    this.options.forEach((node) => enable(node, false));
  }

  /** Show after practice whether the answer was correct, if the study gives feedback. */
  reveal({ right, option }) {
    const known = this.options[option] !== undefined;
    if (known) this.options[option].classList.add("right");
    if (known && !right && this.chosen !== undefined) this.options[this.chosen].classList.add("wrong");
    const verdict = right ? t("That is correct.")
      : t("Not quite. The answer is: {answer}.", { answer: this.item.options[option] });
    return el("p", { class: `feedback ${known ? (right ? "right" : "wrong") : ""}` }, known ? verdict : t("Thank you."));
  }

  close() {
    this.picture.close();
    document.removeEventListener("keydown", this.key);
  }

  #choose(option) {
    if (!this.open) return;
    this.chosen = option;
    this.options[option].classList.add("chosen");
    this.emit("choice", { option });
  }
}
