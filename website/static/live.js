// Keeps a page up to date: the server says that something changed, the page is fetched again, and the regions
// that differ are swapped. Without this script the page is whole, and a reload shows what is new.
(() => {
  "use strict";
  const regions = () => [...document.querySelectorAll("[data-live]")];
  if (!document.querySelector("main [data-live]") || !window.EventSource) return;

  const sign = document.getElementById("live");
  const say = (state, text) => {
    sign.hidden = false;
    sign.className = "live " + state;
    if (sign.textContent !== text) sign.textContent = text;
  };

  // What the reader opened stays open, and the focus stays where it is.
  const swap = (old, fresh) => {
    if (old.innerHTML === fresh.innerHTML) return;
    for (const d of old.querySelectorAll("details[id]")) {
      const same = fresh.querySelector("#" + CSS.escape(d.id));
      if (same) same.open = d.open;
    }
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const places = [...old.querySelectorAll("a, summary, [tabindex]")];
    const place = places.indexOf(focused);
    old.replaceChildren(...fresh.childNodes);
    if (place >= 0) [...old.querySelectorAll("a, summary, [tabindex]")][place]?.focus({ preventScroll: true });
  };

  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of regions()) {
        const fresh = page.getElementById(old.id);
        if (fresh) swap(old, fresh);
      }
      say("on", "live");
    } catch {
      say("off", "not live");
    }
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  };

  // A hidden page needs nothing; the browser comes back to the stream by itself when the connection breaks.
  let source = null;
  const listen = () => {
    if (document.hidden || source) return;
    source = new EventSource("/events");
    source.addEventListener("changed", refresh);
    source.addEventListener("error", () => say("off", "not live: the server does not answer"));
  };
  // Ages and estimates grow old when nothing happens, too.
  setInterval(() => {
    if (source && !document.hidden) refresh();
  }, 60000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && source) {
      source.close();
      source = null;
    }
    listen();
  });
  listen();
})();
