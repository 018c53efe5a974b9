// The image of an item: preloaded, sized before it arrives, and timed from its display.

import { el } from "./dom.js";
import { pauseBefore } from "./api.js";
import { t } from "./texts.js";

const ENLARGED = 4; // maximum magnification
const AHEAD = 3;
const images = new Map();

/** Return the image element of an address, loaded once and retried after network failures. */
function imageOf(url) {
  let image = images.get(url);
  if (!image) {
    image = el("img", { alt: "", draggable: "false" });
    let attempt = 0;
    image.addEventListener("error", () => {
      if (images.get(url) !== image) return;
      attempt += 1;
      setTimeout(() => { image.src = url; }, pauseBefore(attempt));
    });
    image.src = url;
    images.set(url, image);
  }
  return image;
}

/** Preload the images of the next items, and release those of finished items. */
export function preload(item, following) {
  const wanted = [...(item ? [item] : []), ...following.slice(0, AHEAD)].map(({ image }) => image);
  for (const url of images.keys()) if (!wanted.includes(url)) images.delete(url);
  wanted.forEach(imageOf);
}

const frame = () => new Promise((done) => requestAnimationFrame(done));

export class Picture {
  /** `inside` goes over the image; `edges` says how much room its names need around it: (width, height) to pixels. */
  constructor(item, { inside = null, edges = () => [0, 0], resized = () => {} } = {}) {
    this.item = item;
    this.edges = edges;
    this.resized = resized;
    this.image = imageOf(item.image);
    this.image.width = item.width;
    this.image.height = item.height;
    this.frame = el("div", { class: "frame", "data-late": t("Loading the image …") }, this.image, ...(inside ? [inside] : []));
    this.node = el("div", { class: "stage" }, this.frame);
    this.watch = () => this.fit();
    window.addEventListener("resize", this.watch);
  }

  /** Use all available room. The size is known before the image arrives, so that nothing moves. */
  fit() {
    this.node.style.height = "";
    const aspect = this.item.width / this.item.height;
    const size = (width, height) => {
      const wide = Math.min(width, height * aspect, this.item.width * ENLARGED);
      return [Math.floor(wide), Math.floor(wide / aspect)];
    };
    const room = [this.node.clientWidth, this.node.clientHeight];
    const [left, top] = this.edges(...size(...room));
    const [width, height] = size(room[0] - 2 * left, room[1] - 2 * top);
    Object.assign(this.frame.style, { width: `${width}px`, height: `${height}px`, margin: `${top}px ${left}px` });
    this.node.style.height = `${height + 2 * top}px`;
    this.resized(width, height, left, top);
  }

  /** Return the time at which the image was on the screen, by performance.now. */
  async painted() {
    this.fit();
    while (!(this.image.complete && this.image.naturalWidth)) {
      await new Promise((done) => this.image.addEventListener("load", done, { once: true }));
    }
    // A decoded image is drawn in the next frame, and visible when the following frame begins.
    await this.image.decode();
    this.frame.classList.add("there");
    await frame();
    return frame();
  }

  close() {
    window.removeEventListener("resize", this.watch);
  }
}
