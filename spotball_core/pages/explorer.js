"use strict";
// Sort, filter and copy tables; select respondents; sort, filter, show and blend images; and guess before looking.
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
  // A cell with a small chart contains all three.
  const columns = (row, heads) => {
    let start = 0;
    return heads.map((head) => {
      const cells = [...row.cells].slice(start, start + head.colSpan);
      start += head.colSpan;
      const parts = head.matches(".charts") ? ["span", "small", "i"].map((tag) => one(tag, cells[0])) : cells;
      return parts.map((part) => part.textContent.trim());
    });
  };

  const sortBy = (table, heads, place, head) => {
    const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
    all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const body of table.tBodies) {
      const keyed = rowsOf(body).map((row) => [columns(row, heads)[place][0] || "", row]);
      keyed.sort((a, b) => compare(a[0], b[0], sign));
      body.append(...keyed.map(([, row]) => row));
    }
  };

  const content = (table, heads) => {
    const titled = [...table.tBodies].some((body) => one("th.sport", body));
    const wide = heads.flatMap((head) => {
      const more = ["95% interval", "more"].slice(0, head.matches(".charts") ? 2 : head.colSpan - 1);
      return [head.dataset.name, ...more.map((text) => `${head.dataset.name}: ${text}`)];
    });
    const lines = [titled ? ["", ...wide] : wide];
    for (const body of table.tBodies) {
      const title = one("th.sport", body)?.textContent.trim() ?? "";
      for (const row of rowsOf(body)) {
        if (row.hidden) continue;
        const cells = columns(row, heads).flat();
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
    heads.forEach((head, place) => {
      head.dataset.name = head.textContent.trim();
      const button = make("button", { type: "button", className: "sort" }, head.dataset.name);
      button.addEventListener("click", () => sortBy(table, heads, place, head));
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
      button.addEventListener("click", () => copy(format(content(table, heads)), button));
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

  document.documentElement.classList.add("script");
  const explorer = one("#explorer");
  const walls = all(".wall");
  const thumbs = () => all(".wall > li").filter((thumb) => !thumb.hidden);
  const dialogOf = (thumb) => document.getElementById(one("a", thumb).hash.slice(1));
  const titleOf = (card) => one("h5", card).firstChild.textContent.trim();
  const percent = (value) => `${Math.round(100 * value)}%`;

  // The first half of the slider shows the heat map on the photo, the second half fades out the photo.
  const blend = () => {
    const slider = make("input", { type: "range", className: "blend", min: 0, max: 100, value: 50 });
    slider.addEventListener("input", () => {
      document.documentElement.style.setProperty("--blend", slider.value / 100);
      all(".blend").forEach((other) => { other.value = slider.value; });
    });
    return make("label", {}, "photo ", slider, " guesses");
  };

  // Show the guesses of people or of another respondent in the wall.
  const showIn = (thumb, title, people) => {
    const dialog = dialogOf(thumb);
    const card = all(".card[id]", dialog).find((other) => titleOf(other) === title);
    const source = title === people ? one(".truth", dialog) : card;
    const heat = one(".heat", thumb);
    heat.replaceChildren(...(source ? one(".heat", source).cloneNode(true).childNodes : []));
    heat.classList.toggle("people", title === people);
    if (title !== people) one(".second", thumb).textContent = card?.dataset.right ? percent(card.dataset.right) : "–";
  };

  if (explorer && walls.length) {
    const { people, second } = explorer.dataset;
    const sort = choice(JSON.parse(explorer.dataset.orders));
    sort.addEventListener("change", () => {
      for (const wall of walls) {
        const keyed = [...wall.children].map((thumb) => [JSON.parse(thumb.dataset.order)[sort.value] ?? -Infinity, thumb]);
        keyed.sort((a, b) => b[0] - a[0]);
        wall.append(...keyed.map(([, thumb]) => thumb));
      }
    });
    const modes = explorer.dataset.modes.split(";").filter(Boolean).map((mode) => mode.split("="));
    const fails = choice([["", "all images"], ...modes]);
    fails.addEventListener("change", () => {
      for (const thumb of all(".wall > li"))
        thumb.hidden = !!fails.value && !thumb.dataset.fails.split(" ").includes(fails.value);
    });
    const titles = new Set([people, ...all(".image .card[id]").map(titleOf)].filter(Boolean));
    const guesses = choice([...titles].map((title) => [title, title]));
    guesses.value = people || second;
    guesses.addEventListener("change", () => {
      all(".wall > li").forEach((thumb) => showIn(thumb, guesses.value, people));
      if (guesses.value !== people) all(".key .second").forEach((name) => { name.textContent = guesses.value; });
    });
    const guess = make("button", { type: "button", className: "main" }, "Guess before you look");
    guess.addEventListener("click", play);
    if (all("[data-ball]:not([data-ball=''])").length) explorer.append(guess);
    explorer.append(labeled("Guesses of", guesses), labeled("Sort", sort), labeled("Show", fails), blend());
  }

  // The large view: the image in the address is open; arrows go to the next image, Escape closes the view.
  let shown = null;
  const go = (thumb) => {
    if (!thumb) return;
    history.replaceState(null, "", one("a", thumb).hash);
    show();
  };
  const beside = (step) => {
    const list = thumbs();
    const place = list.findIndex((thumb) => dialogOf(thumb) === shown);
    return list[(place + step + list.length) % list.length];
  };
  for (const dialog of all("dialog.image")) {
    const step = (text, by) => {
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => go(beside(by)));
      return button;
    };
    one(".close", dialog).before(make("span", { className: "steps" }, blend(), step("Previous", -1), step("Next", 1)));
    one(".close", dialog).addEventListener("click", (event) => { event.preventDefault(); dialog.close(); });
    dialog.addEventListener("close", () => {
      if (shown !== dialog) return;
      shown = null;
      history.replaceState(null, "", "#gallery");
      all(".wall a").find((link) => link.hash === `#${dialog.id}`)?.focus();
    });
    dialog.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by && event.target.tagName !== "INPUT") go(beside(by));
    });
  }

  // A link to an image or a card opens what it is in.
  function show() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const dialog = target ? target.closest("dialog.image") : null;
    if (shown && shown !== dialog) {
      const before = shown;
      shown = null;
      before.close();
    }
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (dialog && !dialog.open) {
      shown = dialog;
      dialog.showModal();
      one(".steps button:last-child", dialog).focus();
    }
    if (target !== dialog) target.scrollIntoView();
  }
  addEventListener("hashchange", show);
  show();

  // Guess before you look ------------------------------------------------------------------------------------

  const PHOTOS = 10;

  // Up to ten photos with a known ball, spread evenly over the wall; those at the top of the page come last.
  function chosen() {
    const known = thumbs().map(dialogOf).filter((dialog) => one("[data-ball]", dialog).dataset.ball);
    const spoiled = new Set(all(".opening [data-image]").map((picture) => picture.dataset.image));
    const fresh = known.filter((dialog) => !spoiled.has(dialog.id));
    const from = fresh.length >= PHOTOS ? fresh : known;
    const n = Math.min(PHOTOS, from.length);
    return [...Array(n).keys()].map((place) => from[Math.floor(((place + 0.5) * from.length) / n)]);
  }

  const letters = (row) => (row >= 26 ? letters(Math.floor(row / 26) - 1) : "") + String.fromCharCode(65 + (row % 26));
  const rowOf = (letter) => [...letter].reduce((sum, one) => 26 * sum + one.charCodeAt(0) - 64, 0) - 1;

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Everyone's hits and errors on an image: the reader first, then people, then the others.
  function outcomes(dialog, cell) {
    const { cells, ball } = one("[data-ball]", dialog).dataset;
    const [rows, cols, wide, high] = cells.split(" ").map(Number);
    const parts = (label) => /^([A-Z]+)(\d+)$/.exec(label).slice(1);
    const place = (label) => ({ row: rowOf(parts(label)[0]), col: parts(label)[1] - 1 });
    const at = place(cell);
    const away = (other) => Math.hypot(((at.col - other.col) * wide) / cols, ((at.row - other.row) * high) / rows);
    const error = Math.min(...ball.split(" ").map((label) => away(place(label))));
    const others = all("[data-right]", dialog).map((part) => [
      part.matches(".truth") ? one("figcaption", part).textContent : titleOf(part), +part.dataset.right, +part.dataset.error,
    ]);
    return [["you", error ? 0 : 1, error], ...others];
  }

  function standings(lines, caption) {
    const head = (scope) => (text) => make("th", { scope }, text);
    const row = ([name, right, error]) =>
      make("tr", {}, head("row")(name), make("td", {}, percent(right)), make("td", {}, error.toFixed(0)));
    const heads = make("tr", {}, ...["Respondent", "Hits", "Distance (px)"].map(head("col")));
    return make("table", {}, make("caption", {}, caption), make("thead", {}, heads), make("tbody", {}, ...lines.map(row)));
  }

  function play() {
    const images = chosen();
    const answers = [];
    const title = make("h3", { id: "play-title" });
    const close = make("button", { type: "button" }, "Close");
    const content = make("div", {});
    const dialog = make("dialog", { id: "play" }, make("div", { className: "bar" }, title, close), content);
    dialog.setAttribute("aria-labelledby", "play-title");
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    explorer.after(dialog);
    dialog.showModal();
    ask();

    function ask() {
      const image = images[answers.length];
      const svg = one(".truth svg", image);
      const [rows, cols, wide, high] = svg.dataset.cells.split(" ").map(Number);
      title.textContent = `Photo ${answers.length + 1} of ${images.length}`;
      const picture = svg.cloneNode(false);
      ["data-ball", "data-cells", "aria-label", "role"].forEach((name) => picture.removeAttribute(name));
      picture.setAttribute("aria-hidden", "true");
      picture.setAttribute("viewBox", `0 0 ${wide} ${high}`);
      picture.append(one("use.photo", svg).cloneNode());
      const cells = [...Array(rows * cols).keys()].map((place) => {
        const label = `${letters(Math.floor(place / cols))}${(place % cols) + 1}`;
        const cell = make("button", { type: "button", ariaLabel: label, tabIndex: place ? -1 : 0 });
        cell.dataset.cell = label;
        cell.addEventListener("click", () => answer(image, label, board));
        return cell;
      });
      const group = make("div", { className: "cells" }, ...cells);
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", `Cells A1 to ${cells.at(-1).dataset.cell}. Move with the arrow keys, choose with Enter.`);
      group.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${cols}, 1fr)`;
      group.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -cols, ArrowDown: cols }[event.key];
        const next = step && cells[cells.indexOf(document.activeElement) + step];
        if (!step) return;
        event.preventDefault();
        if (next) next.focus();
      });
      const board = make("div", { className: "board" }, picture, group);
      content.replaceChildren(make("p", {}, "The ball was removed from this photo. Where is it? Choose a cell."), board);
      cells[0].focus();
    }

    function answer(image, label, board) {
      const lines = outcomes(image, label);
      answers.push({ image, label, lines });
      for (const cell of all("button", board)) cell.disabled = true;
      one(`[data-cell="${label}"]`, board).classList.add("guessed");
      one("svg", board).append(one(".truth .heat", image).cloneNode(true), one(".truth use.ball", image).cloneNode());
      const last = answers.length === images.length;
      const next = make("button", { type: "button", className: "main" }, last ? "Show the result" : "Next photo");
      next.addEventListener("click", last ? finish : ask);
      const said = lines[0][1] ? `${label} is a hit.` : `${label} is ${lines[0][2].toFixed(0)} pixels away from the ball.`;
      one("p", content).replaceChildren(make("strong", { role: "status" }, said), " ", next);
      board.after(standings(lines, "Hits, and mean distance from the ball, on this photo."));
      next.focus();
    }

    function finish() {
      const names = [...new Set(answers.flatMap(({ lines }) => lines.map(([name]) => name)))];
      const totals = names.map((name) => {
        const own = answers.flatMap(({ lines }) => lines.filter((line) => line[0] === name));
        return [name, mean(own.map((line) => line[1])), mean(own.map((line) => line[2]))];
      });
      const hits = answers.filter(({ lines }) => lines[0][1]).length;
      title.textContent = `You found the ball in ${hits} of ${answers.length} photos`;
      const save = make("button", { type: "button", className: "main" }, "Save your answers (CSV)");
      save.addEventListener("click", () => {
        const rows = answers.map(({ image, label }) => [image.dataset.sport, image.dataset.image, "reader", "human", label]);
        const text = asCsv([["sport", "image", "respondent", "kind", "cell"], ...rows]);
        const link = make("a", { href: `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, download: "guesses.csv" });
        link.click();
      });
      const again = make("button", { type: "button" }, "Play again");
      again.addEventListener("click", () => { answers.length = 0; ask(); });
      const note = "Your answers stay on this page unless you save them.";
      content.replaceChildren(make("p", {}, save, " ", again), make("p", {}, note), standings(totals, "Means over these photos."));
      save.focus();
    }
  }

  // Navigation -----------------------------------------------------------------------------------------------

  const wide = matchMedia("(min-width: 62rem)");
  const menu = one(".menu");
  const unfold = () => { menu.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  one("ol", menu).addEventListener("click", unfold);
})();
