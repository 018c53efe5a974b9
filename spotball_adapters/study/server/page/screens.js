// Screens with text: consent, instructions with the example, the end, and notices.

import { obstacle, terms as displayTerms } from "./display.js";
import { button, el, prose, say, show } from "./dom.js";
import { nodes, plural, t } from "./texts.js";

export function consent(study, agreed) {
  const box = el("input", { type: "checkbox", id: "agree" });
  const missing = el("p", { class: "missing", id: "agree-missing" });
  box.setAttribute("aria-describedby", missing.id);
  const go = button(t("Take part"), async () => {
    if (!box.checked) {
      missing.textContent = t("Please tick the box above if you agree.");
      say(missing.textContent);
      box.focus();
      return undefined;
    }
    missing.textContent = obstacle(study.display);
    if (missing.textContent) return void say(missing.textContent);
    if (go.getAttribute("aria-disabled") === "true") return undefined;
    go.setAttribute("aria-disabled", "true");
    await agreed();
    go.removeAttribute("aria-disabled");
    return undefined;
  }, { class: "main" });
  box.addEventListener("change", () => { missing.textContent = ""; });
  const facts = [
    plural("one image", "{n} images", study.n_images), plural("about one minute", "about {n} minutes", study.minutes),
  ];
  const terms = [
    t("Pay: {pay}.", { pay: study.pay.base }), ...extras(study), ...asked(study), ...displayTerms(study.display),
    ...(study.min_minutes ? [plural(
      "You can complete the study one minute after you begin, at the earliest.",
      "You can complete the study {n} minutes after you begin, at the earliest.",
      study.min_minutes,
    )] : []),
    ...(study.records.mouse ? [t("The movements of your mouse over the images are recorded.")] : []),
  ];
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

/** Return the texts about the bonus and written explanations. */
function extras({ pay, explanations, task }) {
  const most = { bonus: pay.bonus, currency: pay.currency };
  const seconds = pay.min_seconds?.toLocaleString(document.documentElement.lang);
  const bonus = [
    task === "clicks"
      ? t("Bonus: up to {bonus} {currency}. You get this amount times the share of your clicks that hit the ball.", most)
      : t("Bonus: up to {bonus} {currency}. You get this amount times the share of your answers that are correct.", most),
    pay.checks ? t("Practice images and check images, whose answer is obvious, do not count.") : t("Practice images do not count."),
    ...(seconds ? [t("You get no bonus if your median or mean time per image is below {seconds} s.", { seconds })] : []),
    ...(pay.clock ? [t("You get no bonus if your browser reports more time than has passed.")] : []),
  ].join(" ");
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

/** Return the texts about questionnaires and the quiz. */
function asked({ questionnaires, quiz }) {
  const pages = plural("You also fill in one questionnaire.", "You also fill in {n} questionnaires.", questionnaires.length);
  const ends = quiz && plural(
    "Before the images, you answer questions about the instructions. You have one attempt. If an answer is wrong, your participation ends.",
    "Before the images, you answer questions about the instructions. You have {n} attempts. If no attempt is fully correct, your participation ends.",
    quiz.attempts,
  );
  const repeats = t("Before the images, you answer questions about the instructions.");
  return [
    ...(questionnaires.length ? [pages] : []),
    ...(quiz ? [quiz.failure === "screened-out" ? ends : repeats] : []),
  ];
}

/** Return the text above the quiz after a failed attempt. */
export const attemptsLeft = (left) => plural(
  "Not all answers were correct. You have one attempt left.", "Not all answers were correct. You have {n} attempts left.", left,
);

/** Return the text about the participant's label. */
const label = (participant) => el("p", { class: "quiet" }, ...nodes(
  "Your label in this study is {label}. To have your answers deleted, send this label to the researchers.",
  { label: el("b", {}, participant) },
));

export function instructions(study, { participant, practice, quiz }, read) {
  const failed = quiz && quiz.attempts > 0 && !quiz.passed;
  const note = failed && el("p", { class: "note" }, t("Not all answers were correct. Please read the instructions again."));
  const next = study.quiz && !quiz.passed ? t("Continue") : practice.length ? t("Try it") : t("Start");
  const figure = (url, caption) => {
    const { width, height } = study.example;
    const image = el("img", { src: url, alt: "", width, height });
    return el("figure", {}, image, el("figcaption", {}, caption));
  };
  const drawn = study.example?.synthetic ? `${t("This example is a drawing, not a photo.")} ` : "";
  const example = study.example && el("div", { class: "example" },
    figure(study.example.with_ball, drawn + t("With the ball: the original image.")),
    figure(study.example.without_ball, drawn + t("What you see: the ball is removed. Where was it?")));
  show(
    el("h1", {}, t("Instructions")),
    note || null,
    prose(study.texts.instructions),
    el("ul", { class: "terms" }, ...extras(study).map((term) => el("li", {}, term))),
    example,
    el("div", { class: "buttons" }, button(next, read, { class: "main" })),
    label(participant),
  );
}

export function finished(state) {
  ended(t("Thank you. You are done."), t("All your answers are saved."), state);
}

export function screened(state) {
  ended(
    t("Thank you for your interest."),
    t("Not all answers about the instructions were correct, so your participation ends here."),
    state,
  );
}

function ended(title, saved, { participant, completion, wait, debriefing }) {
  const parts = [el("h1", {}, title)];
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
  } else if (wait) {
    const at = new Date(Date.now() + 1000 * wait);
    const time = at.toLocaleTimeString(document.documentElement.lang, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    const early = t("You were faster than the minimum time of this study. Please keep this page open: at {time}, it shows how to complete the study.", { time });
    parts.push(el("p", {}, `${saved} ${early}`));
  } else parts.push(el("p", {}, `${saved} ${t("You can close this page now.")}`));
  if (debriefing) parts.push(prose(debriefing, { class: "prose debriefing" }));
  show(...parts, label(participant));
}

/** Return a page with one message, and a button if an action is possible. */
export function notice(title, text, action = null) {
  const buttons = action && el("div", { class: "buttons" }, button(action.label, action.on, { class: "main" }));
  show(el("h1", {}, title), el("p", {}, text), buttons);
}
