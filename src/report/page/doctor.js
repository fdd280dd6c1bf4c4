// SPDX-License-Identifier: Apache-2.0
// bittern doctor: the verdict, what is wrong, how much sense the text makes, the comparison with a
// healthy file, scales layer by layer.
document.title = "bittern doctor: " + plain(data.path);
add(main, "h1", data.path);
add(add(main, "p"), "span", data.verdict.replaceAll("_", " "), "badge " + data.verdict);
add(add(main, "p"), "b", data.summary);

function showFindings() {
  const mended = data.fixed && data.fixed.proved, advice = data.verdict === "curable" && data.advice;
  if (!data.findings.length && !data.undecided.length && !mended && !advice) return;
  const box = addSection("What was found");
  for (const finding of data.findings) {
    const one = add(box, "div", undefined, finding.curable ? "finding curable" : "finding");
    add(add(one, "p"), "b", finding.cause);
    add(one, "p", finding.evidence);
    add(one, "p", "Cure: " + finding.cure);
  }
  for (const sentence of data.undecided) add(box, "p", sentence);
  if (mended) {
    const line = add(box, "p", "The mended file: ");
    add(line, "code", data.fixed.path);
    line.append("; its codes and scales were proved.");
  } else if (advice) {
    add(box, "p", advice);
  }
}

function showSense() {
  if (data.nats_before === undefined || !(data.nats_of_knowing_nothing > 0)) return;
  const changed = data.nats_after !== undefined && data.nats_after !== data.nats_before;
  const most = Math.max(data.nats_of_knowing_nothing, data.nats_before, data.nats_after || 0);
  const box = addSection("How much sense it makes",
    "Nats per token of the built-in text that the model knows best; fewer are better.");
  const bars = add(box, "div", undefined, "bars");
  const bar = (name, nats) => {
    add(bars, "span", name);
    add(bars, "span", undefined, "bar").style.width = 100 * nats / most + "%";
    add(bars, "span", nats.toFixed(2));
  };
  bar(changed ? "as the file is" : "this file", data.nats_before);
  if (changed) bar("with the cures", data.nats_after);
  bar("a model that knows nothing", data.nats_of_knowing_nothing);
}

function showLikeness() {
  if (!data.like) return;
  const most = 400, box = addSection("Beside " + data.like.path, data.like.summary);
  const table = addScrolled(box, "list");
  for (const list of [data.like.unlike, data.like.unlike_keys]) {
    for (const one of list.slice(0, most)) {
      const row = add(table, "tr");
      add(add(row, "td"), "code", one.name);
      add(row, "td", one.what);
    }
    if (list.length > most) add(add(table, "tr"), "td", `and ${list.length - most} more`);
  }
}

function showScales() {
  if (!data.scales || !data.scales.length) return;
  const kinds = [...new Set(data.scales.flatMap(layer => Object.keys(layer.kinds)))].sort();
  const middle = values => values.sort((a, b) => a - b)[values.length >> 1];
  const usual = Object.fromEntries(kinds.map(kind =>
    [kind, middle(data.scales.filter(layer => kind in layer.kinds).map(layer => layer.kinds[kind].scale))]));
  const box = addSection("Scales of the ternary weights, layer by layer",
    "The stronger the colour, the further from the same matrix in other layers; framed: more than 4 times. " +
    "Point at a field for its share of zeros.");
  const table = addScrolled(box, "map"), head = add(table, "tr");
  add(head, "th");
  for (const kind of kinds) add(head, "th", kind);
  for (const layer of data.scales) {
    const row = add(table, "tr");
    add(row, "th", "layer " + layer.layer);
    for (const kind of kinds) {
      const facts = layer.kinds[kind];
      if (!facts) { add(row, "td"); continue; }
      const ratio = usual[kind] > 0 && facts.scale > 0 ? facts.scale / usual[kind] : 1e9;
      const cell = add(row, "td", digits(facts.scale, 3), ratio > 4 || ratio < 0.25 ? "cell n odd" : "cell n");
      cell.style.background = `rgba(var(--heat), ${.06 + .108 * Math.min(5, Math.floor(2 * Math.abs(Math.log2(ratio))))})`;
      cell.title = `${ratio.toFixed(2)} times the usual scale of its kind` +
        (facts.zeros === undefined ? "" : `, ${(100 * facts.zeros).toFixed(1)} % zeros`);
    }
  }
}

showFindings();
showSense();
showLikeness();
showScales();
add(main, "p", `bittern doctor, ${data.trials} trials in ${data.seconds.toFixed(1)} s`, "soft");
