"use strict";
const all = [...document.querySelectorAll("[data-places]")];
const at = new Map();
for (const element of all) {
  for (const place of element.dataset.places.split(" ")) {
    if (!at.has(place)) at.set(place, []);
    at.get(place).push(element);
  }
}
const related = (element) =>
  element.dataset.places.split(" ").flatMap((place) => at.get(place) ?? []);
const mark = (name, elements) => {
  for (const element of document.querySelectorAll("." + name)) element.classList.remove(name);
  for (const element of elements) element.classList.add(name);
};
const target = (event) => event.target.closest?.("[data-places]");

function keep(element) {
  mark("kept", element ? related(element) : []);
  const place = element?.dataset.places.split(" ")[0];
  history.replaceState(null, "", element ? "#place-" + place : location.pathname);
  if (!element) return;
  const own = element.closest(".lines, .graph");
  for (const box of document.querySelectorAll(".lines, .graph")) {
    const first = box.querySelector(".kept");
    if (box === own || !first) continue;
    const place = first.getBoundingClientRect(), around = box.getBoundingClientRect();
    box.scrollTop += place.top - around.top - box.clientHeight / 3;
    if (box.classList.contains("graph")) box.scrollLeft += place.left - around.left - 40;
  }
}

document.addEventListener("mouseover", (event) => {
  const element = target(event);
  mark("lit", element ? related(element) : []);
});
document.addEventListener("focusin", (event) => {
  const element = target(event);
  if (element) mark("lit", related(element));
});
document.addEventListener("click", (event) => {
  const element = target(event);
  if (element) keep(element);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") return keep(null);
  const element = target(event);
  if (!element) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return keep(element);
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const box = element.closest(".lines");
  if (!step || !box) return;
  event.preventDefault();
  const lines = [...box.querySelectorAll("[data-places]")];
  lines[lines.indexOf(element) + step]?.focus();
});
// One line of each text is reached by Tab, the others from it by the arrows.
for (const box of document.querySelectorAll(".lines")) {
  const first = box.querySelector("[data-places]");
  if (first) first.tabIndex = 0;
  if (first) box.scrollTop = first.offsetTop - box.offsetTop - 30;
}
const linked = at.get(location.hash.replace("#place-", ""));
if (linked) keep(linked[0]);
for (const box of document.querySelectorAll("nav input")) {
  const pane = document.getElementById("pane-" + box.dataset.pane);
  const show = () => { pane.hidden = !box.checked; };
  box.addEventListener("change", show);
  show();
}
