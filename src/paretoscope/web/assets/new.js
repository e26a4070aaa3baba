// The form of a new study: rows of metrics, and one request that carries it all.
"use strict";
(() => {
  const form = document.getElementById("new"), metrics = document.getElementById("metrics");
  const secret = document.querySelector("meta[name=csrf-token]").content;
  const outcome = form.querySelector(".outcome");

  document.getElementById("more").addEventListener("click", () => {
    const made = metrics.lastElementChild.cloneNode(true);
    made.querySelector("legend").textContent = `Metric ${metrics.children.length + 1}`;
    for (const input of made.querySelectorAll("input")) { input.value = ""; input.required = false; }
    metrics.append(made);
    made.querySelector("input").focus();
  });

  const keyed = (row) => Object.fromEntries([...row.querySelectorAll("[data-key]")].map((field) => [field.dataset.key, field.value]));

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const own = ["name", "id", "features", "delta", "budget", "seed"];
    const terms = Object.fromEntries(own.map((key) => [key, form.elements[key].value]));
    const body = new FormData();
    body.append("candidates", form.elements.candidates.files[0]);
    body.append("terms", JSON.stringify({ ...terms, metrics: [...metrics.children].map(keyed) }));
    try {
      const answer = await fetch("/new", { method: "POST", headers: { accept: "application/json", "x-csrf-token": secret }, body });
      const data = await answer.json().catch(() => ({}));
      if (!answer.ok) throw new Error(data.error || `answer ${answer.status}`);
      location.assign(data.address);
    } catch (error) {
      outcome.textContent = error.message;
      outcome.classList.add("bad");
    } finally {
      form.ariaBusy = "false";
    }
  });
})();
