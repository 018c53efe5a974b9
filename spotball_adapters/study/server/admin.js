// Renews the admin page without loading it anew: its main part is fetched and replaced.

const EVERY = 5000; // milliseconds

const focusable = (part) => [...part.querySelectorAll("summary, .wide")];

/** Keep what the reader has unfolded, and the loaded images, in the new version of the page. */
function keep(before, after) {
  for (const part of after.querySelectorAll("details")) part.open = before.querySelector(`#${part.id}`)?.open ?? false;
  const loaded = new Map([...before.querySelectorAll("img")].map((image) => [image.src, image]));
  for (const image of after.querySelectorAll("img")) {
    if (loaded.has(image.src)) image.replaceWith(loaded.get(image.src));
  }
}

async function renew() {
  const state = document.getElementById("state");
  try {
    const reply = await fetch("admin", { cache: "no-store", credentials: "same-origin" });
    if (!reply.ok) throw new Error(reply.status);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const main = document.adoptNode(page.querySelector("main"));
    keep(document.querySelector("main"), main);
    const place = focusable(document).indexOf(document.activeElement);
    document.querySelector("main").replaceWith(main);
    if (place >= 0) focusable(main)[place]?.focus({ preventScroll: true });
    state.textContent = "";
  } catch (error) {
    state.textContent = `Not up to date: the server does not answer (${error.message}). Trying again …`;
  }
}

async function keepUpToDate() {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY));
    if (document.visibilityState === "visible") await renew();
  }
}

document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") void renew(); });
void keepUpToDate();
