// The study's requirements for the window: full screen, and a minimum size. Until they are met, the study is hidden.

import { button, byId, el } from "./dom.js";
import { t } from "./texts.js";

const fills = () => Boolean(document.fullscreenElement);
const isSmall = ({ min_width: width, min_height: height }, w, h) => w < width || h < height;

/** Return the requirements as text for the consent page. */
export function terms(rules) {
  const { fullscreen, min_width: width, min_height: height } = rules;
  const size = [];
  if (width && height) size.push(t("Your window must have at least {width} × {height} pixels.", { width, height }));
  else if (width) size.push(t("Your window must be at least {width} pixels wide.", { width }));
  else if (height) size.push(t("Your window must be at least {height} pixels high.", { height }));
  return [
    ...(fullscreen ? [t("The study fills your whole screen. It is recorded if you leave full screen before the end.")] : []),
    ...size,
  ];
}

/** Return why this browser does not meet the requirements; empty if it does. */
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

/** Enter full screen if the study requires it; browsers allow it only after a click or a key. */
export async function fill(rules) {
  if (!rules.fullscreen || fills()) return;
  try {
    await document.documentElement.requestFullscreen();
  } catch {
    // The message on the gate explains what to do.
  }
}

/** Hides the study while the window does not meet the requirements. */
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

  /** Start or stop enforcing the requirements. */
  watch(open) {
    this.open = open;
    this.look();
  }

  /** Stop at the end of the study. */
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
      ? t("The study continues in full screen.") : t("Your window is too small for this study. Please make it larger.");
    this.back.hidden = !this.fullscreenIsMissing;
    if (closed) document.body.append(this.node);
    this.node.hidden = !closed;
    byId("main").inert = closed;
    if (closed && !was) this.back.focus();
  }
}
