// SPDX-License-Identifier: Apache-2.0
// bittern trace: a map of layers and operations with a slider over positions, the residual stream's
// norm, the likeliest tokens after each layer.
document.title = "bittern trace";
main.className = "wide trace";
const short = x => x === null ? "-" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 || x === 0 ? digits(x, 4) : x.toExponential(2);
add(main, "h1", "bittern trace");
add(main, "p", data.title, "soft");
if (data.verdict) add(add(main, "p"), "b", data.verdict);

const mapBox = addSection(data.compared ? "How far apart, as a share of each result" : "Norm of each result");
const place = add(mapBox, "label", undefined, "soft"), slider = add(mapBox, "input");
Object.assign(slider, { type: "range", id: "position", min: 0, max: data.tokens.length - 1, step: 1 });
place.htmlFor = "position";
const tokens = add(mapBox, "div", undefined, "tokens");
const buttons = data.tokens.map((text, i) => {
  const button = add(tokens, "button", text);
  button.onclick = () => show(i);
  return button;
});
const map = addScrolled(mapBox, "map"), detail = add(mapBox, "p", "Choose a field to see its figures.", "soft");
const norm = addPicture(addSection("Norm of the residual stream, layer by layer"), 900, 180, "Norm by layer");
const lens = data.lens.length &&
  addScrolled(addSection("Likeliest tokens, as if the network ended after each layer"), "map");

// A logarithmic scale over all figures of the map.
function shade(value) {
  if (value === null || value === 0 && data.compared) return "";
  const [low, high] = data.range, x = Math.log10(Math.max(value, 1e-30));
  return `rgba(var(--heat), ${.06 + .94 * Math.min(1, Math.max(0, (x - low) / Math.max(high - low, 1e-9)))})`;
}

function addField(row, layer, operation, facts, p) {
  const field = add(row, "td"), first = data.first;
  if (!facts) return;
  const [value, norm, mean, least, most, zeros] = facts;
  field.className = "cell";
  field.style.background = shade(value);
  field.title = plain(`${layer < 0 ? "" : `layer ${layer}, `}${operation}, position ${p}: ` +
    (data.compared ? `${short(value)} apart, ` : "") +
    `norm ${short(norm)}, mean ${short(mean)}, ${short(least)} to ${short(most)}, zeros ${(100 * zeros).toFixed(1)} %`);
  field.onclick = () => { detail.textContent = field.title; };
  if (first && first.layer === layer && first.operation === operation && first.position === p) field.classList.add("first");
}

function drawMap(p) {
  map.textContent = "";
  const head = add(add(map, "thead"), "tr"), body = add(map, "tbody");
  add(head, "th");
  for (const operation of data.operations) add(head, "th", operation);
  for (let layer = -1; layer < data.layers; ++layer) {
    const row = add(body, "tr");
    add(row, "th", layer < 0 ? "ends" : "layer " + layer);
    data.operations.forEach((operation, i) => {
      const positions = data.steps[i][layer + 1];
      addField(row, layer, operation, positions && positions[p], p);
    });
  }
}

function drawNorm(p) {
  norm.textContent = "";
  const points = data.stream[p].map(v => v === null ? 0 : v), most = Math.max(...points, 1e-30);
  const x = i => 60 + 820 * i / Math.max(1, points.length - 1), y = v => 155 - 135 * v / most;
  draw(norm, "line", { x1: 60, x2: 880, y1: 155, y2: 155 });
  draw(norm, "polyline", { points: points.map((v, i) => x(i) + "," + y(v)).join(" "), style: "stroke: var(--c0)" });
  draw(norm, "text", { x: 4, y: 24 }, short(most));
  draw(norm, "text", { x: 4, y: 158 }, "0");
  draw(norm, "text", { x: 60, y: 174 }, "embedding");
  draw(norm, "text", { x: 880, y: 174, "text-anchor": "end" }, "layer " + (points.length - 2));
}

function drawLens(p) {
  if (!lens) return;
  lens.textContent = "";
  for (let i = data.lens.length - 1; i >= 0; --i) {
    const row = add(lens, "tr");
    add(row, "th", i === 0 ? "embedding" : "layer " + (i - 1));
    for (const [text, share] of data.lens[i][p]) add(row, "td", `${text}  ${(100 * share).toFixed(0)} %`, "word");
  }
}

function show(p) {
  slider.value = p;
  place.textContent = "Position " + p;
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === p));
  drawMap(p);
  drawNorm(p);
  drawLens(p);
}
slider.oninput = () => show(+slider.value);
show(data.first ? data.first.position : data.tokens.length - 1);
