// Keeps a page up to date. When the server says that something changed, the script fetches the page again and changes
// in place what differs. Without this script the page is complete, and a reload shows what is new.
(() => {
  "use strict";
  const regions = () => [...document.querySelectorAll("[data-live]")];
  if (!document.querySelector("main [data-live]") || !window.EventSource) return;

  // ---- Changing a page ----
  //
  // An element that is still on the page is kept: focus, selection, scroll positions and what the reader opened belong
  // to elements. Elements are recognised by their keys; those without keys, by their place.

  // White space directly inside these elements means nothing.
  const blocks = new Set(["ARTICLE", "DIV", "DL", "OL", "SECTION", "TABLE", "TBODY", "THEAD", "TR", "UL"]);
  const counts = (node) =>
    node.nodeType === Node.ELEMENT_NODE ||
    (node.nodeType === Node.TEXT_NODE && !(blocks.has(node.parentNode.nodeName) && node.data.trim() === ""));

  const keyOf = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    const key = node.id || node.dataset.key || node.dataset.request || node.getAttribute("aria-labelledby");
    if (key) return node.nodeName + " " + key;
    // A fact is recognised by its name.
    return node.parentNode.nodeName === "DL" ? "fact " + node.firstElementChild?.textContent : "";
  };

  // Returns for each wanted child the present one that matches it, if any.
  const pair = (have, want) => {
    const keyed = new Map();
    const others = [];
    for (const node of have) {
      const key = keyOf(node);
      if (key && !keyed.has(key)) keyed.set(key, node);
      else if (!key) others.push(node);
    }
    const alike = (a, b) => a.nodeName === b.nodeName && a.getAttribute?.("class") === b.getAttribute?.("class");
    let at = 0;
    return want.map((node) => {
      const key = keyOf(node);
      if (key) {
        const found = keyed.get(key);
        keyed.delete(key);
        return found;
      }
      const found = others.findIndex((other, i) => i >= at && alike(other, node));
      if (found < 0) return undefined;
      at = found + 1;
      return others[found];
    });
  };

  // Replaces only the middle that differs, so that a selection that ends in the text stays.
  const rewrite = (text, data) => {
    const old = text.data;
    if (old === data) return;
    const most = Math.min(old.length, data.length);
    let head = 0;
    while (head < most && old[head] === data[head]) head++;
    let tail = 0;
    while (tail < most - head && old[old.length - 1 - tail] === data[data.length - 1 - tail]) tail++;
    text.replaceData(head, old.length - head - tail, data.slice(head, data.length - tail));
  };

  const attributes = (old, fresh) => {
    // The reader decides whether details are open.
    const theirs = (name) => name === "open" && old.nodeName === "DETAILS";
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !theirs(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && !theirs(name)) old.setAttribute(name, value);
    }
  };

  const put = (parent, node, before) => {
    // A browser that can moves an element without taking it out: then it keeps the focus and its scroll positions.
    if (parent.moveBefore && node.isConnected && node.ownerDocument === document) parent.moveBefore(node, before);
    else parent.insertBefore(node, before);
  };

  // Puts children into their order. The child where the reader is stays in place, and the others move around it.
  const arrange = (parent, nodes) => {
    const step = (node, way) => {
      while (node && !counts(node)) node = node[way];
      return node;
    };
    const reader = [document.activeElement, getSelection()?.anchorNode, getSelection()?.focusNode];
    const there = (node) => node.parentNode === parent;
    let still = nodes.findIndex((node) => there(node) && reader.some((r) => r && node.contains(r)));
    if (still < 0) still = Math.max(nodes.findIndex(there), 0);
    if (nodes.length > 0 && !there(nodes[still])) parent.append(nodes[still]);
    for (let i = still - 1; i >= 0; i--) {
      if (step(nodes[i + 1].previousSibling, "previousSibling") !== nodes[i]) put(parent, nodes[i], nodes[i + 1]);
    }
    for (let i = still + 1; i < nodes.length; i++) {
      const before = nodes[i - 1].nextSibling;
      if (step(before, "nextSibling") !== nodes[i]) put(parent, nodes[i], before);
    }
  };

  const change = (old, fresh) => {
    if (old.nodeType === Node.TEXT_NODE) {
      rewrite(old, fresh.data);
      return;
    }
    attributes(old, fresh);
    const have = [...old.childNodes].filter(counts);
    const want = [...fresh.childNodes].filter(counts);
    const stand = pair(have, want);
    const stays = new Set(stand);
    for (const node of have) {
      if (!stays.has(node)) node.remove();
    }
    want.forEach((node, i) => {
      if (stand[i]) change(stand[i], node);
    });
    arrange(old, want.map((node, i) => stand[i] ?? node));
  };

  // ---- Saying whether the page is live ----

  const sign = document.getElementById("live");
  const say = (state, text) => {
    sign.hidden = false;
    sign.className = "live " + state;
    if (sign.textContent !== text) sign.textContent = text;
  };

  // Whether the stream was heard a moment ago, why not if not, and whether the last reading of the page succeeded.
  let heard = false;
  let why = "not live, reconnecting";
  let read = true;
  const tell = () => {
    if (!heard) say("off", why);
    else if (!read) say("off", "not live");
    else say("on", "live");
  };

  // ---- Reading the page again ----

  // A server that has too many readers says when to come back. A random part keeps pages from all coming back at once.
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
        if (fresh) change(old, fresh);
      }
      read = true;
    } catch {
      read = false;
    }
    tell();
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

  // ---- Listening ----

  // A hidden page needs no stream. When the connection breaks, the browser reconnects by itself. When the stream is
  // refused because too many are open, the browser does not: the page asks again after a pause, which grows to a minute.
  // A stream that is open but says nothing any more is replaced by another one.
  let source = null;
  let waiting = null;
  let pause = 2;
  let watch = null;
  let patience = 40000;

  const lose = (reason) => {
    heard = false;
    why = reason;
    tell();
  };
  const leave = () => {
    clearTimeout(watch);
    source?.close();
    source = null;
  };
  const expect = () => {
    clearTimeout(watch);
    watch = setTimeout(() => {
      leave();
      lose("not live, reconnecting");
      listen();
    }, patience);
  };

  const listen = () => {
    if (document.hidden || source || waiting) return;
    const opened = new EventSource("/events");
    source = opened;
    expect();
    const hear = (e) => {
      // Two beats may be missed, and the third may be a little late.
      const beat = JSON.parse(e.data).alive_ms;
      if (beat > 0) patience = 2.7 * beat;
      heard = true;
      pause = 2;
      expect();
    };
    opened.addEventListener("alive", (e) => {
      hear(e);
      tell();
    });
    opened.addEventListener("changed", (e) => {
      hear(e);
      refresh();
    });
    opened.addEventListener("error", () => {
      if (source !== opened) return;
      if (opened.readyState !== EventSource.CLOSED) {
        lose("not live, reconnecting");
        return;
      }
      leave();
      lose("not live: the server has too many readers");
      waiting = setTimeout(() => {
        waiting = null;
        listen();
      }, soon(pause));
      pause = Math.min(2 * pause, 60);
    });
  };

  // Ages and estimates become outdated even if nothing happens.
  setInterval(() => {
    if (!document.hidden) refresh();
  }, 60000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && source) {
      leave();
      lose("not live, reconnecting");
    }
    listen();
  });
  listen();
})();
