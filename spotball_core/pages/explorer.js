"use strict";
// Sort, filter and copy tables, select respondents, sort and filter images, and guess before looking.
// The page is complete without this script; it stores nothing and loads nothing.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const labeled = (text, control) => make("label", {}, text, " ", control);
  const choice = (options) =>
    make("select", {}, ...options.map(([value, text]) => make("option", { value }, text)));

  // Tables ---------------------------------------------------------------------------------------------------

  const number = (text) => {
    const value = parseFloat(text.replace(/,/g, "").replace("−", "-"));
    return Number.isNaN(value) ? null : value;
  };
  const compare = (a, b, sign) => {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return sign * (x - y);
    if ((x === null) !== (y === null)) return x === null ? 1 : -1; // rows without a value stay at the end
    return sign * a.localeCompare(b);
  };
  const rowsOf = (body) => [...body.rows].filter((row) => !one("th.sport", row));

  // Each column's cells: a value may have an interval and more in cells of its own.
  const columns = (row, spans) => {
    let start = 0;
    return spans.map((span) => {
      const cells = [...row.cells].slice(start, start + span);
      start += span;
      return cells.map((cell) => cell.textContent.trim());
    });
  };

  const sortBy = (table, spans, place, head) => {
    const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const body of table.tBodies) {
      const keyed = rowsOf(body).map((row) => [columns(row, spans)[place][0] || "", row]);
      keyed.sort((a, b) => compare(a[0], b[0], sign));
      body.append(...keyed.map(([, row]) => row));
    }
  };

  const content = (table, spans) => {
    const heads = all("thead th", table).map((head) => head.dataset.name);
    const titled = [...table.tBodies].some((body) => one("th.sport", body));
    const wide = heads.flatMap((head, i) =>
      spans[i] === 1 ? [head] : [head, ...["95% interval", "more"].slice(0, spans[i] - 1).map((t) => `${head}: ${t}`)],
    );
    const lines = [titled ? ["", ...wide] : wide];
    for (const body of table.tBodies) {
      const title = one("th.sport", body)?.textContent.trim() ?? "";
      for (const row of rowsOf(body)) {
        if (row.hidden) continue;
        const cells = [...row.cells].map((cell) => cell.textContent.trim());
        lines.push(titled ? [title, ...cells] : cells);
      }
    }
    return lines;
  };

  const asCsv = (lines) => {
    // A cell that a spreadsheet would take for a formula is marked as text.
    const safe = (cell) => (/^[=+@\t\r]/.test(cell) && number(cell) === null ? `'${cell}` : cell);
    const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell);
    return lines.map((line) => line.map((cell) => quoted(safe(cell))).join(",")).join("\n") + "\n";
  };
  const asMarkdown = (lines) => {
    const row = (line) => `| ${line.map((cell) => cell.replace(/[\\|`*_<>[\]]/g, "\\$&")).join(" | ")} |`;
    return [row(lines[0]), `|${lines[0].map(() => " --- |").join("")}`, ...lines.slice(1).map(row)].join("\n") + "\n";
  };
  const asLatex = (lines) => {
    const special = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
    const safe = (cell) =>
      cell.replace(/[\\~^&%$#_{}]/g, (sign) => special[sign] ?? `\\${sign}`).replace(/–/g, "--").replace(/≤/g, "$\\leq$");
    const row = (line) => `${line.map(safe).join(" & ")} \\\\`;
    return [
      `\\begin{tabular}{${"l".repeat(lines[0].length)}}`,
      "\\toprule", row(lines[0]), "\\midrule", ...lines.slice(1).map(row), "\\bottomrule", "\\end{tabular}", "",
    ].join("\n");
  };

  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    const name = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = name; }, 1200);
  };

  for (const region of all(".table")) {
    const table = one("table", region);
    const heads = all("thead th", table);
    const spans = heads.map((head) => head.colSpan);
    heads.forEach((head, place) => {
      head.dataset.name = head.textContent.trim();
      const button = make("button", { type: "button", className: "sort" }, head.dataset.name);
      button.addEventListener("click", () => sortBy(table, spans, place, head));
      head.replaceChildren(button);
    });
    const filter = make("input", { type: "search", size: 14 });
    filter.addEventListener("input", () => {
      all("tbody tr", table).forEach((row) => { row.dataset.found = row.textContent.toLowerCase().includes(filter.value.toLowerCase()) ? "" : "no"; });
      refresh();
    });
    const tools = make("div", { className: "tools" }, labeled("Filter", filter), "Copy as");
    for (const [name, format] of [["CSV", asCsv], ["Markdown", asMarkdown], ["LaTeX", asLatex]]) {
      const button = make("button", { type: "button" }, name);
      button.addEventListener("click", () => copy(format(content(table, spans)), button));
      tools.append(button);
    }
    region.before(tools);
  }

  // Respondents ----------------------------------------------------------------------------------------------

  const respondents = JSON.parse(document.body.dataset.respondents || "[]");
  const hidden = new Set();
  // Of two respondents of which one's name begins with the other's, the longer one is meant.
  const longest = [...respondents].sort((a, b) => b.length - a.length);
  const ofMark = (text) => longest.find((name) => text.startsWith(`${name}:`) || text.startsWith(`${name} `));

  const refresh = () => {
    for (const row of all(".table tbody tr")) {
      if (one("th.sport", row)) continue;
      row.hidden = hidden.has(one("th", row)?.textContent.trim()) || row.dataset.found === "no";
    }
    for (const card of all("[data-r]")) card.hidden = hidden.has(card.dataset.r);
    for (const mark of all("[data-mark]")) mark.classList.toggle("dim", hidden.has(ofMark(mark.dataset.mark)));
  };

  if (respondents.length > 1) {
    const summary = make("summary", {}, "Respondents shown: all");
    const boxes = respondents.map((name) => {
      const box = make("input", { type: "checkbox", checked: true });
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(name); else hidden.add(name);
        const n = respondents.length - hidden.size;
        summary.textContent = `Respondents shown: ${hidden.size ? `${n} of ${respondents.length}` : "all"}`;
        refresh();
      });
      return make("label", {}, box, " ", name);
    });
    one("nav.contents").append(make("details", { className: "choose" }, summary, make("div", {}, ...boxes)));
  }

  // Images ---------------------------------------------------------------------------------------------------

  const explorer = one("#explorer");
  const images = all("details.image");
  const order = (image) => JSON.parse(image.dataset.order);

  if (explorer && images.length) {
    const sort = choice(JSON.parse(explorer.dataset.orders));
    sort.addEventListener("change", () => {
      for (const box of all(".images")) {
        const keyed = all("details.image", box).map((image) => [order(image)[sort.value] ?? -Infinity, image]);
        keyed.sort((a, b) => b[0] - a[0]);
        box.append(...keyed.map(([, image]) => image));
      }
    });
    const modes = explorer.dataset.modes.split(";").filter(Boolean).map((mode) => mode.split("="));
    const fails = choice([["", "all images"], ...modes]);
    fails.addEventListener("change", () => {
      for (const image of images) image.hidden = !!fails.value && !image.dataset.fails.split(" ").includes(fails.value);
    });
    const open = make("button", { type: "button" }, "Open all");
    open.addEventListener("click", () => {
      const any = images.some((image) => !image.open && !image.hidden);
      images.forEach((image) => { image.open = any && !image.hidden; });
      open.textContent = any ? "Close all" : "Open all";
    });
    const guess = make("button", { type: "button", ariaPressed: "false" }, "Guess first");
    guess.addEventListener("click", () => {
      const on = guess.getAttribute("aria-pressed") !== "true";
      guess.setAttribute("aria-pressed", String(on));
      images.forEach((image) => (on ? start(image) : reveal(image)));
    });
    explorer.append(labeled("Sort", sort), labeled("Show", fails), open, guess);
  }

  // Guess before looking: three cells, then the comparison.
  const GUESSES = 3;
  const place = (label) => {
    const match = /^([A-Z]+)([0-9]+)$/.exec(label.trim().toUpperCase());
    if (!match) return null;
    const row = [...match[1]].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0);
    return { row: row - 1, col: Number(match[2]) - 1, label: match[0] };
  };
  const letters = (row) => (row >= 26 ? letters(Math.floor(row / 26) - 1) : "") + String.fromCharCode(65 + (row % 26));

  function start(image) {
    image.classList.add("guessing");
    const figure = one(".truth", image);
    const svg = one("svg", figure);
    const label = svg.getAttribute("aria-label");
    svg.dataset.alt ??= label;
    svg.setAttribute("aria-label", "The picture. Guess where the ball is.");
    one(".guess", figure)?.remove();
    const field = make("input", { size: 12, placeholder: "D5 D6 C5" });
    const form = make("form", { className: "guess" }, `Click ${GUESSES} cells, or `, labeled("type them:", field));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      field.value.split(/[\s,]+/).forEach((text) => add(image, place(text)));
    });
    figure.append(form);
    image.guesses = [];
    svg.onclick = (event) => {
      const [rows, cols, wide, high] = svg.dataset.cells.split(" ").map(Number);
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const [row, col] = [Math.floor((at.y / high) * rows), Math.floor((at.x / wide) * cols)];
      add(image, { row, col, label: `${letters(row)}${col + 1}` });
    };
  }

  function add(image, cell) {
    const svg = one(".truth svg", image);
    const [rows, cols, wide, high] = svg.dataset.cells.split(" ").map(Number);
    if (!cell || !image.guesses || image.guesses.length >= GUESSES) return;
    if (cell.row < 0 || cell.row >= rows || cell.col < 0 || cell.col >= cols) return;
    image.guesses.push(cell);
    const [x, y] = [((cell.col + 0.5) * wide) / cols, ((cell.row + 0.5) * high) / rows];
    const mark = document.createElementNS(svg.namespaceURI, "g");
    mark.setAttribute("class", "guessed");
    for (const [tag, attributes, text] of [
      ["circle", { cx: x, cy: y, r: 14, fill: "#111", stroke: "#fff", "stroke-width": 3 }],
      ["text", { x, y, dy: ".36em", "text-anchor": "middle", "font-size": 18, fill: "#fff" }, image.guesses.length],
    ]) {
      const part = document.createElementNS(svg.namespaceURI, tag);
      Object.entries(attributes).forEach(([name, value]) => part.setAttribute(name, value));
      if (text) part.textContent = text;
      mark.append(part);
    }
    svg.append(mark);
    if (image.guesses.length === GUESSES) finish(image);
  }

  function finish(image) {
    const svg = one(".truth svg", image);
    const [rows, cols, wide, high] = svg.dataset.cells.split(" ").map(Number);
    const ball = svg.dataset.ball.split(" ").map(place).filter(Boolean);
    const people = Object.entries(JSON.parse(svg.dataset.people)).map(([label, share]) => [place(label), share]);
    const name = one(".truth figcaption strong", image).textContent;
    const distance = (a, b) => Math.hypot(((a.col - b.col) * wide) / cols, ((a.row - b.row) * high) / rows);
    const off = (cell) => Math.min(...ball.map((other) => distance(cell, other)));
    const sum = (pairs, of) => pairs.reduce((total, [cell, share]) => total + share * of(cell), 0);
    const hit = (cell) => (ball.some((other) => other.label === cell.label) ? 1 : 0);
    const mine = image.guesses.map((cell) => [cell, 1 / GUESSES]);
    const percent = (value) => `${(100 * value).toFixed(1)}%`;
    const lines = [];
    if (ball.length) {
      lines.push(`You: ${Math.round(GUESSES * sum(mine, hit))} of ${GUESSES} guesses hit the ball; the mean error is ${sum(mine, off).toFixed(0)} px.`);
      if (people.length) lines.push(`${name}: ${percent(sum(people, hit))} hit the ball; the mean error is ${sum(people, off).toFixed(0)} px.`);
      for (const card of all(".card[data-right]", image))
        lines.push(`${one("h5", card).firstChild.textContent.trim()}: ${percent(Number(card.dataset.right))} hit the ball.`);
    }
    const alike = people.filter(([cell]) => image.guesses.some((guess) => guess.label === cell.label));
    if (people.length) lines.push(`${percent(sum(alike, () => 1))} of the guesses of ${name} are in your cells.`);
    reveal(image);
    one(".truth", image).append(make("p", { className: "guess", role: "status" }, lines.join(" ")));
  }

  function reveal(image) {
    image.classList.remove("guessing");
    const svg = one(".truth svg", image);
    svg.onclick = null;
    if (svg.dataset.alt) svg.setAttribute("aria-label", svg.dataset.alt);
    all(".guess", image).forEach((part) => part.remove());
    if (!image.guesses || image.guesses.length < GUESSES) all(".guessed", image).forEach((part) => part.remove());
  }

  // A link to a card opens what it is in.
  const show = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", show);
  show();
})();
