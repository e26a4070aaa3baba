// Draws the figures that the page carries as data. Colours are names of the style sheet, looked up
// when they are needed, so that light and dark and their change follow the reader's wish.
"use strict";
(() => {
  const KEYS = new Set(["color", "fillcolor", "fgcolor"]);
  // plotly would offer to send the figures, with every number in them, to a server of its makers
  const PRIVATE = { showSendToCloud: false, plotlyServerURL: "", typesetMath: false };
  const CONFIG = { ...PRIVATE, displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: { format: "svg" } };

  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function colour(text) {
    const [, name, alpha] = text.split(":");
    const hex = variable(name);
    if (alpha === undefined) return hex;
    const part = (k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
    return `rgba(${part(0)},${part(1)},${part(2)},${alpha})`;
  }

  function coloured(value, key) {
    if (typeof value === "string") return KEYS.has(key) && value.startsWith("var:") ? colour(value) : value;
    if (Array.isArray(value)) return value.length && typeof value[0] === "object" ? value.map((v) => coloured(v, "")) : value;
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v, k)]));
  }

  // plotly reads tags and entities in text: names have neither
  const label = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const named = (trace) => (trace.ids && !trace.text ? { ...trace, text: trace.ids.map(label) } : trace);

  function finished(layout, narrow) {
    const ink = variable("ink"), rule = variable("rule"), muted = variable("muted");
    const axis = { gridcolor: rule, linecolor: muted, zerolinecolor: rule, tickcolor: muted, automargin: true, showline: true, zeroline: false, ticks: "outside", ticklen: 4, nticks: narrow ? 5 : 8 };
    const made = { ...layout };
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key)) made[key] = { ...axis, ...layout[key], title: { font: { size: 13, color: ink }, standoff: 8, ...layout[key].title } };
    }
    return {
      ...made,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: narrow ? 44 : 56, r: 12, t: 34, b: 44 },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", xanchor: "left", font: { size: 12, color: ink } },
      hoverlabel: { bgcolor: variable("panel"), bordercolor: muted, font: { color: ink }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink },
      hovermode: "closest", dragmode: narrow ? false : "zoom", uirevision: "kept", // whoever zoomed in stays there
    };
  }

  function draw(place, figure) {
    const narrow = place.clientWidth < 480;
    const height = narrow ? Math.min(figure.layout.height, Math.max(320, 0.9 * figure.layout.height)) : figure.layout.height;
    const layout = finished(coloured({ ...figure.layout, height }, ""), narrow);
    return Plotly.react(place, figure.data.map((trace) => coloured(named(trace), "")), layout, { ...CONFIG, displayModeBar: narrow ? false : "hover" });
  }

  const source = document.getElementById("figures");
  let figures = source ? JSON.parse(source.textContent) : null;

  function drawAll() {
    if (!figures || !window.Plotly) return Promise.resolve();
    const places = [...document.querySelectorAll(".plot")].filter((place) => figures[place.dataset.figure]);
    // the first picture now, the others when the browser has time for them
    const later = (place) => new Promise((done) => setTimeout(() => done(draw(place, figures[place.dataset.figure])), 0));
    return Promise.all(places.map(later)).then(() => { document.documentElement.dataset.drawn = String(Date.now()); });
  }

  function reserve() {
    for (const place of document.querySelectorAll(".plot")) place.style.minHeight = place.dataset.height + "px";
  }

  function show(others) {
    figures = others;
    reserve();
    return drawAll();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.paretoscope = { ...window.paretoscope, show };
  reserve();
  drawAll();
})();
