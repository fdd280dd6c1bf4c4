// SPDX-License-Identifier: Apache-2.0
// The document: elements, words for the person, the clipboard. The scripts of the page share one scope.
"use strict";
const $ = id => document.getElementById(id);

/** An element with properties and children; strings become text nodes. */
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name in node) node[name] = value; else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
/** A button of some words. */
function button(words, onclick, props) { return el("button", {type: "button", onclick, ...props}, words); }
function newId() {
  return crypto.randomUUID ? crypto.randomUUID() : Date.now().toString(36) + "-" + Math.random().toString(36).slice(2);
}
/** A count of bytes in words: "812 bytes", "12.4 KiB". */
function bytesOf(count) {
  if (count < 1024) return count + (count === 1 ? " byte" : " bytes");
  return count < 1048576 ? (count / 1024).toFixed(1) + " KiB" : (count / 1048576).toFixed(1) + " MiB";
}

/** Words that only a screen reader tells. */
function say(text) { $("status").textContent = text; }
/**
 * Words above the box that all can see. A notice replaces the one with the same key; it goes after a while unless it
 * stays. `action` is the name of a button that calls `run`.
 */
function tell(text, {bad = false, key = text, stays = false, action = "", run = null} = {}) {
  hush(key);
  const node = el("div", {className: bad ? "notice bad" : "notice"}, el("span", {}, text));
  if (bad) node.setAttribute("role", "alert");
  node.dataset.key = key;
  if (action) node.append(button(action, () => { node.remove(); run(); }));
  node.append(button("✕", () => node.remove(), {"aria-label": "Close this notice", className: "plain"}));
  $("notices").append(node);
  const leave = () => {
    if (node.matches(":hover, :focus-within")) setTimeout(leave, 2000); else node.remove();
  };
  if (!stays) setTimeout(leave, 12000);
}
/** Takes a notice away. */
function hush(key) {
  for (const node of [...$("notices").children]) if (node.dataset.key === key) node.remove();
}

/** Copies a text; `control` says whether it worked. A page that came by plain HTTP has no clipboard, so it selects. */
async function copyText(text, control) {
  let done = true;
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text).catch(() => { done = false; });
  } else {
    const box = el("textarea", {value: text, className: "sr"});
    document.body.append(box);
    box.select();
    done = document.execCommand("copy");
    box.remove();
    control.focus();
  }
  control.textContent = done ? "Copied" : "Not copied";
  say(control.textContent);
}
