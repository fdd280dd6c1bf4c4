// SPDX-License-Identifier: Apache-2.0
// Controls, keys and the start.
const KEYS = [["Enter", "send"], ["Shift + Enter", "a new line"], ["Escape", "cancel an edit, or stop the answer"],
  ["↑ in an empty box", "edit your last message"], ["Ctrl + Shift + O", "a new conversation"],
  ["/", "write a message"], ["?", "this help"]];

function closeSide() { $("side").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); }
function openKeys() {
  const rows = KEYS.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)]);
  $("keys").querySelector("dl").replaceChildren(...rows);
  $("keys").showModal();
}
function editLast() {
  const turn = shownPath(current).findLast(one => one.role === "user");
  if (turn && !runs.has(current.id)) edit(turn);
}
function keyInBox(event) {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("form").requestSubmit();
  }
  if (event.key === "ArrowUp" && !$("input").value && !attached.length && !editing) {
    event.preventDefault();
    editLast();
  }
}
function keyAnywhere(event) {
  if (document.querySelector("dialog[open]")) return;
  const writes = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape") {
    if ($("side").classList.contains("open")) { closeSide(); $("menu").focus(); }
    else if (editing) endEdit();
    else runs.get(current.id)?.abort.abort();
  }
  if (event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "o") { event.preventDefault(); $("new").click(); }
  if (writes || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") { event.preventDefault(); openKeys(); }
  if (event.key === "/") { event.preventDefault(); $("input").focus(); }
}
function listen() {
  $("menu").onclick = () => $("menu").setAttribute("aria-expanded", String($("side").classList.toggle("open")));
  $("log").onclick = closeSide;
  $("new").onclick = () => { begin(); closeSide(); };
  $("search").oninput = showList;
  $("input").oninput = () => { grow(); keepBox(); };
  $("input").onkeydown = keyInBox;
  $("cancel").onclick = endEdit;
  $("stop").onclick = () => runs.get(current.id)?.abort.abort();
  $("form").onsubmit = event => { event.preventDefault(); send(); };
  $("settings").onclick = openSettings;
  $("values").noValidate = true;
  $("values").onsubmit = event => { event.preventDefault(); closeSettings(); };
  $("help").onclick = openKeys;
  $("keys-close").onclick = () => $("keys").close();
  $("export").onclick = exportAll;
  $("import").onclick = () => $("file").click();
  $("file").onchange = async () => { await importFile($("file").files[0]); $("file").value = ""; };
  $("choice").onchange = () => { settings.model = $("choice").value; keepSettings(); useModel(); };
  document.onkeydown = keyAnywhere;
  listenForFiles();
}
/** A page that goes notes what it writes; one that comes back asks what happened meanwhile. */
function listenForLeaving() {
  window.onpopstate = openAddressed;
  window.onpagehide = () => {
    for (const run of runs.values()) {
      note({...run.conversation, head: run.turn.id});
      channel?.postMessage({ended: run.turn.id});
    }
  };
  window.onbeforeunload = event => { if (unkept.size) event.preventDefault(); };
  document.onvisibilitychange = () => { if (!document.hidden && conversations.has(current.id)) refresh(current.id); };
  window.onstorage = event => { if (event.key === "bittern") { readSettings(); applyTheme(); } };
}

/** What the address names is open at once, with its draft; its messages come with the database. */
function start() {
  makeFields();
  listen();
  listenForLeaving();
  if (addressId()) current.id = addressId();
  opened = load().catch(() => { database = null; });
  findModel();
  loadBox();
  show();
  $("input").focus();
  opened.then(() => {
    takeNotes();
    const kept = conversations.get(addressId());
    channel?.postMessage({who: true});
    if (kept && kept !== current && !kept.gone) open(kept); else if (addressId() && !kept) openAddressed(); else show();
  });
}

readSettings();
applyTheme();
// The markup is painted first: the second frame comes after it. A tab in the background is not painted at all.
if (document.hidden) start(); else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(start)));
