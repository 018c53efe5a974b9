// Renews the admin page without loading it anew: its main part is fetched and replaced.

const EVERY = 5000; // milliseconds

async function renew() {
  const state = document.getElementById("state");
  try {
    const reply = await fetch("admin", { cache: "no-store", credentials: "same-origin" });
    if (!reply.ok) throw new Error(reply.status);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
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
