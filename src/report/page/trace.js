// SPDX-License-Identifier: Apache-2.0
// bittern trace: a map of layers and operations for one token at a time, the residual stream's norm,
// the likeliest tokens after each layer. Arrow keys move among tokens and among fields.
document.title = "bittern trace: " + plain(data.title);
main.className = "wide trace";
const short = x => x === null ? "-" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 || x === 0 ? digits(x, 4) : x.toExponential(2);
// A token with a dot for the space that it begins with.
const visible = text => text.replace(/^ /, "\u00b7");
add(main, "h1", data.title);
add(main, "p", `\u201c${data.tokens.join("").replace(/^<[^<>]*>/, "").trim()}\u201d`);
add(main, "p", data.about, "soft");
if (data.verdict) {
  add(add(main, "p"), "span", { identical: "the same", rounding: "rounding only", different: "differs" }[data.likeness] || "compared", "badge " + data.likeness);
  add(add(main, "p"), "b", data.verdict);
}

const mapBox = addSection(data.compared ? "How far apart, as a share of each result" : "Norm of each result",
  "Each field is one operation of one layer at the chosen token; " +
  (data.compared ? "the stronger its colour, the further both results are apart." : "the stronger its colour, the larger its numbers.") +
  " Choose a token, then a field, by a click or the arrow keys.");
const tokens = add(mapBox, "div", undefined, "tokens");
tokens.setAttribute("role", "group");
tokens.setAttribute("aria-label", "Tokens");
const buttons = data.tokens.map((text, i) => {
  const button = add(tokens, "button", visible(text));
  button.title = "position " + i;
  button.onclick = () => show(i);
  return button;
});
const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
tokens.onkeydown = event => {
  const step = move[event.key], at = buttons.indexOf(document.activeElement) + (step ? step[0] + step[1] : 0);
  if (!step || !buttons[at]) return;
  event.preventDefault();
  show(at);
  buttons[at].focus();
};
showLegend();
const map = addScrolled(mapBox, "map"), detail = add(mapBox, "p", "Choose a field to see its figures.", "soft");
detail.setAttribute("aria-live", "polite");
const chart = { width: roomForCharts, height: 200, left: 56, right: 12, above: 14, below: 34 };
const norm = addPicture(addSection("Norm of the residual stream, layer by layer", "It grows with depth in a healthy model, mostly without jumps."),
  chart.width, chart.height, "Norm of the residual stream by layer");
const lens = data.lens.length && addScrolled(addSection("Likeliest tokens, as if the network ended after each layer",
  "A dot stands for the space that a token begins with."), "map");

// What a shade means: the least and the greatest number of the map.
function showLegend() {
  const [low, high] = data.range.map(power => 10 ** power);
  if (!(low <= high)) return;
  const line = newLegend(mapBox, data.compared ? "apart: " : "norm: ");
  add(line, "span", short(low));
  add(line, "i").style.background = "linear-gradient(to right, rgba(var(--heat), .06), rgba(var(--heat), 1))";
  add(line, "span", short(high));
  if (!data.compared) return;
  add(line, "i", undefined, "small").style.background = "var(--none)";
  add(line, "span", "the same bits");
  if (!data.first) return;
  add(line, "i", undefined, "framed").style.background = "var(--none)";
  add(line, "span", data.likeness === "different" ? "differs first" : "rounding begins");
}

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
  field.tabIndex = -1;
  field.onclick = () => field.focus();
  field.onfocus = () => { detail.textContent = field.title; };
  if (first && first.layer === layer && first.operation === operation && first.position === p) field.classList.add("first");
}

// The layer and the operation that differ first at this position are marked at the edges of the map, too.
function drawMap(p) {
  map.textContent = "";
  const head = add(add(map, "thead"), "tr"), body = add(map, "tbody"), first = data.first && data.first.position === p ? data.first : {};
  add(head, "th");
  for (const operation of data.operations) add(head, "th", operation, operation === first.operation ? "first" : "");
  for (let layer = -1; layer < data.layers; ++layer) {
    const row = add(body, "tr");
    add(row, "th", layer < 0 ? "ends" : "layer " + layer, layer === first.layer ? "first" : "");
    data.operations.forEach((operation, i) => {
      const positions = data.steps[i][layer + 1];
      addField(row, layer, operation, positions && positions[p], p);
    });
  }
  const entry = map.querySelector("td.first") || map.querySelector("td.cell");
  if (entry) entry.tabIndex = 0;
}

// From a field to the next one in the direction of the key; up and down to the nearest one of the row there.
map.onkeydown = event => {
  const step = move[event.key], from = event.target;
  if (!step || from.tagName !== "TD") return;
  event.preventDefault();
  const rows = [...map.querySelectorAll("tbody tr")], row = rows[rows.indexOf(from.parentNode) + step[0]];
  const fields = row ? [...row.querySelectorAll("td.cell")] : [], column = [...from.parentNode.children].indexOf(from);
  const away = field => Math.abs([...field.parentNode.children].indexOf(field) - column);
  const next = step[0] ? fields.sort((a, b) => away(a) - away(b))[0] : fields[fields.indexOf(from) + step[1]];
  if (!next) return;
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
};

function drawNorm(p) {
  norm.textContent = "";
  const points = data.stream[p].map(v => v === null ? 0 : v), most = Math.max(...points, 1e-30);
  const { width, height, left, right, above, below } = chart, bottom = height - below;
  const x = i => left + (width - left - right) * i / Math.max(1, points.length - 1), y = v => bottom - (bottom - above) * v / most;
  for (const share of [0, .5, 1]) {
    draw(norm, "line", { x1: left, x2: width - right, y1: y(share * most), y2: y(share * most) });
    draw(norm, "text", { x: left - 8, y: y(share * most) + 4, "text-anchor": "end" }, share ? digits(share * most, 3) : "0");
  }
  draw(norm, "polyline", { points: points.map((v, i) => x(i) + "," + y(v)).join(" "), style: "stroke: var(--c0)" });
  const step = Math.ceil(points.length * 46 / (width - left - right));
  points.forEach((v, i) => {
    draw(norm, "circle", { cx: x(i), cy: y(v), r: 3, fill: "var(--c0)" });
    if (i % step) return;
    draw(norm, "text", { x: x(i), y: bottom + 17, "text-anchor": i === 0 ? "start" : i === points.length - 1 ? "end" : "middle" },
      i === 0 ? "embed." : i - 1);
  });
  draw(norm, "text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, "after layer");
}

function drawLens(p) {
  if (!lens) return;
  lens.textContent = "";
  for (let i = data.lens.length - 1; i >= 0; --i) {
    const row = add(lens, "tr");
    add(row, "th", i === 0 ? "embedding" : "layer " + (i - 1));
    for (const [text, share] of data.lens[i][p]) {
      if (share >= .005 || text === data.lens[i][p][0][0]) add(row, "td", `${visible(text)}  ${(100 * share).toFixed(0)} %`, "word");
    }
  }
}

function show(p) {
  buttons.forEach((button, i) => {
    button.setAttribute("aria-pressed", i === p);
    button.tabIndex = i === p ? 0 : -1;
  });
  drawMap(p);
  drawNorm(p);
  drawLens(p);
  tellOfScrolling();
}
show(data.first ? data.first.position : data.tokens.length - 1);
addOrigin();
