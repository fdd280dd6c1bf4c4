// SPDX-License-Identifier: Apache-2.0
// The list of conversations: open, rename, delete.

let listed = "";
function showList() {
  const wanted = $("search").value.toLowerCase();
  const textOf = one => (one.title + [...one.turns.values()].map(turn => turn.content).join("\n")).toLowerCase();
  const all = [...conversations.values()].filter(one => !one.gone && one.turns.size)
    .filter(one => !wanted || textOf(one).includes(wanted)).sort((a, b) => b.changed - a.changed);
  const sign = JSON.stringify(all.map(one => [one.id, one.title, one === current, runs.has(one.id)]));
  if (sign === listed || $("list").querySelector("input")) return;
  listed = sign;
  const focus = $("list").contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  $("list").replaceChildren(...all.map(listNode));
  if (focus) [...$("list").querySelectorAll("button")].find(one => one.getAttribute("aria-label") === focus)?.focus();
}
function titleOf(conversation) { return conversation.title || "untitled"; }
function listNode(conversation) {
  const title = titleOf(conversation);
  const go = button(title, () => { open(conversation); closeSide(); }, {className: "open", "aria-label": title, title});
  if (conversation === current) go.setAttribute("aria-current", "true");
  if (runs.has(conversation.id)) go.append(" …");
  const item = el("li", {}, go,
    button("✎", () => rename(conversation, item), {className: "plain", "aria-label": "Rename " + title}),
    button("✕", () => remove(conversation), {className: "plain drop", "aria-label": "Delete " + title}));
  return item;
}
/** A field in place of the title. Enter and leaving it keep the new one, Escape the old one. */
function rename(conversation, item) {
  const field = el("input", {value: conversation.title, "aria-label": "New title", maxLength: 200});
  let done = false;
  const leave = keeps => {
    if (done) return;
    done = true;
    if (keeps && field.value.trim() && field.value.trim() !== conversation.title) {
      Object.assign(conversation, {title: field.value.trim(), titled: Date.now()});
      note(conversation);
      keep(conversation);
    }
    field.remove();
    listed = "";
    showList();
    [...$("list").querySelectorAll(".open")].find(one => one.title === titleOf(conversation))?.focus();
  };
  field.onkeydown = event => {
    if (event.key === "Enter") leave(true);
    if (event.key === "Escape") { event.stopPropagation(); leave(false); }
  };
  field.onblur = () => leave(true);
  item.replaceChildren(field);
  field.select();
}
function restore(conversation) {
  conversation.titled = Date.now();
  mark(conversation, false);
  hush("gone");
  show();
}
function remove(conversation) {
  const shown = conversation === current;
  runs.get(conversation.id)?.abort.abort();
  mark(conversation, true).then(keepUnkept);
  if (shown) begin(); else show();
  tell("Deleted “" + titleOf(conversation) + "”.", {key: "deleted", action: "Undo", run: () => {
    restore(conversation);
    if (shown) open(conversation);
  }});
}
