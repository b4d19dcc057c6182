"use strict";

// Light and dark: the system decides until the reader does.
const root = document.documentElement;
const button = document.getElementById("theme");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches);
const nameTheButton = () => { button.textContent = isDark() ? "Light" : "Dark"; };
const remember = (theme) => { try { localStorage.setItem("tenfold-theme", theme); } catch { /* files may not store */ } };
try { root.dataset.theme = localStorage.getItem("tenfold-theme") ?? ""; } catch { /* as above */ }
button.hidden = false;
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember(root.dataset.theme);
  nameTheButton();
});
systemIsDark.addEventListener("change", nameTheButton);
nameTheButton();

// Tables: every heading becomes a button that sorts by its column.
const inWords = new Intl.Collator(undefined, { numeric: true });
const compare = (a, b) => {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x === undefined && y === undefined) return inWords.compare(a.textContent, b.textContent);
  return x - y;
};
// A dash in a column of numbers stands for "nothing to say" and stays at the end.
const isMissing = (cell, heading) => heading.classList.contains("number") && cell.dataset.value === undefined;

for (const heading of document.querySelectorAll("thead th")) {
  const name = heading.textContent.trim();
  const control = document.createElement("button");
  control.type = "button";
  control.textContent = name;
  heading.replaceChildren(control);
  control.addEventListener("click", () => {
    const fallsFirst = heading.classList.contains("number");
    const before = heading.getAttribute("aria-sort");
    const order = before ? (before === "ascending" ? "descending" : "ascending") : (fallsFirst ? "descending" : "ascending");
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const body = heading.closest("table").tBodies[0];
    const cell = (row) => row.children[heading.cellIndex];
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].sort((a, b) => {
      const missing = isMissing(cell(a), heading) - isMissing(cell(b), heading);
      return missing || sign * compare(cell(a), cell(b));
    });
    body.append(...rows);
    document.getElementById("status").textContent = `Sorted by ${name}, ${order}.`;
  });
}

// Many classes: a field that finds them by name, in the list and in the table.
const SEARCHED = 12;
const detail = document.getElementById("detail");
const classes = detail ? [...detail.parentElement.querySelectorAll(":scope > details")] : [];
if (classes.length > SEARCHED) {
  const label = document.createElement("label");
  const field = document.createElement("input");
  label.className = "find";
  label.textContent = `Find one of ${classes.length} classes`;
  field.type = "search";
  label.append(field);
  detail.after(label);
  const named = (element) => element.textContent.trim().toLowerCase();
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const one of classes) one.hidden = !named(one.querySelector("summary > span")).includes(wanted);
    const shown = classes.filter((one) => !one.hidden).length;
    document.getElementById("status").textContent = `${shown} of ${classes.length} classes.`;
  });
}

// A link to a class opens it.
const openTarget = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.hidden = false;
    target.querySelector("summary").focus();
    target.scrollIntoView();
  }
};
addEventListener("hashchange", openTarget);
openTarget();

// Paper cannot be clicked.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => { for (const details of closed) details.open = false; });
