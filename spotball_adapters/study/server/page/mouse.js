// The mouse's path over an image, if the study records it: a point every 50 milliseconds while the mouse moves.

const EVERY = 50; // milliseconds
const MOST = 600; // points of an image

const thousandths = (share) => Math.max(-1000, Math.min(2000, Math.round(1000 * share)));

export class MousePath {
  /** `frame` contains the image; `painted` is the time of its display, by performance.now. */
  constructor(frame, painted) {
    this.points = [];
    let last = -Infinity;
    this.moved = (event) => {
      const at = performance.now();
      if (event.pointerType === "touch" || at - last < EVERY || this.points.length >= MOST) return;
      last = at;
      const box = frame.getBoundingClientRect();
      const x = thousandths((event.clientX - box.left) / box.width), y = thousandths((event.clientY - box.top) / box.height);
      this.points.push([Math.round(at - painted), x, y]);
    };
    document.addEventListener("pointermove", this.moved);
  }

  close() {
    document.removeEventListener("pointermove", this.moved);
  }
}
