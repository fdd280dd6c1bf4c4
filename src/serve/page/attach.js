// SPDX-License-Identifier: Apache-2.0
// Text files in a message: picked, dropped or pasted. They are sent as parts of it, each in a fence with its name.
const MOST_BYTES = 1048576;  // of all files of one message

function sizeOf(file) { return new Blob([file.text]).size; }
/** The text of a file. Throws the words for a person where it has none. */
async function textOf(file) {
  const taken = attached.reduce((sum, one) => sum + sizeOf(one), 0);
  if (taken + file.size > MOST_BYTES) {
    throw new Error(file.name + " is too large: it has " + bytesOf(file.size) + ", "
      + (taken ? bytesOf(MOST_BYTES - taken) + " are left of the " : "the most is ") + bytesOf(MOST_BYTES)
      + (taken ? " that a message may have." : " a message."));
  }
  let text;
  try { text = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer()); } catch { text = "\0"; }
  if (text.includes("\0")) throw new Error(file.name + " is not a text file (UTF-8), and only such can be attached.");
  return text;
}
/** How many tokens a text has; undefined where the server does not say. */
async function countTokens(content) {
  try {
    const options = {method: "POST", headers: headers(), body: JSON.stringify({...chosenModel(), content})};
    const response = await fetch("tokenize", options);
    return response.ok ? (await response.json()).tokens.length : undefined;
  } catch { return undefined; }
}
let taking = Promise.resolve();
/** Attaches files in the order in which they came. */
function takeFiles(files) { return taking = taking.then(() => takeEach(files)); }
async function takeEach(files) {
  for (const file of files) {
    try {
      const text = await textOf(file), tokens = await countTokens(text);
      if (model.context && tokens > model.context) {
        throw new Error(file.name + " is too long: it has " + tokens.toLocaleString("en") + " tokens, the model reads "
          + model.context.toLocaleString("en") + " at a time.");
      }
      attached = [...attached, {name: file.name || "pasted.txt", text}];
      showChips();
      keepBox();
    } catch (error) { tell(error.message, {bad: true, key: "file " + file.name}); }
  }
  $("input").focus();
}
function chip(file, control) {
  const size = el("span", {className: "about"}, bytesOf(sizeOf(file)));
  return el("li", {}, el("span", {className: "name"}, file.name), size, control ?? "");
}
function showChips() {
  const drop = file => { attached = attached.filter(one => one !== file); showChips(); keepBox(); $("input").focus(); };
  $("chips").replaceChildren(...attached.map(file => chip(file,
    button("✕", () => drop(file), {"aria-label": "Do not send " + file.name, className: "plain"}))));
  $("chips").hidden = !attached.length;
}
function listenForFiles() {
  $("attach").onclick = () => $("files").click();
  $("files").onchange = async () => { await takeFiles([...$("files").files]); $("files").value = ""; };
  $("input").onpaste = event => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    takeFiles([...event.clipboardData.files]);
  };
  const carries = event => event.dataTransfer?.types.includes("Files");
  document.ondragover = event => {
    if (!carries(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  };
  document.ondragleave = event => { if (!event.relatedTarget) document.body.classList.remove("dropping"); };
  document.ondrop = event => {
    document.body.classList.remove("dropping");
    if (!carries(event)) return;
    event.preventDefault();
    takeFiles([...event.dataTransfer.files]);
  };
}
