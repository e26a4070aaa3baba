// Sorting and searching the table of candidates; rows are hidden and moved, never made.
"use strict";
(() => {
  const rows = document.getElementById("rows");
  const search = document.getElementById("search"), verdict = document.getElementById("verdict");
  const found = document.getElementById("found");
  let order = null;

  function filter() {
    const text = search.value.trim().toLocaleLowerCase();
    let shown = 0;
    for (const row of rows.rows) {
      row.hidden = (verdict.value && row.dataset.verdict !== verdict.value) || (text && !row.textContent.toLocaleLowerCase().includes(text));
      shown += !row.hidden;
    }
    found.textContent = shown === rows.rows.length ? `${shown} rows` : `${shown} of ${rows.rows.length} rows`;
  }

  const VERDICTS = [...verdict.options].map((option) => option.value);

  function number(cell) {
    const text = cell.dataset.value ?? cell.textContent.trim();
    return text === "" ? NaN : Number(text);
  }

  function compare(column, kind, sign) {
    return (a, b) => {
      const x = a.cells[column], y = b.cells[column];
      if (kind === "verdict") return sign * (VERDICTS.indexOf(a.dataset.verdict) - VERDICTS.indexOf(b.dataset.verdict));
      if (kind !== "text") {
        const u = number(x), v = number(y);
        if (!Number.isNaN(u) && !Number.isNaN(v)) return sign * (u - v);
        if (Number.isNaN(u) !== Number.isNaN(v)) return Number.isNaN(u) ? 1 : -1;
      }
      return sign * x.textContent.localeCompare(y.textContent, undefined, { numeric: true });
    };
  }

  function sort() {
    if (order) rows.append(...[...rows.rows].sort(compare(order.column, order.kind, order.sign)));
  }

  for (const button of document.querySelectorAll("#candidates .sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of head.parentElement.cells) other.ariaSort = "none";
      head.ariaSort = sign === 1 ? "ascending" : "descending";
      order = { column: head.cellIndex, kind: button.dataset.kind, sign };
      sort();
    });
  }
  search.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  window.paretoscope = { ...window.paretoscope, refilter: () => { sort(); filter(); } };
  filter();
})();
