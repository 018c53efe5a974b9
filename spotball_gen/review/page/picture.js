// The image with and without the ball, its boxes, and regions in progress.

const SVG = "http://www.w3.org/2000/svg";
const LEAST = 4; // minimum side length of a region in pixels
const STEP = 8; // pixels by which keys move and resize a region

function rect([x1, y1, x2, y2], name) {
  const node = document.createElementNS(SVG, "rect");
  node.setAttribute("class", name);
  for (const [key, value] of Object.entries({ x: x1, y: y1, width: x2 - x1, height: y2 - y1 })) {
    node.setAttribute(key, value);
  }
  return node;
}

/** Return the path around an outline's polygons. */
function path(polygons, name) {
  const node = document.createElementNS(SVG, "path");
  node.setAttribute("class", name);
  node.setAttribute("d", polygons.map((points) => `M${points.map((point) => point.join(" ")).join("L")}Z`).join(""));
  return node;
}

/** Return the visible part of an image: the whole image, or a zoomed part around a point. */
function shownPart(item, { zoom, middle }) {
  const [width, height] = [item.width / zoom, item.height / zoom];
  const [x, y] = middle ?? [item.width / 2, item.height / 2];
  const left = Math.min(Math.max(x - width / 2, 0), item.width - width);
  const top = Math.min(Math.max(y - height / 2, 0), item.height - height);
  return { left, top, width, height };
}

/** Return the first point to zoom in on: the ball's position. */
export function ballMiddle({ ball, width, height }) {
  return ball ? [(ball[0] + ball[2]) / 2, (ball[1] + ball[3]) / 2] : [width / 2, height / 2];
}

/** One image with its overlay. `toggle` is told of a box that is clicked, `drag` of a region that is drawn, `enlarge` of a
 * point and whether what is there is to be larger. */
function figure(at, item, part, look, { toggle, drag, enlarge }) {
  const node = document.createElement("figure");
  node.style.setProperty("--ratio", item.width / item.height);
  const frame = document.createElement("div");
  frame.className = "frame";
  const image = document.createElement("img");
  image.src = `images/${part}/${at}`;
  image.alt = part === "with" ? "The image with the ball" : "The image without the ball";
  const svg = document.createElementNS(SVG, "svg");
  const shown = shownPart(item, look);
  svg.setAttribute("viewBox", `${shown.left} ${shown.top} ${shown.width} ${shown.height}`);
  image.style.width = image.style.height = `${look.zoom * 100}%`;
  image.style.left = `${(-shown.left / shown.width) * 100}%`;
  image.style.top = `${(-shown.top / shown.height) * 100}%`;
  image.classList.toggle("pixels", look.zoom >= 4);
  frame.append(image, svg);
  const caption = document.createElement("figcaption");
  caption.textContent = part === "with" ? "with ball" : "without ball";
  node.append(frame, caption);

  if (look.boxes) {
    item.players.forEach((box, index) => {
      const unchecked = item.decision.unchecked.includes(index) ? " unchecked" : "";
      const player = rect(box, `player${unchecked}${index === look.chosen ? " chosen" : ""}`);
      player.dataset.box = index;
      svg.append(player);
    });
    item.decision.added.forEach((box, index) => {
      const number = item.players.length + index;
      const player = rect(box, `player added${number === look.chosen ? " chosen" : ""}`);
      player.dataset.box = number;
      svg.append(player);
    });
    for (const outline of item.outlines) if (outline) svg.append(path(outline, "outline"));
    if (item.ball) svg.append(rect(item.ball, "ball"));
  }
  for (const region of item.decision.regions) svg.append(rect(region, "region"));
  if (look.region) svg.append(rect(look.region, "region new"));

  const point = (event) => {
    const edges = svg.getBoundingClientRect();
    const share = [(event.clientX - edges.left) / edges.width, (event.clientY - edges.top) / edges.height];
    const [x, y] = share.map((value) => Math.min(Math.max(value, 0), 1));
    return [shown.left + x * shown.width, shown.top + y * shown.height];
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.deltaY) enlarge(point(event), event.deltaY < 0);
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    if (!look.marking) {
      if (event.target.dataset.box !== undefined) toggle(Number(event.target.dataset.box));
      return;
    }
    const [x, y] = point(event);
    const spanned = (other) => {
      const [u, v] = point(other);
      return [Math.min(x, u), Math.min(y, v), Math.max(x, u), Math.max(y, v)];
    };
    const drawn = svg.appendChild(rect([x, y, x, y], "region new"));
    svg.setPointerCapture(event.pointerId);
    svg.onpointermove = (other) => {
      const next = rect(spanned(other), "region new");
      for (const { name, value } of next.attributes) drawn.setAttribute(name, value);
    };
    svg.onpointerup = (other) => drag(spanned(other));
    svg.onpointercancel = () => drag(null);
  });
  return node;
}

/** Replace the display of an image. */
export function draw(parent, at, item, look, actions) {
  const parts = look.both && item.with_ball ? ["with", "without"] : [look.ball && item.with_ball ? "with" : "without"];
  parent.classList.toggle("marking", look.marking);
  parent.replaceChildren(...parts.map((part) => figure(at, item, part, look, actions)));
}

export const isRegion = (box) => box !== null && box[2] - box[0] >= LEAST && box[3] - box[1] >= LEAST;

/** Return the initial region for marking by keys: next to the ball's position, where shadows are. */
export function firstRegion(item) {
  const [x1, y1, x2, y2] = item.ball ?? [item.width * 0.45, item.height * 0.45, item.width * 0.55, item.height * 0.55];
  return fitted([x1, y2, x2, y2 + Math.max((y2 - y1) / 2, 2 * LEAST)], item);
}

/** Return a region after a key: moved, or resized with Shift. */
export function moved(region, key, larger, item) {
  const [dx, dy] = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[key];
  const [x1, y1, x2, y2] = region;
  if (!larger) return fitted([x1 + dx, y1 + dy, x2 + dx, y2 + dy], item);
  return fitted([x1, y1, Math.max(x2 + dx, x1 + LEAST), Math.max(y2 + dy, y1 + LEAST)], item);
}

function fitted([x1, y1, x2, y2], item) {
  const width = Math.min(x2 - x1, item.width);
  const height = Math.min(y2 - y1, item.height);
  const left = Math.min(Math.max(x1, 0), item.width - width);
  const top = Math.min(Math.max(y1, 0), item.height - height);
  return [left, top, left + width, top + height];
}
