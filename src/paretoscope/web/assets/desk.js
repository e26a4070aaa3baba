// The forms of the desk: a sheet to take, a sheet to hand in, one measurement.
"use strict";
(() => {
  const secret = document.querySelector("meta[name=csrf-token]").content;
  const LARGEST = 5000000;
  const byId = (id) => document.getElementById(id);
  const who = byId("who");

  try { who.value = localStorage.getItem("paretoscope-who") || ""; } catch { /* a browser that keeps nothing */ }
  who.addEventListener("change", () => { try { localStorage.setItem("paretoscope-who", who.value); } catch { /* as above */ } });

  async function send(path, body) {
    const headers = { accept: "application/json", "x-csrf-token": secret };
    if (!(body instanceof FormData)) { headers["content-type"] = "application/json"; body = JSON.stringify(body); }
    const answer = await fetch(path, { method: "POST", headers, body });
    const data = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(data.error || `answer ${answer.status}`);
    return data;
  }

  function tell(form, text, bad) {
    const place = form.querySelector(".outcome");
    place.textContent = text;
    place.classList.toggle("bad", Boolean(bad));
  }

  // one answer at a time: a second click while the first is on its way does nothing
  function act(form, work) {
    return async (event) => {
      event.preventDefault();
      if (form.ariaBusy === "true") return;
      form.ariaBusy = "true";
      try { await work(event.submitter); } catch (error) { tell(form, error.message, true); } finally { form.ariaBusy = "false"; }
    };
  }

  function save(text, name) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  // ------------------------------------------------------------ a sheet to take

  const asking = byId("ask");
  asking.addEventListener("submit", act(asking, async (button) => {
    const { n, rows, marks } = asking.elements;
    const got = await send("ask", { n: n.value, rows: rows.value, marks: marks.value, who: who.value });
    const made = `${got.n} ${got.n === 1 ? "measurement" : "measurements"}`;
    if (button && button.value === "list") {
      tell(asking, `${made} taken: they stand below, each with its button.`);
    } else {
      save(got.sheet, got.name);
      tell(asking, `${made} in ${got.name}. Fill the sheet in, then hand it in.`);
    }
  }));

  // ------------------------------------------------------------ a sheet to hand in

  const upload = byId("upload"), store = byId("store"), mistakes = byId("mistakes");
  let receipt = null;

  function sheet() {
    const [file] = upload.elements.sheet.files;
    if (!file) throw new Error("Choose a file first.");
    if (file.size > LARGEST) throw new Error(`More than ${LARGEST / 1e6} MB: hand in a smaller sheet.`);
    const form = new FormData();
    form.append("sheet", file);
    form.append("who", who.value);
    return form;
  }

  function reset() {
    receipt = null;
    store.hidden = true;
    mistakes.hidden = true;
    tell(upload, "");
  }

  function list(errors) {
    const table = document.createElement("table");
    table.createCaption().textContent = "Nothing is stored while a row is wrong";
    const head = table.createTHead().insertRow();
    for (const text of ["row", "what is wrong"]) head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: text, className: "text" }));
    const body = table.createTBody();
    for (const { row, said } of errors) {
      const line = body.insertRow();
      line.insertCell().textContent = row ?? "";
      line.insertCell().textContent = said;
    }
    mistakes.replaceChildren(table);
    mistakes.hidden = false;
  }

  upload.elements.sheet.addEventListener("change", reset);
  upload.addEventListener("submit", act(upload, async () => {
    reset();
    const found = await send("check", sheet());
    if (found.errors) {
      const n = found.errors.filter(({ row }) => row !== null).length;
      list(found.errors);
      tell(upload, n ? `${n} ${n === 1 ? "row" : "rows"} cannot be used. Nothing was stored.` : "The sheet cannot be used. Nothing was stored.", true);
      return;
    }
    if (!found.new) { tell(upload, `Nothing new: ${found.said}.`); return; }
    receipt = found.receipt;
    store.hidden = false;
    tell(upload, `Fine: ${found.said}. Not stored yet.`);
    store.focus();
  }));
  store.addEventListener("click", act(upload, async () => {
    const form = sheet();
    form.append("receipt", receipt);
    store.hidden = true;
    const done = await send("upload", form);
    upload.reset();
    reset();
    tell(upload, `Stored: ${done.said}.`);
    upload.elements.sheet.focus();
  }));

  // ------------------------------------------------------------ one measurement

  const one = byId("one"), uid = byId("uid"), how = byId("how"), values = byId("values"), reason = byId("reason-label");
  const inputs = [...values.querySelectorAll("input")];

  function shape() {
    const measured = how.value === "values";
    values.hidden = !measured;
    reason.hidden = measured;
    one.querySelector("button").disabled = !uid.value;
  }

  how.addEventListener("change", shape);
  uid.addEventListener("change", shape);
  byId("requests").addEventListener("click", ({ target }) => {
    if (!target.dataset.fill) return;
    uid.value = target.dataset.fill;
    how.value = "values";
    shape();
    one.scrollIntoView({ block: "center" });
    (inputs[0] || uid).focus();
  });
  one.addEventListener("submit", act(one, async () => {
    const common = { uid: uid.value, who: who.value };
    const typed = Object.fromEntries(inputs.map((input) => [input.dataset.metric, input.value]));
    const done = how.value === "values"
      ? await send("tell", { ...common, values: typed })
      : await send("settle", { ...common, how: how.value, reason: one.elements.reason.value });
    for (const input of [...inputs, one.elements.reason]) input.value = "";
    how.value = "values";
    shape();
    tell(one, `${common.uid}: ${done.said}.`);
    (inputs[0] || uid).focus();
  }));
  shape();
})();
