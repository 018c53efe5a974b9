// Elements, and what screen readers are told. Text is always set as text.

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

/** A button that stays in the order of focus while it cannot be used yet. */
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

export function enable(control, on) {
  control.setAttribute("aria-disabled", String(!on));
}

/** Tell those who listen instead of looking. */
export function say(text) {
  const live = byId("live");
  // The same words again are news only where the text changes.
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

/** Replace what is on the page, and begin at its heading; what is null is left out. */
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
