// What is read: consent, instructions with the worked example, the end, and notices.

import { button, el, prose, say, show } from "./dom.js";
import { plural, t } from "./texts.js";

export function consent(study, agreed) {
  const box = el("input", { type: "checkbox", id: "agree" });
  const missing = el("p", { class: "missing", id: "agree-missing" });
  box.setAttribute("aria-describedby", missing.id);
  const go = button(t("Take part"), async () => {
    if (!box.checked) {
      missing.textContent = t("Please tick the box above if you agree.");
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
  const facts = [
    plural("one image", "{n} images", study.n_images), plural("about one minute", "about {n} minutes", study.minutes),
  ];
  const terms = [t("Pay: {pay}.", { pay: study.pay.base }), ...extras(study)];
  show(
    el("h1", {}, study.title),
    el("p", { class: "facts" }, facts.join(", ")),
    prose(study.texts.consent),
    el("ul", { class: "terms" }, ...terms.map((term) => el("li", {}, term))),
    el("label", { class: "agree", for: "agree" }, box, el("span", {}, t("I have read this and agree to take part."))),
    el("div", { class: "buttons" }, go, missing),
    el("p", { class: "quiet" }, t("If you would rather not take part, simply close this page.")),
  );
}

/** What study.toml says of the bonus and of written explanations. */
function extras({ pay, explanations, task }) {
  const most = { bonus: pay.bonus, currency: pay.currency };
  const bonus = task === "clicks"
    ? t("Bonus: up to {bonus} {currency}. You get this amount times your share of clicks that hit the ball.", most)
    : t("Bonus: up to {bonus} {currency}. You get this amount times your share of right answers.", most);
  const written = plural(
    "For one image, you are also asked to explain your answer in writing.",
    "For {n} images, you are also asked to explain your answer in writing.",
    explanations,
  );
  return [
    ...(Number(pay.bonus) > 0 ? [bonus] : []),
    ...(explanations ? [written] : []),
  ];
}

export function instructions(study, practice, read) {
  const figure = (url, caption) => {
    const { width, height } = study.example;
    const image = el("img", { src: url, alt: "", width, height });
    return el("figure", {}, image, el("figcaption", {}, caption));
  };
  const drawn = study.example?.synthetic ? `${t("A drawn example, not a photo.")} ` : "";
  const example = study.example && el("div", { class: "example" },
    figure(study.example.with_ball, drawn + t("With the ball: the picture as it was.")),
    figure(study.example.without_ball, drawn + t("What you see: the ball is removed. Where was it?")));
  show(
    el("h1", {}, t("Instructions")),
    prose(study.texts.instructions),
    el("ul", { class: "terms" }, ...extras(study).map((term) => el("li", {}, term))),
    example,
    el("div", { class: "buttons" }, button(practice ? t("Try it") : t("Start"), read, { class: "main" })),
  );
}

export function finished({ completion, debriefing }) {
  const parts = [el("h1", {}, t("Thank you. You are done."))];
  const saved = t("All your answers are saved.");
  if (completion?.url && /^https?:/.test(completion.url)) {
    const prolific = /(^|\.)prolific\.com$/.test(new URL(completion.url).hostname);
    const to = prolific ? t("Return to Prolific") : t("Complete the study");
    parts.push(el("p", {}, `${saved} ${t("Please use this button, so that your participation counts:")}`),
      el("div", { class: "buttons" }, el("a", { class: "main", href: completion.url, rel: "noreferrer" }, to)));
  } else if (completion?.code) {
    const code = el("output", { class: "code" }, completion.code);
    const copy = button(t("Copy"), async () => {
      await navigator.clipboard.writeText(completion.code);
      copy.textContent = t("Copied");
      say(t("Copied"));
    });
    parts.push(el("p", {}, `${saved} ${t("Your completion code:")}`), el("div", { class: "buttons" }, code,
      navigator.clipboard ? copy : null));
  } else parts.push(el("p", {}, `${saved} ${t("You can close this page now.")}`));
  if (debriefing) parts.push(prose(debriefing, { class: "prose debriefing" }));
  show(...parts);
}

/** A page that says one thing, with a button where there is something to do. */
export function notice(title, text, action = null) {
  const buttons = action && el("div", { class: "buttons" }, button(action.label, action.on, { class: "main" }));
  show(el("h1", {}, title), el("p", {}, text), buttons);
}
