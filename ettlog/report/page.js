"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const number = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : number;
    const value = (row) => number ? row.cells[column].dataset.v : row.cells[column].textContent;
    const compare = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = number ? a - b : a.localeCompare(b, "en", { numeric: true });
      return down ? -order : order;
    };
    const rows = Array.from(body.rows).sort((a, b) => compare(value(a), value(b)));
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  }));
  const filter = table.closest(".wide").querySelector("input");
  if (filter) {
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }
}
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details");
  if (folded) { folded.open = true; folded.scrollIntoView(); }
}
window.addEventListener("hashchange", reveal);
document.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) setTimeout(reveal, 0); });
reveal();
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((item) => { item.open = true; }));
