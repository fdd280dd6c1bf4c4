// SPDX-License-Identifier: Apache-2.0
// bittern doctor: the verdict, what is wrong, how much sense the text makes, the comparison with a
// healthy file, scales layer by layer.
document.title = "bittern doctor: " + plain(lastPart(data.path));
add(main, "h1", lastPart(data.path));
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
    "How well the model predicts the built-in text that it knows best, in nats per token: a nat is the natural logarithm of one over " +
    `the probability. Lower is better; guessing costs ${data.nats_of_knowing_nothing.toFixed(1)}.`);
  const bars = add(box, "div", undefined, "bars");
  const bar = (name, nats, style, lost) => {
    add(bars, "span", name);
    const line = add(bars, "span", undefined, "bar " + style);
    line.style.width = 100 * nats / most + "%";
    if (lost > 0) add(line, "i").style.width = 100 * lost / nats + "%";
    add(bars, "span", nats.toFixed(2));
  };
  const gained = changed ? data.nats_before - data.nats_after : 0;
  bar(changed ? "as the file is" : "this file", data.nats_before, changed ? "asis" : "cure", gained);
  if (changed) bar("with the cures", data.nats_after, "cure");
  bar("guessing", data.nats_of_knowing_nothing, "guess");
  if (gained > 0) add(box, "p", `The cures gain ${gained.toFixed(2)} nats per token: each token is ${digits(Math.exp(gained), 3)} times as probable.`, "gain");
}

function showLikeness() {
  if (!data.like) return;
  const most = 400, box = addSection("Beside " + lastPart(data.like.path), data.like.summary);
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
  const ratioOf = (kind, facts) => usual[kind] > 0 && facts.scale > 0 ? facts.scale / usual[kind] : 1e9;
  const shadeOf = ratio => `rgba(var(--heat), ${.06 + .108 * Math.min(5, Math.floor(2 * Math.abs(Math.log2(ratio))))})`;
  // Folded where nothing stands out.
  const far = data.scales.some(layer => kinds.some(kind => layer.kinds[kind] && Math.abs(Math.log2(ratioOf(kind, layer.kinds[kind]))) > 1));
  const box = add(add(main, "section"), "details"), title = add(box, "summary");
  box.open = far;
  add(title, "h2", "Scales of the ternary weights, layer by layer");
  if (!far) add(title, "span", " (each is within twice the usual one of its kind)", "soft");
  add(box, "p", "A field is compared with the same matrix in other layers. Point at it for its share of zeros.", "soft");
  const legend = newLegend(box, "");
  for (const [text, ratio] of [["as usual", 1], ["1.5 times more or less", 1.5], ["2", 2], ["4", 4]]) {
    add(legend, "i", undefined, "small").style.background = shadeOf(ratio);
    add(legend, "span", text);
  }
  add(legend, "i", undefined, "small odd").style.background = shadeOf(32);
  add(legend, "span", "more than 4");
  box.ontoggle = tellOfScrolling;
  const table = addScrolled(box, "map"), head = add(table, "tr");
  add(head, "th");
  for (const kind of kinds) add(head, "th", kind);
  for (const layer of data.scales) {
    const row = add(table, "tr");
    add(row, "th", "layer " + layer.layer);
    for (const kind of kinds) {
      const facts = layer.kinds[kind];
      if (!facts) { add(row, "td"); continue; }
      const ratio = ratioOf(kind, facts);
      const cell = add(row, "td", digits(facts.scale, 3), ratio > 4 || ratio < 0.25 ? "cell n odd" : "cell n");
      cell.style.background = shadeOf(ratio);
      cell.title = `${ratio.toFixed(2)} times the usual scale of its kind` +
        (facts.zeros === undefined ? "" : `, ${(100 * facts.zeros).toFixed(1)} % zeros`);
    }
  }
}

showFindings();
showSense();
showLikeness();
showScales();
add(main, "p", `${data.trials} trial${data.trials === 1 ? "" : "s"} in ${data.seconds.toFixed(1)} s`, "made");
addOrigin();
