// SPDX-License-Identifier: Apache-2.0
// bittern bench: the fastest figures, advice, the roofline, the bytes of a token, how tests grow with
// threads, all results, the machine and the model.
document.title = "bittern bench: " + plain(data.model_type);
const plural = count => `${count} thread${count === 1 ? "" : "s"}`;
const rateText = rate => rate < 100 ? rate.toFixed(1) : String(Math.round(rate)).replace(/\B(?=(...)+$)/, rate < 9999.5 ? "" : " ");
const withPrefix = value => {
  const [unit, prefix] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([least]) => value >= least) || [1, ""];
  return digits(value / unit, 3) + prefix;
};
const bytesText = value => {
  const [unit, name, places] = [[1e9, "GB", 2], [1e6, "MB", 1], [1e3, "kB", 1]].find(([least]) => value >= least) || [1, "B", 0];
  return `${(value / unit).toFixed(places)} ${name}`;
};
const percent = share => (100 * share).toFixed(0) + " %";
const countText = value => {
  const [unit, name] = [[1e9, "billion"], [1e6, "million"], [1e3, "thousand"]].find(([least]) => value >= least) || [1, ""];
  return `${digits(value / unit, 3)} ${name}`.trim();
};
// "tg128" in words.
const testText = test => test.n_gen > 0 && test.n_prompt === 0 ? `${test.n_gen} tokens one by one` :
  test.n_gen === 0 ? `a prompt of ${test.n_prompt} tokens` : `a prompt of ${test.n_prompt} tokens, then ${test.n_gen} one by one`;
const colour = i => `var(--c${i % 8})`;

for (const test of data.tests) test.rate = median(test.samples_ts);
const fastest = tests => tests.reduce((best, test) => best && best.rate >= test.rate ? best : test, null);
const decode = fastest(data.tests.filter(test => test.n_gen > 0 && test.n_prompt === 0));
const prefill = fastest(data.tests.filter(test => test.n_prompt > 0 && test.n_gen === 0));
const shown = decode || prefill;

// Room for axes around a chart, and the way from data to pixels along one of them.
const width = roomForCharts, height = Math.round(Math.max(280, .45 * width)), left = 64, right = 24, above = 20, below = 52;
const linear = (low, high, begin, end) => value => begin + (value - low) / (high - low) * (end - begin);
const logarithmic = (low, high, begin, end) => value => linear(Math.log(low), Math.log(high), begin, end)(Math.log(value));
const powersOfTen = (low, high) => {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  return Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
};
const write = (svg, x, y, anchor, text, style) => draw(svg, "text", { x, y, "text-anchor": anchor, class: style || "" }, text);
const writeTurned = (svg, x, y, degrees, text) =>
  draw(svg, "text", { "text-anchor": "middle", transform: `translate(${x} ${y}) rotate(${degrees})` }, text);
const rule = (svg, x1, y1, x2, y2, style) => draw(svg, "line", { x1, y1, x2, y2, class: style || "" });
function writeAxes(svg, below_x, beside_y) {
  write(svg, (left + width - right) / 2, height - 10, "middle", below_x);
  writeTurned(svg, 16, (above + height - below) / 2, -90, beside_y);
}

function showTiles() {
  const tiles = add(main, "div", undefined, "tiles");
  const tile = (value, about) => {
    const box = add(tiles, "div", undefined, "tile");
    add(box, "b", value);
    add(box, "span", about, "soft");
  };
  for (const [test, done] of [[decode, "written"], [prefill, "read"]]) {
    if (test) tile(rateText(test.rate), `tokens/s ${done} (${test.test}: ${testText(test)}, ${plural(test.n_threads)})`);
  }
  if (!decode) return;
  const share = decode.explain.roof_fraction, price = decode.price_per_million_tokens;
  if (decode.explain.fits_in_cache) tile("fits in cache", "what a token reads: memory is no limit");
  else if (share !== undefined) tile(percent(share), "of the memory roof, decode");
  if (price !== undefined) tile(digits(price, 3), `for a million tokens written, in the money of which an hour costs ${decode.price_per_hour} (--cost)`);
}

// A figure that one may know this one by: docs/performance.md.
function showPeer() {
  add(main, "p", "To compare: BitNet b1.58 2B (1.19 GB, I2_S), with 2 threads on a Zen 4 server, writes 46.7 tokens/s and reads 196.", "soft");
}

function showRoofline() {
  const bandwidth = shown.explain.read_bandwidth, rate = shown.explain.int8_rate;
  if (!(bandwidth > 0) || !(rate > 0)) return;
  const points = data.tests.filter(test => test.roofline && test.n_threads === shown.n_threads).map(test =>
    ({ label: `${test.test}: ${rateText(test.rate)} t/s`, x: test.roofline.multiply_adds_per_byte, y: test.roofline.multiply_adds_per_second }))
    .filter(point => point.x > 0 && point.y > 0);
  const ridge = rate / bandwidth;
  const xs = powersOfTen(Math.min(ridge, ...points.map(p => p.x)), Math.max(4 * ridge, ...points.map(p => 2 * p.x)));
  const ys = powersOfTen(.7 * Math.min(rate, ...points.map(p => p.y)), 1.5 * rate);
  const x_low = xs[0], x_high = xs[xs.length - 1], y_low = ys[0], y_high = ys[ys.length - 1];
  const x = logarithmic(x_low, x_high, left, width - right), y = logarithmic(y_low, y_high, height - below, above);
  const svg = addPicture(addSection("Roofline", `What this machine can give at most, measured with ${plural(shown.n_threads)}: ` +
    "the slope is its memory, the flat part the int8 kernel with everything in cache. A point above the slope finds its weights in the cache. " +
    "tg writes tokens one by one, pp reads a prompt."),
    width, height, "Roofline: multiply-adds per second over multiply-adds per byte");
  for (const v of xs) { rule(svg, x(v), y(y_low), x(v), y(y_high)); write(svg, x(v), height - below + 18, "middle", withPrefix(v)); }
  for (const v of ys) { rule(svg, left, y(v), width - right, y(v)); write(svg, left - 8, y(v) + 4, "end", withPrefix(v)); }
  const from = Math.max(x_low, y_low / bandwidth), knee = Math.min(Math.max(ridge, from), x_high), middle = Math.sqrt(from * knee);
  rule(svg, x(from), y(bandwidth * from), x(knee), y(bandwidth * knee), "roof");
  if (knee < x_high) rule(svg, x(knee), y(rate), x(x_high), y(rate), "roof");
  const slope = Math.atan2(y(10) - y(1), x(10) - x(1)) * 180 / Math.PI;
  writeTurned(svg, x(middle), y(bandwidth * middle) - 9, slope, `memory ${withPrefix(bandwidth)}B/s`);
  write(svg, x(x_high) - 6, y(rate) - 8, "end", `int8 kernel ${withPrefix(rate)} multiply-adds/s`);
  points.forEach((point, i) => {
    // Beside the point, below the roof and away from the slope.
    const far = x(point.x) > .5 * width, over = point.y > .9 * Math.min(rate, bandwidth * point.x);
    draw(svg, "circle", { cx: x(point.x), cy: y(point.y), r: 6, fill: colour(i) });
    write(svg, x(point.x) + (far ? -11 : 11), over && point.x < ridge ? Math.min(y(point.y) + 34, height - below - 6) : y(point.y) + 20,
      far ? "end" : "start", point.label, "label");
  });
  writeAxes(svg, "multiply-adds per byte read from memory", "multiply-adds per second");
}

function showBytes() {
  const total = decode && decode.explain.bytes_per_token;
  if (!total) return;
  const parts = decode.explain.parts.filter(part => part.bytes >= .01 * total).map(part => [part.name, part.bytes]);
  const rest = total - parts.reduce((sum, part) => sum + part[1], 0);
  if (rest > 0) parts.push(["everything else", rest]);
  const box = addSection("Bytes read for one token", `${bytesText(total)} at ${decode.explain.context} tokens of context.`);
  const svg = addPicture(box, width, 44, "Bytes read for one token, by part; the table below has the figures"), table = addScrolled(box, "list");
  let x = 0;
  parts.forEach(([name, bytes], i) => {
    const wide = width * bytes / total, bar = draw(svg, "rect", { x, y: 0, width: Math.max(0, wide - 1), height: 44, fill: colour(i) });
    draw(bar, "title", {}, `${name}: ${(100 * bytes / total).toFixed(1)} %`);
    if (wide > 32) write(svg, x + wide / 2, 27, "middle", percent(bytes / total), "inbar");
    x += wide;
    const row = add(table, "tr"), cell = add(row, "td");
    add(cell, "span", undefined, "key").style.background = colour(i);
    cell.append(plain(name));
    add(row, "td", bytesText(bytes), "n");
    add(row, "td", (100 * bytes / total).toFixed(1) + " %", "n");
  });
}

function showScaling() {
  const lines = new Map();
  for (const test of data.tests) {
    if (!lines.has(test.test)) lines.set(test.test, []);
    lines.get(test.test).push([test.n_threads, test.scaling.speedup]);
  }
  for (const points of lines.values()) points.sort((a, b) => a[0] - b[0]);
  if (![...lines.values()].some(points => points.length > 1)) return;
  const all = [...lines.values()].flat(), most = Math.max(2, ...all.map(p => p[0])), fewest = Math.min(most - 1, ...all.map(p => p[0]));
  const best = Math.max(1, ...all.map(p => p[1])), top = Math.ceil(Math.max(best, Math.min(most / fewest, 2 * best)));
  const x = linear(fewest, most, left, width - right - 56), y = linear(0, top, height - below, above), step = Math.max(1, Math.ceil(top / 8));
  const svg = addPicture(addSection("Threads", "Speed beside that of the first thread count; dashed: in proportion."), width, height, "Speed by threads");
  for (let v = 0; v <= top; v += step) { rule(svg, left, y(v), x(most), y(v)); write(svg, left - 8, y(v) + 4, "end", v + "x"); }
  for (const count of new Set(all.map(p => p[0]))) write(svg, x(count), height - below + 18, "middle", count);
  const ideal = Math.min(most, top * fewest);
  rule(svg, x(fewest), y(1), x(ideal), y(ideal / fewest), "ideal");
  const names = [...lines].map(([name, points], i) => {
    draw(svg, "polyline", { points: points.map(p => x(p[0]) + "," + y(p[1])).join(" "), style: `stroke: ${colour(i)}` });
    for (const p of points) draw(svg, "circle", { cx: x(p[0]), cy: y(p[1]), r: 4, fill: colour(i) });
    const [count, speedup] = points[points.length - 1];
    return { name, x: x(count) + 9, y: y(speedup) + 4 };
  });
  let free = 0;  // names stand one under the other where the ends of their lines meet
  for (const label of names.sort((a, b) => a.y - b.y)) {
    write(svg, label.x, free = Math.max(label.y, free), "start", label.name, "label");
    free += 15;
  }
  writeAxes(svg, "threads", "speed, first thread count = 1");
}

function showResults() {
  const columns = [["test", test => test.test], ["threads", test => test.n_threads], ["tokens/s, median", test => test.rate.toFixed(2)],
    ["slowest", test => Math.min(...test.samples_ts).toFixed(2)], ["fastest", test => Math.max(...test.samples_ts).toFixed(2)],
    ["of the roof", test => test.explain.fits_in_cache ? "in cache" : test.explain.roof_fraction === undefined ? "" : percent(test.explain.roof_fraction)]];
  const with_price = data.tests.some(test => test.price_per_million_tokens !== undefined);
  if (with_price) columns.push(["a million costs", test => digits(test.price_per_million_tokens, 4)]);
  const joules = test => test.explain.joules_per_token;
  if (data.tests.some(test => joules(test) !== null)) columns.push(["J a token", test => joules(test) === null ? "" : digits(joules(test), 3)]);
  const table = addScrolled(addSection("Results", "pp64: a prompt of 64 tokens, read at once; tg16: 16 tokens, written one by one."), "list"),
    head = add(table, "tr");
  columns.forEach(([name], i) => add(head, "th", name, i ? "n" : ""));
  for (const test of data.tests) {
    const row = add(table, "tr");
    columns.forEach(([, value], i) => add(row, "td", value(test), i ? "n" : "name"));
  }
}

function showAdvice() {
  if (!data.advice.length) return;
  const list = add(addSection("What would help"), "ul");
  for (const sentence of data.advice) add(list, "li", sentence);
}

function showMachine() {
  const table = addScrolled(addSection("Machine and model"), "list"), why = shown.explain;
  const row = (name, value) => {
    if (!value) return;
    const line = add(table, "tr");
    add(line, "td", name);
    add(line, "td", value);
  };
  row("processor", data.cpu_info);
  row("cores for this process", data.usable_threads);
  row("last-level cache", data.cache_bytes && digits(data.cache_bytes / 2 ** 20, 6) + " MiB");
  row("plain read, " + plural(shown.n_threads), why.read_bandwidth && bytesText(why.read_bandwidth) + "/s");
  row("int8 kernel in cache, " + plural(shown.n_threads), why.int8_rate && (why.int8_rate / 1e9).toFixed(0) + " G multiply-adds/s");
  row("matrix kernel", `${why.matrix_kernel}, layout ${why.layout}`);
  row("float kernel", why.float_kernel);
  row("kernel without zeros", why.sparse_kernel);
  row("kernel of the coarse head", why.screen_kernel);
  row("model", data.model_type);
  row("file", lastPart(shown.model_filename));
  row("tensors", bytesText(shown.model_size));
  row("parameters", countText(shown.model_n_params));
}

add(main, "h1", data.model_type);
add(main, "p", data.cpu_info, "soft");
addOrigin();
if (shown) {
  showTiles();
  showPeer();
  showAdvice();
  showRoofline();
  showBytes();
  showScaling();
  showResults();
  showMachine();
}
