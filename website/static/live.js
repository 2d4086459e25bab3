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

  // A server that has too many readers says when to come back. Nobody comes back at the same moment as all others.
  const soon = (seconds) => seconds * 1000 * (1 + Math.random() / 2);

  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    let pause = 0;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) {
        pause = Number(answer.headers.get("Retry-After")) || 0;
        throw new Error(String(answer.status));
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const old of regions()) {
        const fresh = page.getElementById(old.id);
        if (fresh) swap(old, fresh);
      }
      if (source) say("on", "live");
    } catch {
      say("off", "not live");
    }
    if (pause > 0) {
      again = false;
      setTimeout(() => {
        busy = false;
        refresh();
      }, soon(pause));
      return;
    }
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  };

  // A hidden page needs nothing; the browser comes back to the stream by itself when the connection breaks. When the
  // stream is refused it does not, as too many are open: the page asks again after a pause, which grows to a minute.
  let source = null;
  let waiting = null;
  let pause = 2;
  const listen = () => {
    if (document.hidden || source || waiting) return;
    const opened = new EventSource("/events");
    source = opened;
    opened.addEventListener("changed", () => {
      pause = 2;
      refresh();
    });
    opened.addEventListener("error", () => {
      if (source !== opened) return;
      if (opened.readyState !== EventSource.CLOSED) {
        say("off", "not live: the server does not answer");
        return;
      }
      say("off", "not live: the server has too many readers");
      source = null;
      waiting = setTimeout(() => {
        waiting = null;
        listen();
      }, soon(pause));
      pause = Math.min(2 * pause, 60);
    });
  };
  // Ages and estimates grow old when nothing happens, too.
  setInterval(() => {
    if (!document.hidden) refresh();
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
