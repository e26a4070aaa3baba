// Follows the study: whenever its version is another one, the parts of the page that changed are
// taken from the server's own rendering. Nothing is computed here.
"use strict";
(() => {
  const root = document.documentElement, link = document.getElementById("link"), said = document.getElementById("said");
  const ask = (path) => fetch(path, { headers: { accept: "application/json" }, cache: "no-store" }).then(async (answer) => {
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `answer ${answer.status}`);
    return answer.json();
  });
  const address = document.currentScript.dataset.plotly;
  let wanted = root.dataset.version, busy = false, source = null, asleep = 0, failures = 0;

  function say(text, lost) {
    if (link.textContent !== text) link.textContent = text;
    link.classList.toggle("lost", Boolean(lost));
  }

  // ------------------------------------------------------------ the parts of the page

  function attributes(old, fresh) {
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }

  function replace(old, fresh) {
    if (!old || !fresh || old.innerHTML === fresh.innerHTML) return;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    attributes(old, fresh);
    old.replaceChildren(...fresh.childNodes);
    if (focused) refocus(old, focused);
  }

  // who was on a button that is there again stays on it; else the heading of the part is next
  function refocus(place, was) {
    const same = was.dataset.fill && place.querySelector(`[data-fill="${CSS.escape(was.dataset.fill)}"]`);
    const next = same || place.querySelector("[tabindex], button, a") || document.getElementById("out-title");
    if (!next) return;
    if (!next.hasAttribute("tabindex") && !same) next.tabIndex = -1;
    next.focus({ preventScroll: true });
  }

  // a picture is drawn anew where it stands; only its words are replaced
  function pictures(old, fresh) {
    const wanted = [...fresh.children];
    for (const figure of wanted) {
      const there = document.getElementById(figure.id);
      if (!there) { old.append(figure); continue; }
      replace(there.querySelector("figcaption"), figure.querySelector("figcaption"));
      // its class is plotly's, which knows its own drawings by it
      there.querySelector(".plot").ariaLabel = figure.querySelector(".plot").ariaLabel;
    }
    const ids = wanted.map((figure) => figure.id);
    for (const figure of [...old.children]) if (!ids.includes(figure.id)) figure.remove();
    const order = [...old.children].sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
    if (order.some((figure, k) => old.children[k] !== figure)) old.append(...order);
  }

  function choices(fresh) {
    const select = document.getElementById("uid");
    if (!select) return;
    const chosen = select.value;
    const options = [...fresh.querySelectorAll("[data-fill]")].map(({ dataset }) => new Option(`${dataset.fill}: ${dataset.said}`, dataset.fill));
    select.replaceChildren(...options);
    if (options.some((option) => option.value === chosen)) select.value = chosen;
    select.dispatchEvent(new Event("change"));
  }

  function take(state) {
    const fresh = new DOMParser().parseFromString(state.html, "text/html");
    const get = (id) => fresh.getElementById(id);
    choices(get("out"));
    pictures(document.getElementById("first"), get("first"));
    pictures(document.getElementById("others"), get("others"));
    const due = get("due").textContent;
    for (const id of ["certificate", "facts", "due", "out", "rows", "thinned", "assumptions", "definition"]) replace(document.getElementById(id), get(id));
    for (const place of document.querySelectorAll(".due-now")) place.textContent = due;
    document.title = state.title;
    said.textContent = state.said;
    window.paretoscope.refilter();
  }

  // ------------------------------------------------------------ following

  async function follow() {
    if (busy || wanted === root.dataset.version) return;
    busy = true;
    const asked = wanted;
    try {
      const state = await ask("state");
      take(state);
      await window.paretoscope.show(state.figures);
      root.dataset.version = state.version;
      if (wanted === asked) wanted = state.version; // which may be a later one
      failures = 0;
      say("following");
    } catch (error) {
      failures += 1;
      say(`not up to date: ${error.message}`, true);
      await new Promise((done) => setTimeout(done, Math.min(10000, 500 * 2 ** failures)));
    } finally {
      busy = false;
    }
    // a version that came while this one was drawn
    if (wanted !== root.dataset.version && document.visibilityState === "visible") follow();
  }

  function listen() {
    if (source) return;
    source = new EventSource("events");
    source.addEventListener("boot", ({ data }) => { if (data !== root.dataset.boot) location.reload(); });
    source.addEventListener("moved", ({ data }) => { say("following"); wanted = data; follow(); });
    source.addEventListener("trouble", ({ data }) => say(data, true));
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) { source = null; say("not following: open the page again", true); }
      else say("connection lost: trying again", true);
    });
  }

  // a browser holds six connections to a server: pages that nobody sees let go of theirs
  document.addEventListener("visibilitychange", () => {
    clearTimeout(asleep);
    if (document.visibilityState === "visible") listen();
    else asleep = setTimeout(() => { if (source) source.close(); source = null; }, 60000);
  });

  // the script that draws is long: what can be read is painted before it is loaded
  const painted = () => Promise.race([
    new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0))),
    new Promise((done) => setTimeout(done, 500)), // a page that nobody sees is never painted
  ]);
  const plotly = () => new Promise((done, fail) => {
    const script = Object.assign(document.createElement("script"), { src: address, onload: done });
    script.onerror = () => fail(new Error("the pictures could not be loaded"));
    document.head.append(script);
  });

  Promise.all([ask("figures"), painted().then(plotly)]).then(async ([{ figures, version }]) => {
    await window.paretoscope.show(figures);
    if (version !== root.dataset.version) { wanted = version; await follow(); }
  }).catch((error) => say(error.message, true)).finally(listen);
})();
