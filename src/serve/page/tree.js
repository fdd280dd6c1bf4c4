// SPDX-License-Identifier: Apache-2.0
// Conversations as trees that only grow. Two tabs that change one conversation merge it turn by turn.
//
// A conversation: {id, title, titled, gone, goneAt, head, changed, rev, turns}. `title` and `gone` are the newer
// ones by their times. `turns` is a Map of id to turn; `head` is the turn at the end of what is shown.
// A turn: {id, parent, role, content, at, rev, state, files, calls, call, about}. The parent is an id or null, the
// role "user", "assistant" or "tool", the state "done", "writing" or "stopped". `rev` grows with each change of it.

function newConversation(id = newId()) {
  return {id, title: "", titled: 0, gone: false, goneAt: 0, head: null, changed: Date.now(), rev: 0, turns: new Map()};
}
/** A turn behind `parent`; it is younger than all others. */
function addTurn(conversation, parent, role, content, more) {
  let at = Date.now();
  for (const turn of conversation.turns.values()) at = Math.max(at, turn.at + 1);
  const turn = {id: newId(), parent, role, content, at, rev: 1, state: "done", about: {}, ...more};
  conversation.turns.set(turn.id, turn);
  conversation.head = turn.id;
  return turn;
}
/** Turns from the first one to that of `id`. */
function pathTo(conversation, id) {
  const path = [];
  for (let turn = conversation.turns.get(id); turn; turn = conversation.turns.get(turn.parent)) path.unshift(turn);
  return path;
}
function shownPath(conversation) { return pathTo(conversation, conversation.head); }
/** A Map of each parent to its turns, oldest first. */
function childrenOf(conversation) {
  const children = new Map();
  for (const turn of [...conversation.turns.values()].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))) {
    if (children.has(turn.parent)) children.get(turn.parent).push(turn); else children.set(turn.parent, [turn]);
  }
  return children;
}
/** The end of the newest branch below a turn, or of the conversation for null. */
function leafBelow(conversation, id) {
  const children = childrenOf(conversation);
  while (children.has(id)) id = children.get(id).at(-1).id;
  return id;
}
/** An answer that has nothing yet. It is not kept. */
function isBlank(turn) { return turn.role === "assistant" && turn.state === "writing" && !turn.content && !turn.calls; }

/** Takes over all that `other` has and `into` lacks. Turns of `into` stay the same objects. */
function merge(into, other) {
  for (const turn of other.turns.values()) {
    const mine = into.turns.get(turn.id);
    if (!mine) into.turns.set(turn.id, turn);
    else if (turn.rev > mine.rev) Object.assign(mine, turn, {parent: mine.parent});  // a turn never moves
  }
  if (other.titled > into.titled || (!into.title && other.title)) {
    Object.assign(into, {title: other.title, titled: other.titled});
  }
  if (other.goneAt > into.goneAt) Object.assign(into, {gone: other.gone, goneAt: other.goneAt});
  into.changed = Math.max(into.changed, other.changed);
  into.rev = Math.max(into.rev, other.rev);
  if (!into.turns.has(into.head)) into.head = into.turns.has(other.head) ? other.head : leafBelow(into, null);
}

// ---- As it is kept and exported: turns are a list. What is read is not trusted.
/** What is kept of a conversation. One that was deleted keeps nothing but that. */
function pack(conversation) {
  const turns = conversation.gone ? [] : [...conversation.turns.values()].filter(turn => !isBlank(turn));
  const blank = conversation.turns.get(conversation.head);
  const head = blank && isBlank(blank) ? blank.parent : conversation.head;
  return {...conversation, title: conversation.gone ? "" : conversation.title, head, turns};
}
function textOr(value, other) { return typeof value === "string" ? value : other; }
function timeOr(value, other) { return Number.isFinite(value) && value >= 0 ? value : other; }
const NUMBERS_OF_ANSWER = ["prompt", "cached", "predicted", "speed", "seed"];
function readAbout(raw) {
  const about = {};
  for (const name of NUMBERS_OF_ANSWER) if (Number.isFinite(raw?.[name])) about[name] = raw[name];
  for (const name of ["finish", "model"]) if (typeof raw?.[name] === "string") about[name] = raw[name];
  if (raw?.receipt && typeof raw.receipt === "object") about.receipt = raw.receipt;
  return about;
}
function readTurn(raw, place) {
  if (!raw || typeof raw !== "object") throw new Error(place + " is no turn");
  if (!["user", "assistant", "tool"].includes(raw.role)) throw new Error(place + " has no role");
  if (typeof raw.content !== "string") throw new Error(place + " has no text");
  const turn = {id: textOr(raw.id, ""), parent: textOr(raw.parent, null), role: raw.role, content: raw.content,
    at: timeOr(raw.at, 0), rev: timeOr(raw.rev, 1), about: readAbout(raw.about),
    state: ["writing", "stopped"].includes(raw.state) ? raw.state : "done"};
  if (!turn.id) throw new Error(place + " has no id");
  if (Array.isArray(raw.files)) {
    turn.files = raw.files.map(file => ({name: textOr(file?.name, "file"), text: textOr(file?.text, "")}));
  }
  if (Array.isArray(raw.calls) && raw.calls.length) {
    turn.calls = raw.calls.map(call => (
      {id: textOr(call?.id, ""), name: textOr(call?.name, ""), arguments: textOr(call?.arguments, "")}));
  }
  if (typeof raw.call === "string") turn.call = raw.call;
  return turn;
}
/** Ids of turns of the older list: of their place and all that stands before them, so that equal lists merge. */
function oldTurns(messages, place) {
  let parent = null, hash = 2166136261;
  return messages.map((message, i) => {
    const role = message?.role === "user" ? "user" : "assistant";
    if (typeof message?.content !== "string") throw new Error(place + ", message " + (i + 1) + " has no text");
    for (const c of role + message.content) hash = Math.imul(hash ^ c.codePointAt(0), 16777619) >>> 0;
    const turn = readTurn({...message, id: "old-" + i + "-" + hash.toString(36), parent, role, at: i, rev: 1}, place);
    parent = turn.id;
    return turn;
  });
}
/** A conversation from what was kept or exported, of this form or the older one. Throws what is wrong with it. */
function adopt(raw, place = "the conversation") {
  if (!raw || typeof raw !== "object" || typeof raw.id !== "string" || !raw.id) throw new Error(place + " has no id");
  const list = Array.isArray(raw.turns) ? raw.turns.map((turn, i) => readTurn(turn, place + ", turn " + (i + 1)))
    : Array.isArray(raw.messages) ? oldTurns(raw.messages, place) : null;
  if (!list) throw new Error(place + " has no turns");
  const conversation = {...newConversation(raw.id), title: textOr(raw.title, ""), titled: timeOr(raw.titled, 0),
    gone: raw.gone === true, goneAt: timeOr(raw.goneAt, 0), changed: timeOr(raw.changed, 0), rev: timeOr(raw.rev, 0),
    turns: new Map(list.map(turn => [turn.id, turn]))};
  // A parent stands before its turns: no circle, none that is missing.
  const seen = new Set([null]);
  for (const turn of list) {
    if (!seen.has(turn.parent)) throw new Error(place + " has a turn without the one before it");
    if (seen.has(turn.id)) throw new Error(place + " has two turns with one id");
    seen.add(turn.id);
  }
  conversation.head = conversation.turns.has(raw.head) ? raw.head : leafBelow(conversation, null);
  return conversation;
}
