// The picture of an item: fetched before it is needed, sized before it is there, timed from when it is painted.

import { el } from "./dom.js";
import { pauseBefore } from "./api.js";
import { t } from "./texts.js";

const ENLARGED = 4; // times its own width, at most
const AHEAD = 3;
const images = new Map();

/** The image element of an address, asked for once and, where the network fails, again. */
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

/** Fetch the images of the next items; forget those that are done. */
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
    this.frame = el("div", { class: "frame", "data-late": t("The picture is on its way …") }, this.image, ...(inside ? [inside] : []));
    this.node = el("div", { class: "stage" }, this.frame);
    this.watch = () => this.fit();
    window.addEventListener("resize", this.watch);
  }

  /** As large as there is room for. Known before the image is there, so that nothing moves when it comes. */
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

  /** The moment at which the image was on the screen, by performance.now. */
  async painted() {
    this.fit();
    while (!(this.image.complete && this.image.naturalWidth)) {
      await new Promise((done) => this.image.addEventListener("load", done, { once: true }));
    }
    // Once decoded, it is drawn in the next frame, and on the screen when the one after that begins.
    await this.image.decode();
    this.frame.classList.add("there");
    await frame();
    return frame();
  }

  close() {
    window.removeEventListener("resize", this.watch);
  }
}
