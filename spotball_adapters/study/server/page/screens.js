// What is read: consent, instructions with the worked example, the end, and notices.

import { button, el, prose, say, show } from "./dom.js";

export function consent(study, agreed) {
  const box = el("input", { type: "checkbox", id: "agree" });
  const missing = el("p", { class: "missing", id: "agree-missing" });
  box.setAttribute("aria-describedby", missing.id);
  const go = button("Take part", async () => {
    if (!box.checked) {
      missing.textContent = "Please tick the box above if you agree.";
      say(missing.textContent);
      box.focus();
      return;
    }
    if (go.getAttribute("aria-disabled") === "true") return;
    go.setAttribute("aria-disabled", "true");
    await agreed();
    go.removeAttribute("aria-disabled");
  }, { class: "main" });
  box.addEventListener("change", () => { missing.textContent = ""; });
  const facts = [`${study.n_images} images`, `about ${study.minutes} ${study.minutes === 1 ? "minute" : "minutes"}`];
  const terms = [`Pay: ${study.pay.base}.`, ...extras(study)];
  show(
    el("h1", {}, study.title),
    el("p", { class: "facts" }, facts.join(", ")),
    prose(study.texts.consent),
    el("ul", { class: "terms" }, ...terms.map((term) => el("li", {}, term))),
    el("label", { class: "agree", for: "agree" }, box, el("span", {}, "I have read this and agree to take part.")),
    el("div", { class: "buttons" }, go, missing),
    el("p", { class: "quiet" }, "If you would rather not take part, simply close this page."),
  );
}

/** What study.toml says of the bonus and of written explanations. */
function extras({ pay, explanations, task }) {
  const right = task === "clicks" ? "clicks that hit the ball" : "right answers";
  const bonus = `Bonus: up to ${pay.bonus} ${pay.currency}. You get this amount times your share of ${right}.`;
  const images = explanations === 1 ? "one image" : `${explanations} images`;
  return [
    ...(Number(pay.bonus) > 0 ? [bonus] : []),
    ...(explanations ? [`For ${images}, you are also asked to explain your answer in writing.`] : []),
  ];
}

export function instructions(study, practice, read) {
  const figure = (url, caption) => {
    const { width, height } = study.example;
    const image = el("img", { src: url, alt: "", width, height });
    return el("figure", {}, image, el("figcaption", {}, caption));
  };
  const drawn = study.example?.synthetic ? "A drawn example, not a photo. " : "";
  const example = study.example && el("div", { class: "example" },
    figure(study.example.with_ball, `${drawn}With the ball: the picture as it was.`),
    figure(study.example.without_ball, `${drawn}What you see: the ball is removed. Where was it?`));
  show(
    el("h1", {}, "Instructions"),
    prose(study.texts.instructions),
    el("ul", { class: "terms" }, ...extras(study).map((term) => el("li", {}, term))),
    example,
    el("div", { class: "buttons" }, button(practice ? "Try it" : "Start", read, { class: "main" })),
  );
}

export function finished({ completion, debriefing }) {
  const parts = [el("h1", {}, "Thank you. You are done.")];
  const saved = "All your answers are saved.";
  if (completion?.url && /^https?:/.test(completion.url)) {
    const prolific = /(^|\.)prolific\.com$/.test(new URL(completion.url).hostname);
    const to = prolific ? "Return to Prolific" : "Complete the study";
    parts.push(el("p", {}, `${saved} Please use this button, so that your participation counts:`),
      el("div", { class: "buttons" }, el("a", { class: "main", href: completion.url, rel: "noreferrer" }, to)));
  } else if (completion?.code) {
    const code = el("output", { class: "code" }, completion.code);
    const copy = button("Copy", async () => {
      await navigator.clipboard.writeText(completion.code);
      copy.textContent = "Copied";
      say("Copied");
    });
    parts.push(el("p", {}, `${saved} Your completion code:`), el("div", { class: "buttons" }, code,
      navigator.clipboard ? copy : null));
  } else parts.push(el("p", {}, `${saved} You can close this page now.`));
  if (debriefing) parts.push(prose(debriefing, { class: "prose debriefing" }));
  show(...parts);
}

/** A page that says one thing, with a button where there is something to do. */
export function notice(title, text, action = null) {
  const buttons = action && el("div", { class: "buttons" }, button(action.label, action.on, { class: "main" }));
  show(el("h1", {}, title), el("p", {}, text), buttons);
}
