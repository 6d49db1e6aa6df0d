"use strict";
/* The way of a run through the drawing of its workflow; the pages of the gallery use it as well. */

const ADVANCE = 6.63; // the width of a character of the values in a drawing
const SVG = "http://www.w3.org/2000/svg";
const number = (value) => value.toLocaleString("en");

function svg(tag, given, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function lightWay(drawing, way) {
  if (!drawing) return;
  for (const text of drawing.querySelectorAll(".value, .times")) text.remove();
  for (const part of drawing.querySelectorAll(".lit, .broke")) part.classList.remove("lit", "broke");
  drawing.classList.toggle("way", Boolean(way));
  if (!way) return;
  for (const node of drawing.querySelectorAll("[data-node]")) {
    const count = way.nodes[node.dataset.node];
    node.classList.toggle("lit", Boolean(count));
    node.classList.toggle("broke", node.dataset.node === way.failed);
    const box = node.querySelector(".shape").getBBox();
    if (count > 1) node.append(svg("text", { class: "times", x: box.x + box.width - (node.matches(".condition, .assign, .llm") ? 18 : 6), y: box.y + 15, "text-anchor": "end" }, `×${number(count)}`));
  }
  const [frame, drawn] = [drawing.parentElement, drawing].map((element) => element.getBoundingClientRect());
  const width = drawing.viewBox.baseVal.width, right = width * (frame.right - drawn.left) / drawn.width;
  const edges = drawing.querySelectorAll(".edge");
  for (const [index, count, text] of way.edges) {
    edges[index].classList.add("lit");
    const words = [count > 1 ? `×${number(count)}` : "", text].filter(Boolean).join("  ");
    if (!words || edges[index].classList.contains("back")) continue;
    const path = edges[index].querySelector("path"), length = path.getTotalLength();
    const spot = path.getPointAtLength(Math.max(length - 14, length / 2)), room = Math.floor((right - spot.x - 8) / ADVANCE);
    const made = svg("text", { class: "value", x: spot.x + 8, y: spot.y }, words.length > room ? `${words.slice(0, Math.max(room - 1, 3))}…` : words);
    made.append(svg("title", {}, words));
    drawing.append(made);
  }
}
