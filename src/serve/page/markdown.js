// SPDX-License-Identifier: Apache-2.0
// Markdown as nodes of the document: no markup is ever parsed by the browser. Links go to http(s) and mailto.
const INLINE = /(`+)([^]*?[^`])\1(?!`)|\*\*([^]+?)\*\*|__([^_]+?)__|\*([^*\s][^*]*?)\*|~~([^]+?)~~|!?\[([^\]]*)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>"')\]]+)/;
function inline(text, into) {
  for (;;) {
    const m = INLINE.exec(text);
    if (!m) { into.append(text); return into; }
    into.append(text.slice(0, m.index));
    if (m[2] !== undefined) into.append(el("code", {}, m[2].trim()));
    else if (m[3] !== undefined || m[4] !== undefined) into.append(inline(m[3] ?? m[4], el("strong")));
    else if (m[5] !== undefined) into.append(inline(m[5], el("em")));
    else if (m[6] !== undefined) into.append(inline(m[6], el("s")));
    else {
      const target = m[8] ?? m[9];
      const safe = /^(https?:\/\/|mailto:)/i.test(target);
      into.append(safe ? el("a", {href: target, rel: "noreferrer noopener", target: "_blank"}, m[7] || target) : m[0]);
    }
    text = text.slice(m.index + m[0].length);
  }
}
function codeBlock(language, lines) {
  const text = lines.join("\n");
  return el("div", {className: "block"},
    el("div", {className: "row"}, el("span", {}, language), button("Copy", event => copyText(text, event.target))),
    el("pre", {tabIndex: 0, "aria-label": language ? "Code, " + language : "Code"}, el("code", {}, text)));
}
const ITEM = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/;
function list(lines, start, depth) {
  const first = ITEM.exec(lines[start]), indent = first[1].length;
  const node = el(/\d/.test(first[2]) ? "ol" : "ul");
  if (node.tagName === "OL") node.start = parseInt(first[2], 10);
  let i = start;
  while (i < lines.length) {
    const m = ITEM.exec(lines[i]);
    if (!m || m[1].length < indent) break;
    if (m[1].length > indent && node.lastChild && depth < 8) {
      const [inner, next] = list(lines, i, depth + 1);
      node.lastChild.append(inner);
      i = next;
    } else {
      node.append(inline(m[3], el("li")));
      i++;
    }
  }
  return [node, i];
}
function cells(line) { return line.trim().replace(/^\||\|$/g, "").split("|").map(cell => cell.trim()); }
function table(lines, i) {
  const head = el("tr");
  for (const cell of cells(lines[i])) head.append(inline(cell, el("th", {scope: "col"})));
  const body = el("tbody");
  for (i += 2; i < lines.length && lines[i].includes("|"); i++) {
    const row = el("tr");
    for (const cell of cells(lines[i])) row.append(inline(cell, el("td")));
    body.append(row);
  }
  return [el("table", {}, el("thead", {}, head), body), i];
}
function starts(line) { return /^(#{1,6}\s|```|~~~|>|\s*([-*+]|\d+[.)])\s)/.test(line); }
function markdown(text, into, depth = 0) {
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i], fence = /^(```+|~~~+)\s*(\S*)/.exec(line), heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (fence) {
      let end = i + 1;
      while (end < lines.length && !lines[end].startsWith(fence[1])) end++;
      into.append(codeBlock(fence[2], lines.slice(i + 1, end)));
      i = end + 1;
    } else if (heading) {
      into.append(inline(heading[2], el("h" + Math.min(6, heading[1].length + 2))));
      i++;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      into.append(el("hr"));
      i++;
    } else if (ITEM.test(line)) {
      const [node, next] = list(lines, i, 0);
      into.append(node);
      i = next;
    } else if (line.startsWith(">") && depth < 8) {
      const quoted = [];
      while (i < lines.length && lines[i].startsWith(">")) quoted.push(lines[i++].replace(/^> ?/, ""));
      into.append(markdown(quoted.join("\n"), el("blockquote"), depth + 1));
    } else if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[i + 1] || "")) {
      const [node, next] = table(lines, i);
      into.append(node);
      i = next;
    } else if (!line.trim()) {
      i++;
    } else {
      const part = [lines[i++]];
      while (i < lines.length && lines[i].trim() && !starts(lines[i])) part.push(lines[i++]);
      into.append(inline(part.join("\n"), el("p")));
    }
  }
  return into;
}
