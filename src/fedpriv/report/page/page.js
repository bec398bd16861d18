// Nothing of the page needs this: it opens what a link leads to and what is printed, and sorts and copies tables.
const all = (what, of = document) => [...of.querySelectorAll(what)];

// A part that is wider than the page fades out where there is more of it, and can be scrolled by keyboard.
const cue = (part) => {
  part.classList.toggle("more", part.scrollWidth - part.clientWidth - part.scrollLeft > 1);
  const wide = part.scrollWidth > part.clientWidth;
  for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "Table or figure, wider than the page"]]) {
    wide ? part.setAttribute(name, value) : part.removeAttribute(name);
  }
};
for (const part of all(".scroll")) {
  part.addEventListener("scroll", () => cue(part), { passive: true });
  new ResizeObserver(() => cue(part)).observe(part);
}

// A link opens the folds around what it leads to, and that which is it.
const reveal = () => {
  const part = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!part) return;
  for (const fold of [part.closest("details"), part.closest("details")?.parentElement.closest("details")]) if (fold) fold.open = true;
  for (const fold of all(":scope > details", part).slice(0, 1)) fold.open = true;
  part.scrollIntoView();
};
addEventListener("hashchange", reveal);
addEventListener("click", (event) => event.target.closest?.("a[href^='#']") && setTimeout(reveal));
reveal();
// On paper every fold is open but those that the style sheet leaves out.
let printed = [];
addEventListener("beforeprint", () => {
  printed = all("details:not([open], .ours, figure details, nav details, .claims details)");
  for (const fold of printed) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of printed) fold.open = false; });
// On a phone the contents would stand between the picture and the first paper.
if (matchMedia("(max-width: 40rem)").matches) document.querySelector("nav > details").open = false;

const cells = (row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim());
const rows = (table) => [...table.tHead.rows, ...table.tBodies[0].rows].map(cells);
const csv = (table) => rows(table).map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(",")).join("\n");
const SIGNS = { "±": "$\\pm$", "−": "$-$", "†": "$^\\dagger$", "‡": "$^\\ddagger$", "ε": "$\\varepsilon$", "δ": "$\\delta$", "σ": "$\\sigma$", "γ": "$\\gamma$", "μ": "$\\mu$", "—": "---" };
const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const escape = (text) => text
  .replace(/[&%$#_{}]/g, "\\$&")
  .replace(/⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (power) => `$^{${[...power].map((one) => (one === "⁻" ? "-" : POWERS.indexOf(one))).join("")}}$`)
  .replace(/[±−†‡εδσγμ—]/g, (sign) => SIGNS[sign]);
const latex = (table) => {
  const [head, ...body] = rows(table).map((row) => `${row.map(escape).join(" & ")} \\\\`);
  return ["% needs \\usepackage{booktabs}", `\\begin{tabular}{l${"r".repeat(table.tHead.rows[0].cells.length - 1)}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}"].join("\n");
};
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // where a page from a file may not
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};
const button = (text, act) => {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.addEventListener("click", () => act(made));
  return made;
};
// A number before a text; of `86.9 ± 1.3` the first.
const value = (text) => { const found = text.replaceAll("−", "-").replaceAll(",", "").match(/^[(<≥]*(-?\d[\d.]*)/); return found ? Number(found[1]) : NaN; };
const order = (a, b) => (isNaN(value(a)) || isNaN(value(b)) ? isNaN(value(a)) - isNaN(value(b)) || a.localeCompare(b) : value(a) - value(b));
for (const table of all("table.numbers")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const sort = button("", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of all("[aria-sort]", table)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const groups = []; // what is indented belongs to the row above it
      for (const row of body.rows) /^\u2002/.test(row.cells[0].textContent) && groups.length ? groups.at(-1).push(row) : groups.push([row]);
      const key = (group) => cells(group[0])[column] ?? "";
      groups.sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
      body.append(...groups.flat());
    });
    sort.append(...head.childNodes);
    head.append(sort);
  });
  const bar = document.createElement("p");
  bar.className = "files copy";
  for (const [name, form] of [["CSV", csv], ["LaTeX", latex]]) {
    bar.append(button(`Copy as ${name}`, async (made) => { await copy(form(table)); made.textContent = `Copied as ${name}`; }));
  }
  table.after(bar);
}
