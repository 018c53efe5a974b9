// An item of the type "clicks": the grid over the image, in which cells are chosen, removed and confirmed.

import { button, el, enable, say } from "./dom.js";
import { Picture } from "./picture.js";
import { nodes, plural, t } from "./texts.js";

// As spotball_core/overlay.py draws grids: size of the type in a picture 360 pixels high, and how much of a cell its
// label may cover. On a small screen, labels that read would hide the players: names stand around the picture.
const WANTED = 13, ACROSS = 0.65, DOWN = 0.4, SHARE = 0.21, SMALLEST = 12, MOST_COVERED = 0.1;
const WIDE = 0.66; // of a letter, in sizes of the type
const JUST_NOW = 700; // milliseconds within which a click event belongs to a pointer event that was already handled

const NUMBERS = [
  "no", t("one"), t("two"), t("three"), t("four"), t("five"), t("six"), t("seven"), t("eight"), t("nine"), t("ten"),
];
const word = (n) => NUMBERS[n] ?? String(n);
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const count = (n) => Array.from({ length: n }, (_, i) => i + 1);
const cells = (n) => plural("one cell", "{number} cells", n, { number: word(n) });

export function rowName(row) {
  let name = "";
  for (let rest = row; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  }
  return name;
}

/** Return the number of characters of the longest label. */
const lettersOf = ({ rows, cols }) => rowName(rows).length + String(cols).length;
const labelOf = ([row, col]) => `${rowName(row)}${col}`;
const spoken = ([row, col]) => t("row {row}, column {column}", { row: rowName(row), column: col });
const both = (items) => (items.length > 1
  ? t("{list} and {last}", { list: items.slice(0, -1).join(", "), last: items.at(-1) }) : String(items[0]));

export class ClicksView {
  /**
   * @param item as the server describes it.
   * @param {(kind: string, value: object) => void} emit does something to the item.
   */
  constructor(item, emit) {
    this.item = item;
    this.emit = emit;
    this.stays = false; // the image shows the choice
    this.chosen = [];
    this.at = [1, 1];
    this.open = false;
    this.handled = -JUST_NOW;
    this.ask = t("Where is the ball? Choose {cells}.", { cells: cells(item.clicks) });
    this.#drawGrid();
    this.picture = new Picture(item, {
      inside: this.grid,
      edges: (width, height) => this.#edges(width, height),
      resized: () => this.#type(),
    });
    this.picture.frame.append(...this.#names());
    this.#drawPanel();
    this.update([]);
  }

  /** Enable choosing. */
  begin() {
    this.open = true;
    this.grid.removeAttribute("aria-busy");
    this.focus();
  }

  focus() {
    this.#cell(this.at).focus({ preventScroll: true });
  }

  /** Show the current choices. */
  update(chosen) {
    this.chosen = chosen;
    const marks = new Map();
    chosen.forEach((cell, i) => marks.set(labelOf(cell), [...(marks.get(labelOf(cell)) ?? []), i + 1]));
    for (const [label, cell] of this.byLabel) {
      const guesses = marks.get(label) ?? [];
      cell.node.classList.toggle("chosen", guesses.length > 0);
      cell.node.setAttribute("aria-selected", String(guesses.length > 0));
      const said = guesses.length ? t(", guess {guesses}", { guesses: both(guesses) }) : "";
      cell.node.setAttribute("aria-label", spoken(cell.at) + said);
      cell.mark.textContent = guesses.join(" ");
    }
    this.slots.forEach((slot, i) => {
      slot.classList.toggle("filled", i < chosen.length);
      slot.lastChild.textContent = i < chosen.length ? labelOf(chosen[i]) : "–";
    });
    this.complete = chosen.length === this.item.clicks;
    this.panel.classList.toggle("complete", this.complete);
    this.#tell("");
    enable(this.undo, chosen.length > 0);
    enable(this.confirm, this.complete);
  }

  /** Disable choosing after the answer. */
  lock() {
    this.open = false;
    this.grid.classList.add("locked");
    this.#light(null);
    for (const { node } of this.byLabel.values()) node.tabIndex = -1;
  }

  /** Show after practice where the ball was. */
  reveal(feedback) {
    const ball = feedback.cells;
    for (const cell of ball) this.#cell(cell).classList.add("ball");
    const names = ball.map(labelOf);
    const hits = this.chosen.filter((cell) => names.includes(labelOf(cell))).length;
    const where = t("The ball was in {cells}.", { cells: both(names) });
    // After a reload, the choices in practice are unknown.
    if (!this.chosen.length) return el("p", { class: "feedback" }, where);
    const some = hits
      ? plural("One of your guesses is there.", "{number} of your guesses are there.", hits, {
        number: capital(word(hits)),
      })
      : t("None of your guesses is there.");
    const verdict = hits === this.chosen.length ? t("All your guesses are there.") : some;
    return el("p", { class: `feedback ${hits ? "right" : "wrong"}` }, `${where} ${verdict}`);
  }

  close() {
    this.picture.close();
  }

  #cell([row, col]) {
    return this.byLabel.get(labelOf([row, col])).node;
  }

  #drawGrid() {
    const { rows, cols, clicks } = this.item;
    this.byLabel = new Map();
    const cell = (at) => {
      const label = el("span", { "aria-hidden": "true" }, labelOf(at)), mark = el("b", { "aria-hidden": "true" });
      const node = el("div", { role: "gridcell", tabindex: labelOf(at) === "A1" ? "0" : "-1" }, label, mark);
      this.byLabel.set(labelOf(at), { node, mark, at });
      return node;
    };
    const lines = count(rows).map((row) => el("div", { role: "row" }, ...count(cols).map((col) => cell([row, col]))));
    const help = t("The image, with {rows} rows and {cols} columns. Choose {cells}.", {
      rows, cols, cells: cells(clicks),
    });
    this.grid = el("div", {
      role: "grid", class: "grid", "aria-label": help, "aria-multiselectable": "true", "aria-busy": "true",
      onkeydown: (event) => this.#key(event),
      onpointerdown: (event) => this.#down(event),
      onpointermove: (event) => this.#over(event),
      onpointerup: (event) => this.#up(event),
      onpointerleave: () => this.#light(null),
      onpointercancel: () => { this.pressed = false; this.#light(null); },
      onclick: (event) => this.#assisted(event),
    }, ...lines);
    this.grid.style.setProperty("--rows", rows);
    this.grid.style.setProperty("--cols", cols);
  }

  /** Create letters and numbers around the image, shown if cells are too small for labels. */
  #names() {
    const name = (text, side, share) => {
      const node = el("span", { class: `name ${side}`, "aria-hidden": "true" }, text);
      node.style.setProperty("--at", `${100 * share}%`);
      return node;
    };
    const { rows, cols } = this.item;
    return [
      ...["left", "right"].flatMap((side) => count(rows).map((row) => name(rowName(row), side, (row - 0.5) / rows))),
      ...["above", "below"].flatMap((side) => count(cols).map((col) => name(String(col), side, (col - 0.5) / cols))),
    ];
  }

  #drawPanel() {
    this.slots = count(this.item.clicks).map((n) => el("li", {}, el("b", {}, String(n)), el("span", {}, "–")));
    this.hint = el("p", { class: "missing hint" });
    this.undo = button(t("Undo"), () => this.#undo());
    this.confirm = button(t("Confirm"), () => this.#confirm(), { class: "main" });
    this.panel = el("div", { class: "panel clicks" },
      el("ol", { class: "slots", "aria-label": t("Your guesses") }, ...this.slots),
      el("div", { class: "buttons" }, this.undo, this.confirm),
      this.hint,
      el("p", { class: "keys" }, ...nodes("{arrows} move, {enter} chooses and confirms, {backspace} undoes", {
        arrows: el("kbd", {}, t("Arrows")), enter: el("kbd", {}, t("Enter")), backspace: el("kbd", {}, t("Backspace")),
      })));
    this.panel.style.setProperty("--letters", lettersOf(this.item));
  }

  /** Return the size of labels in cells of this image; 0 if they do not fit. */
  #size(width, height) {
    const { rows, cols } = this.item;
    const letters = lettersOf(this.item), wide = width / cols, high = height / rows;
    const wanted = Math.max(WANTED, (WANTED * height) / 360);
    const fits = Math.min(wanted, (ACROSS * wide) / (WIDE * letters), (DOWN * high) / 0.75);
    const size = Math.max(fits, Math.min(SHARE * Math.min(wide, high), wanted));
    const covered = (WIDE * letters * size * 0.75 * size) / (wide * high);
    return size >= SMALLEST && covered <= MOST_COVERED ? size : 0;
  }

  #edges(width, height) {
    const size = this.#size(width, height);
    this.inCells = size > 0;
    const names = Math.min(14, (width / this.item.cols - 3) / (WIDE * String(this.item.cols).length));
    this.size = this.inCells ? size : Math.max(9, names);
    const letters = rowName(this.item.rows).length;
    return this.inCells ? [0, 0] : [Math.ceil(this.size * (WIDE * letters + 0.5)), Math.ceil(this.size * 1.4)];
  }

  #type() {
    this.picture.frame.classList.toggle("edged", !this.inCells);
    this.picture.frame.style.setProperty("--type", `${this.size.toFixed(1)}px`);
  }

  /** Return the cell under a pointer and its position in the image, or null outside. */
  #under(event) {
    const box = this.grid.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
    if (x < 0 || y < 0 || x >= 1 || y >= 1) return null;
    return { row: Math.floor(y * this.item.rows) + 1, col: Math.floor(x * this.item.cols) + 1, x, y };
  }

  #light(cell) {
    const node = cell && this.open && !this.complete ? this.#cell([cell.row, cell.col]) : null;
    if (this.lit !== node) this.lit?.classList.remove("lit");
    node?.classList.add("lit");
    this.lit = node;
  }

  #down(event) {
    if (!event.isPrimary || event.button !== 0) return;
    this.pressed = true;
    this.grid.setPointerCapture(event.pointerId);
    this.#light(this.#under(event));
    event.preventDefault();
  }

  #over(event) {
    if (event.isPrimary) this.#light(this.#under(event));
  }

  #up(event) {
    if (!this.pressed || !event.isPrimary) return;
    this.pressed = false;
    this.handled = performance.now();
    const cell = this.#under(event);
    if (event.pointerType !== "mouse") this.#light(null);
    if (cell) this.#choose({ ...cell, by: event.pointerType || "mouse" });
  }

  /** Handle a click without a pointer, as sent by screen readers. */
  #assisted(event) {
    if (performance.now() - this.handled < JUST_NOW) return;
    const node = event.target.closest("[role=gridcell]");
    const found = [...this.byLabel.values()].find((cell) => cell.node === node);
    if (found) this.#choose({ ...this.#middle(found.at), by: "keyboard" });
  }

  #middle([row, col]) {
    return { row, col, x: (col - 0.5) / this.item.cols, y: (row - 0.5) / this.item.rows };
  }

  #key(event) {
    const { rows, cols } = this.item;
    const [row, col] = this.at;
    const to = {
      ArrowUp: [Math.max(1, row - 1), col], ArrowDown: [Math.min(rows, row + 1), col],
      ArrowLeft: [row, Math.max(1, col - 1)], ArrowRight: [row, Math.min(cols, col + 1)],
      Home: [event.ctrlKey ? 1 : row, 1], End: [event.ctrlKey ? rows : row, cols],
      PageUp: [1, col], PageDown: [rows, col],
    }[event.key];
    if (to) this.#move(to);
    else if (event.key === "Enter" || event.key === " ") {
      if (event.repeat) return event.preventDefault();
      if (!this.complete) this.#choose({ ...this.#middle(this.at), by: "keyboard" });
      else if (event.key === "Enter") this.#confirm();
      else say(`${this.#chosenAll()} ${t("Press Enter to confirm, Backspace to undo.")}`);
    } else if (event.key === "Backspace" || event.key === "Delete") this.#undo();
    else return undefined;
    return event.preventDefault();
  }

  #move(to) {
    if (!this.open) return;
    this.#cell(this.at).tabIndex = -1;
    this.at = to;
    this.#cell(to).tabIndex = 0;
    this.focus();
  }

  #choose(click) {
    if (!this.open) return;
    this.#move([click.row, click.col]);
    if (this.complete) {
      this.#nudge(this.confirm);
      return this.#tell(`${this.#chosenAll()} ${t("Confirm, or undo.")}`);
    }
    this.emit("click", click);
    const rest = this.item.clicks - this.chosen.length;
    this.#light(null);
    const then = rest ? capital(plural("one choice left.", "{number} choices left.", rest, { number: word(rest) }))
      : t("Press Enter to confirm, Backspace to undo.");
    say(`${capital(t("{cell} chosen.", { cell: spoken([click.row, click.col]) }))} ${then}`);
  }

  #chosenAll() {
    return capital(t("{cells} chosen.", { cells: cells(this.item.clicks) }));
  }

  #undo() {
    if (!this.open || !this.chosen.length) return;
    const last = this.chosen.at(-1);
    this.emit("undo", {});
    say(capital(t("{cell} removed.", { cell: spoken(last) })));
    if (document.activeElement !== this.undo) this.focus();
  }

  #confirm() {
    if (!this.open) return;
    if (!this.complete) {
      return this.#tell(t("You still have to choose {cells}.", { cells: cells(this.item.clicks - this.chosen.length) }));
    }
    this.emit("answer", { cells: this.chosen.map((cell) => [...cell]) });
  }

  /** Show a message below the image and announce it; the next choice removes it. */
  #tell(text) {
    this.hint.textContent = text;
    if (text) say(text);
  }

  #nudge(node) {
    node.classList.remove("nudged");
    void node.offsetWidth;
    node.classList.add("nudged");
  }
}
