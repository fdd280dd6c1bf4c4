// SPDX-License-Identifier: Apache-2.0
// Conversations in IndexedDB, one record each. A save merges into what is there, within one transaction, so tabs never
// overwrite each other; a channel tells other tabs. What must survive a page that goes at once is noted in localStorage
// until it is saved: that is written before the call returns.
let database = null, opened = null;  // the second one is there when all is read
const conversations = new Map();  // id: conversation, deleted ones too
const channel = "BroadcastChannel" in window ? new BroadcastChannel("bittern") : null;
const elsewhere = new Set();  // turns that another tab writes
const NOTE = "bittern-note:", DRAFT = "bittern-draft:";
const KEPT_NOT = "kept-not";

function openDatabase() {
  return new Promise(resolve => {
    try {
      const request = indexedDB.open("bittern", 1);
      request.onupgradeneeded = () => request.result.createObjectStore("conversations", {keyPath: "id"});
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(null);
    } catch { resolve(null); }
  });
}
function records(mode) {
  const transaction = database.transaction("conversations", mode);
  return [transaction, transaction.objectStore("conversations")];
}
/** Opens the database and reads all; what cannot be read is left as it is, and told. */
async function load() {
  database = await openDatabase();
  if (!database) return;
  let strange = 0;
  for (const record of await readAll()) {
    try {
      const kept = adopt(record), known = conversations.get(kept.id);
      if (known) merge(known, kept); else conversations.set(kept.id, kept);
    } catch { strange++; }
  }
  if (strange) tell(strange + " kept conversations cannot be read; they stay as they are.", {bad: true});
}
function readAll() {
  return new Promise((resolve, reject) => {
    const request = records("readonly")[1].getAll();
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// ---- Notes in localStorage
function keepText(name, text) { try { localStorage.setItem(name, text); return true; } catch { return false; } }
function forgetText(name) { try { localStorage.removeItem(name); } catch { /* there is none */ } }
function readText(name) { try { return localStorage.getItem(name); } catch { return null; } }
/** Notes a conversation down to its head, or that it was deleted, for a page that may go before it is saved. */
function note(conversation) {
  const path = {...conversation, turns: new Map(shownPath(conversation).map(one => [one.id, one]))};
  keepText(NOTE + conversation.id, JSON.stringify(pack(path)));
}
/** The names of all texts that are kept; none where the browser forbids it. */
function keptNames() {
  try { return Array.from({length: localStorage.length}, (_, i) => localStorage.key(i)); } catch { return []; }
}
/** Takes over what tabs that went left behind. */
function takeNotes() {
  for (const name of keptNames().filter(one => one.startsWith(NOTE))) {
    try {
      const left = adopt(JSON.parse(readText(name))), known = conversations.get(left.id);
      if (known) merge(known, left);
      if (known?.turns.has(left.head)) known.head = left.head;
      keep(known ?? left);
    } catch { forgetText(name); }
  }
}

// ---- Saving
/** Saves a conversation, and takes over what other tabs saved of it. Resolves to whether it was kept. */
async function keep(conversation) {
  conversations.set(conversation.id, conversation);
  await opened;
  if (database) return write(conversation);
  keptNot(conversation, null);
  return false;
}
function write(conversation) {
  return new Promise(resolve => {
    let problem = null;
    const noted = readText(NOTE + conversation.id);
    const [transaction, all] = records("readwrite"), asked = all.get(conversation.id);
    asked.onsuccess = () => {
      try {
        if (asked.result) merge(conversation, adopt(asked.result));
        conversation.rev++;
        all.put(pack(conversation));
      } catch (error) {
        problem = error;
        transaction.abort();
      }
    };
    transaction.oncomplete = () => {
      if (noted && readText(NOTE + conversation.id) === noted) forgetText(NOTE + conversation.id);
      needsNothing(conversation);
      channel?.postMessage({saved: conversation.id});
      resolve(true);
    };
    transaction.onabort = () => {
      // A full storage refuses even the mark of a deletion: the note has it, and the record makes room.
      if (conversation.gone) records("readwrite")[1].delete(conversation.id);
      keptNot(conversation, problem ?? transaction.error);
      resolve(false);
    };
  });
}
const unkept = new Set(), waiting = new Map();
function needsNothing(conversation) {
  unkept.delete(conversation);
  if (!unkept.size) hush(KEPT_NOT);
}
/** The open tab still has everything: it says so and tries again with the next change. */
function keptNot(conversation, problem) {
  if (conversation.gone || !conversation.turns.size) return needsNothing(conversation);
  unkept.add(conversation);
  const full = problem?.name === "QuotaExceededError";
  const reason = full ? "The browser's storage is full."
    : "The browser does not keep this conversation" + (problem ? ": " + problem.message + "." : ".");
  const advice = " Nothing is lost while this tab is open. Export writes all to a file."
    + (full ? " After you delete older conversations it is saved." : "");
  tell(reason + advice, {bad: true, key: KEPT_NOT, stays: true, action: "Export", run: exportAll});
}
/** Saves within a second, however often it is called. */
function keepSoon(conversation) {
  if (waiting.has(conversation)) return;
  waiting.set(conversation, setTimeout(() => { waiting.delete(conversation); keep(conversation); }, 700));
}
function keepUnkept() { for (const conversation of unkept) keep(conversation); }

function setGone(conversation, gone) {
  Object.assign(conversation, {gone, goneAt: Math.max(Date.now(), conversation.goneAt + 1)});
}
/** Deletes a conversation, or brings it back. A mark of it stays, so that no other tab undoes that. */
function mark(conversation, gone) {
  setGone(conversation, gone);
  note(conversation);
  return keep(conversation);
}

// ---- Other tabs
/** Reads a conversation again. What goes on from the end that is shown is shown, too. */
function refresh(id) {
  if (!database) return;
  const request = records("readonly")[1].get(id);
  request.onsuccess = () => {
    let other;
    try { other = adopt(request.result); } catch { return; }
    const mine = conversations.get(id);
    if (!mine) conversations.set(id, other);
    else {
      merge(mine, other);
      if (pathTo(mine, other.head).some(turn => turn.id === mine.head)) mine.head = other.head;
    }
    changed(conversations.get(id));
  };
}
function hear({data}) {
  if (data.saved) refresh(data.saved);
  if (data.who) for (const run of runs.values()) channel.postMessage({writes: run.turn.id});
  if (data.writes && !elsewhere.has(data.writes)) { elsewhere.add(data.writes); show(); }
  if (data.ended) { elsewhere.delete(data.ended); show(); }
}
if (channel) channel.onmessage = hear;

// ---- Drafts: what stands in the box of each conversation
function readDraft(id) {
  try { return JSON.parse(readText(DRAFT + id)) ?? {text: ""}; } catch { return {text: ""}; }
}
function keepDraft(id, draft) {
  if (!draft.text && !draft.files?.length && !draft.edit) forgetText(DRAFT + id);
  else if (!keepText(DRAFT + id, JSON.stringify(draft))) keepText(DRAFT + id, JSON.stringify({text: draft.text}));
}

// ---- Files of conversations
function exportAll() {
  const all = [...conversations.values()].filter(conversation => !conversation.gone && conversation.turns.size);
  const data = JSON.stringify({bittern_conversations: 2, conversations: all.map(pack)}, null, 1);
  const address = URL.createObjectURL(new Blob([data], {type: "application/json"}));
  el("a", {href: address, download: "bittern-conversations.json"}).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
/** Takes over a whole file or nothing of it. */
async function importFile(file) {
  try {
    const data = JSON.parse(await file.text());
    if (!Array.isArray(data?.conversations)) throw new Error("it has no list of conversations");
    const taken = data.conversations.map((raw, i) => adopt(raw, "conversation " + (i + 1)));
    for (const conversation of taken) {
      const known = conversations.get(conversation.id);
      if (!known) { await keep(conversation); continue; }
      merge(known, conversation);
      if (known.gone) await mark(known, false); else await keep(known);
    }
    tell("Imported " + taken.length + (taken.length === 1 ? " conversation." : " conversations."), {key: "import"});
  } catch (error) {
    tell(file.name + " was not imported: " + error.message + ".", {bad: true, key: "import"});
  }
  show();
}
