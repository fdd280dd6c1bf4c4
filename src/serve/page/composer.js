// SPDX-License-Identifier: Apache-2.0
// The box: what is written, edited and sent. A draft is kept for each conversation with every key.
let editing = null;  // {turn, draft}: a message that is edited, and the draft that comes back after it
let attached = [];   // files of the draft: {name, text}

/** The name of the draft: conversations that nothing was sent in share one. */
function draftName() { return conversations.has(current.id) || current.id === addressId() ? current.id : "new"; }
function keepBox() {
  const box = {text: $("input").value, files: attached};
  keepDraft(draftName(), editing ? {...editing.draft, edit: {turn: editing.turn.id, ...box}} : box);
}
function setBox(text, files) {
  $("input").value = text;
  attached = files ?? [];
  grow();
  showChips();
  $("editing").hidden = !editing;
}
function grow() {
  const input = $("input");
  input.style.height = "auto";
  input.style.height = input.scrollHeight + 2 + "px";
}
/** Puts the draft of the open conversation into the box, in the middle of an edit, too. */
function loadBox() {
  const draft = readDraft(draftName()), turn = current.turns.get(draft.edit?.turn);
  editing = turn ? {turn, draft: {text: draft.text, files: draft.files}} : null;
  if (turn) setBox(draft.edit.text, draft.edit.files); else setBox(draft.text, draft.files);
}
function edit(turn) {
  if (!editing) editing = {draft: {text: $("input").value, files: attached}};
  editing.turn = turn;
  setBox(turn.content, turn.files);
  keepBox();
  $("input").focus();
}
function endEdit() {
  const {draft} = editing;
  editing = null;
  setBox(draft.text, draft.files);
  keepBox();
  $("input").focus();
}

// ---- Which conversation is open; the address has its id
function addressId() { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } }
function setAddress(id, replaces) {
  if (addressId() === id) return;
  const address = location.pathname + location.search + (id ? "#" + encodeURIComponent(id) : "");
  if (replaces) history.replaceState(null, "", address); else history.pushState(null, "", address);
}
function open(conversation) {
  current = conversation;
  setAddress(conversation.id);
  loadBox();
  show();
  $("log").scrollTop = $("log").scrollHeight;
}
function begin() {
  current = newConversation();
  setAddress("");
  loadBox();
  show();
  $("input").focus();
}
/** After Back, Forward or a typed address. */
function openAddressed() {
  const conversation = conversations.get(addressId());
  if (conversation && !conversation.gone) { if (conversation !== current) open(conversation); }
  else if (!addressId()) begin();
  else {
    tell("That conversation is not kept in this browser.", {bad: true, key: "unknown"});
    history.replaceState(null, "", location.pathname + location.search);
    begin();
  }
}

// ---- Sending
function send() {
  const text = $("input").value, conversation = current;
  if (runs.has(conversation.id) || (!text.trim() && !attached.length)) return;
  keepDraft(draftName(), editing ? editing.draft : {text: ""});
  const parent = editing ? editing.turn.parent : conversation.head;
  const turn = addTurn(conversation, parent, "user", text, attached.length ? {files: attached} : {});
  const left = editing ? editing.draft : {text: "", files: []};
  editing = null;
  conversation.changed = Date.now();
  if (conversation.gone) setGone(conversation, false);
  if (!conversation.title) {
    Object.assign(conversation, {title: (text.trim() || turn.files[0].name).slice(0, 60), titled: Date.now()});
  }
  note(conversation);
  keep(conversation);
  setAddress(conversation.id, true);
  setBox(left.text, left.files);
  $("log").scrollTop = $("log").scrollHeight;
  answer(conversation, turn.id);
  $("input").focus();
}
