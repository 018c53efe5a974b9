// A page of questions: visible questions, answers, and missing answers. The server applies the same rules.

import { button, el, prose, say, show } from "./dom.js";
import { t } from "./texts.js";

/** Return whether a question is shown, given the earlier answers by name. */
export function isShown({ show_if: rule }, answers) {
  if (!rule) return true;
  const answer = answers[rule.question];
  if (answer === undefined) return false;
  if (typeof answer === "number") {
    return (rule.at_least === null || answer >= rule.at_least) && (rule.at_most === null || answer <= rule.at_most);
  }
  const chosen = [answer].flat();
  const one = (values) => chosen.some((value) => values.includes(value));
  return (!rule.equals.length || one(rule.equals)) && !one(rule.differs);
}

/** One question on the page. */
class Field {
  constructor(question, kept, changed) {
    this.question = question;
    this.missing = el("p", { class: "missing", id: `missing-${question.name}` });
    const { type } = question;
    this.inputs = type === "text" || type === "number" ? [this.#typed()] : this.#offered();
    for (const input of this.inputs) {
      input.setAttribute("aria-describedby", this.missing.id);
      input.addEventListener("input", () => { this.missing.textContent = ""; changed(); });
    }
    this.#fill(kept);
  }

  /** Return the answer, undefined if it is missing, or NaN if it is not a number. */
  get answer() {
    const { type } = this.question, checked = this.inputs.filter((input) => input.checked).map(({ value }) => value);
    if (type === "choice") return checked[0];
    if (type === "choices") return checked.length ? checked : undefined;
    if (type === "scale") return checked.length ? Number(checked[0]) : undefined;
    const text = this.inputs[0].value.trim();
    if (!text) return undefined;
    return type === "text" ? text : Number(text.replace(",", "."));
  }

  /** Return the problem with the answer as text; empty if it is valid. */
  get fault() {
    const { answer, question: { type, required, min, max, whole } } = this;
    if (answer === undefined) return required ? t("Please answer this question.") : "";
    if (type !== "number") return "";
    if (!Number.isFinite(answer)) return t("Please enter a number.");
    if (whole && !Number.isInteger(answer)) return t("Please enter a whole number.");
    if ((min === null || answer >= min) && (max === null || answer <= max)) return "";
    if (max === null) return t("Please enter a number of at least {min}.", { min });
    if (min === null) return t("Please enter a number of at most {max}.", { max });
    return t("Please enter a number from {min} to {max}.", { min, max });
  }

  #label() {
    const { text, required } = this.question;
    return required ? [text] : [text, " ", el("span", { class: "quiet" }, t("(optional)"))];
  }

  #typed() {
    const { type, name, max_length: most, whole } = this.question;
    const input = el("input", {
      type: "text", id: `question-${name}`, autocomplete: "off", dir: type === "text" ? "auto" : null,
      inputmode: type === "text" ? null : whole ? "numeric" : "decimal", maxlength: type === "text" ? String(most) : "30",
      class: type,
    });
    this.node = el("div", { class: "question" }, el("label", { for: input.id }, ...this.#label()), input, this.missing);
    return input;
  }

  #offered() {
    const { type, name, options, min, max, low, high } = this.question;
    const entries = type === "scale"
      ? Array.from({ length: max - min + 1 }, (_, i) => ({ value: String(min + i), text: String(min + i) })) : options;
    const inputs = entries.map(({ value }) => el("input", {
      type: type === "choices" ? "checkbox" : "radio", name: `question-${name}`, value,
    }));
    const labels = inputs.map((input, i) => el("label", {}, input, el("span", { dir: "auto" }, entries[i].text)));
    const ends = (low || high) && el("div", { class: "ends" }, el("span", {}, low ?? ""), el("span", {}, high ?? ""));
    this.node = el("fieldset", { class: "question" }, el("legend", {}, ...this.#label()),
      el("div", { class: type === "scale" ? "scale" : "offered" }, ...labels), ends || null, this.missing);
    return inputs;
  }

  #fill(kept) {
    if (kept === undefined) return;
    if (this.node.tagName === "DIV") this.inputs[0].value = String(kept);
    else for (const input of this.inputs) input.checked = [kept].flat().map(String).includes(input.value);
  }
}

/**
 * Show a page of questions.
 * @param {{title: string, text: ?string, note: ?string, questions: object[]}} page where the note says what went before.
 * @param {object} earlier answers to earlier pages, by name.
 * @param {{read: () => object, write: (answers: object) => void}} draft keeps answers until they are sent.
 * @param {(answers: object) => void} done is called once, with good answers.
 */
export function ask({ title, text, note, questions }, earlier, draft, done) {
  const kept = draft.read();
  const answers = () => {
    const all = { ...earlier }, own = {};
    for (const { question, answer } of fields) {
      if (isShown(question, all) && answer !== undefined && !Number.isNaN(answer)) all[question.name] = own[question.name] = answer;
    }
    return [own, all];
  };
  const update = () => {
    const [own, all] = answers();
    fields.forEach(({ node, question }) => { node.hidden = !isShown(question, all); });
    draft.write(own);
  };
  const fields = questions.map((question) => new Field(question, kept[question.name], update));
  const go = button(t("Continue"), () => {
    const faulty = fields.filter(({ node, fault, missing }) => {
      missing.textContent = node.hidden ? "" : fault;
      return missing.textContent;
    });
    if (faulty.length) {
      say(faulty[0].missing.textContent);
      faulty[0].inputs[0].focus();
      return;
    }
    draft.write({});
    done(answers()[0]);
  }, { class: "main" });
  show(
    el("h1", {}, title),
    note ? el("p", { class: "note" }, note) : null,
    text ? el("p", {}, text) : null,
    el("div", { class: "questions" }, ...fields.map(({ node }) => node)),
    el("div", { class: "buttons" }, go),
  );
  update();
}
