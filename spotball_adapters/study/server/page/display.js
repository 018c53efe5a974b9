// What the study requires of the window: full screen, and a smallest size. Until it is so, nothing else is seen.

import { button, byId, el } from "./dom.js";
import { t } from "./texts.js";

const fills = () => Boolean(document.fullscreenElement);
const isSmall = ({ min_width: width, min_height: height }, w, h) => w < width || h < height;

/** What is required, in words, for the consent page. */
export function terms(rules) {
  const { fullscreen, min_width: width, min_height: height } = rules;
  const size = [];
  if (width && height) size.push(t("Your window must be at least {width} × {height} pixels large.", { width, height }));
  else if (width) size.push(t("Your window must be at least {width} pixels wide.", { width }));
  else if (height) size.push(t("Your window must be at least {height} pixels high.", { height }));
  return [
    ...(fullscreen ? [t("The study fills your whole screen. It is recorded if you leave full screen before the end.")] : []),
    ...size,
  ];
}

/** Why taking part is not possible in this browser as it is now; empty if it is. */
export function obstacle(rules) {
  if (rules.fullscreen && !document.fullscreenEnabled) {
    return t("This browser cannot show the study in full screen. Please open your link on a computer or in another browser.");
  }
  const { width, height } = window.screen;
  const [w, h] = rules.fullscreen ? [width, height] : [window.innerWidth, window.innerHeight];
  if (!isSmall(rules, w, h)) return "";
  if (isSmall(rules, width, height)) return t("Your screen is too small for this study. Please open your link on a larger one.");
  return t("Your window is too small for this study. Please make it larger.");
}

/** Fill the screen, if the study wants it; only a click or a key allows it. */
export async function fill(rules) {
  if (!rules.fullscreen || fills()) return;
  try {
    await document.documentElement.requestFullscreen();
  } catch {
    // The gate says what to do.
  }
}

/** Keeps the study out of sight while the window is not as it must be. */
export class Gate {
  /** `changed(on)` is called when full screen is left or entered. */
  constructor(rules, changed) {
    this.rules = rules;
    this.changed = changed;
    this.open = false;
    this.text = el("p", { id: "gate-text" });
    this.back = button(t("Back to full screen"), () => fill(rules), { class: "main" });
    this.node = el("div", { id: "gate", role: "alertdialog", "aria-modal": "true", "aria-describedby": "gate-text", hidden: true },
      this.text, this.back);
    window.addEventListener("resize", () => this.look());
    document.addEventListener("fullscreenchange", () => {
      if (this.open && rules.fullscreen) this.changed(fills());
      this.look();
    });
  }

  /** From now on the window matters, or does not any more. */
  watch(open) {
    this.open = open;
    this.look();
  }

  /** The study is over. */
  end() {
    this.watch(false);
    if (this.rules.fullscreen && fills()) void document.exitFullscreen();
  }

  get fullscreenIsMissing() {
    return this.rules.fullscreen && !fills();
  }

  look() {
    const small = isSmall(this.rules, window.innerWidth, window.innerHeight);
    const closed = this.open && (this.fullscreenIsMissing || small);
    const was = !this.node.hidden;
    this.text.textContent = this.fullscreenIsMissing
      ? t("The study goes on in full screen.") : t("Your window is too small for this study. Please make it larger.");
    this.back.hidden = !this.fullscreenIsMissing;
    if (closed) document.body.append(this.node);
    this.node.hidden = !closed;
    byId("main").inert = closed;
    if (closed && !was) this.back.focus();
  }
}
