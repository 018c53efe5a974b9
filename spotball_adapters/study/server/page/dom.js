// Create elements, and announce texts to screen readers. Text is always set as text, never as HTML.

export const byId = (id) => document.getElementById(id);

/** An element with its children; attributes are set as text, `onclick` and the like as listeners, true as present. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A part of the study's own text. The server made this HTML from Markdown and escaped whatever was HTML in it. */
export function prose(html, attributes = {}) {
  const node = el("div", { class: "prose", ...attributes });
  node.innerHTML = html;
  return node;
}

/** Create a button that stays in the focus order while it is disabled. */
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

export function enable(control, on) {
  control.setAttribute("aria-disabled", String(!on));
}

/** Announce a text to screen readers. */
export function say(text) {
  const live = byId("live");
  // Screen readers announce repeated words only if the text changes.
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

/** Replace the page's content, and focus its heading; null entries are skipped. */
export function show(...children) {
  const main = byId("main");
  main.className = "";
  main.replaceChildren(...children.filter((child) => child !== null));
  window.scrollTo(0, 0);
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

export const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
