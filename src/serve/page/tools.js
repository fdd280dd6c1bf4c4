// SPDX-License-Identifier: Apache-2.0
// Calls of functions: each is a card, and the person types what the function returned.

/** JSON with line breaks; a call that was cut stays as it is. */
function pretty(text) { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } }
function isWholeCall(call) { try { JSON.parse(call.arguments); return true; } catch { return false; } }
function cards(turn, last) {
  const fields = [], open = last && turn.state === "done" && turn.calls.every(isWholeCall);
  const nodes = turn.calls.map(call => {
    const field = el("textarea", {rows: 2, "aria-label": "Result of " + call.name,
      placeholder: "What " + call.name + " returned"});
    fields.push(field);
    return el("section", {className: "card", "aria-label": "Call of " + call.name},
      el("h3", {}, "Calls ", el("code", {}, call.name)),
      el("pre", {tabIndex: 0, "aria-label": "Arguments"}, el("code", {}, pretty(call.arguments))), open ? field : "");
  });
  const group = el("div", {className: "calls"}, ...nodes);
  const sends = () => sendResults(turn, fields.map(field => field.value));
  if (open) group.append(button("Send results", sends, {className: "main"}));
  return group;
}
/** The results go behind the call, then the model answers. */
function sendResults(turn, results) {
  const conversation = current;
  if (runs.has(conversation.id)) return;
  let parent = turn.id;
  turn.calls.forEach((call, i) => { parent = addTurn(conversation, parent, "tool", results[i], {call: call.id}).id; });
  note(conversation);
  keep(conversation);
  answer(conversation, parent);
}
/** The name of the function whose result a turn is. */
function calledBy(turn) {
  for (let one = current.turns.get(turn.parent); one; one = current.turns.get(one.parent)) {
    const call = one.calls?.find(other => other.id === turn.call);
    if (call) return call.name;
  }
  return "a function";
}
