// SPDX-License-Identifier: Apache-2.0
// What is shown of a conversation. A message is drawn anew only when something of it changed, so that nothing that a
// person writes or reads is torn away while other messages grow.
let current = newConversation();

/** Whether an answer ended before its end: it was stopped, or its tab went away. */
function isStopped(turn) {
  if (turn.state !== "writing") return turn.state === "stopped";
  return runs.get(current.id)?.turn !== turn && !elsewhere.has(turn.id);
}
/** The speed of an answer, behind which its other numbers are folded. */
function numbersOf(about) {
  if (!about.predicted) return "";
  const seed = about.seed === undefined ? "" : " · seed " + about.seed;
  return el("details", {className: "numbers"}, el("summary", {}, about.speed.toFixed(1) + " tokens/s"),
    about.predicted + " tokens · prompt " + about.prompt + " (" + about.cached + " cached)" + seed);
}
/** Words about an answer that did not come to its own end. */
function markOf(turn) {
  if (isStopped(turn)) return "Stopped before its end.";
  if (turn.state === "writing") return elsewhere.has(turn.id) ? "Another tab writes this answer." : "";
  return turn.about.finish === "length" ? "Cut: the most tokens were reached." : "";
}
/** "‹ 2/3 ›" where a turn has other versions; `versions` are all with its parent. */
function stepper(turn, versions) {
  const at = versions.indexOf(turn), go = to => {
    current.head = leafBelow(current, versions[to].id);
    keep(current);
    show();
  };
  return el("span", {className: "versions"},
    button("‹", () => go(at - 1), {"aria-label": "Previous version", disabled: at === 0}),
    el("span", {"aria-label": "Version " + (at + 1) + " of " + versions.length}, at + 1 + "/" + versions.length),
    button("›", () => go(at + 1), {"aria-label": "Next version", disabled: at === versions.length - 1}));
}
function actions(turn, versions, last) {
  const line = el("div", {className: "row actions"}), busy = runs.has(current.id) || elsewhere.has(turn.id);
  if (versions.length > 1) line.append(stepper(turn, versions));
  if (turn.role === "user") line.append(button("Edit", () => edit(turn), {disabled: busy}));
  line.append(button("Copy", event => copyText(turn.content, event.target)));
  if (turn.role !== "assistant" || busy) return line;
  const stopped = isStopped(turn);
  line.append(button(stopped ? "Ask again" : "Regenerate", () => answer(current, turn.parent)));
  if (last && turn.content && !turn.calls) line.append(button("Continue", () => answer(current, turn.parent, turn)));
  if (turn.about.receipt) line.append(button("Verify", event => verify(turn.about.receipt, event.target),
    {title: "The server runs the answer again from its receipt and tells whether every token is the same."}));
  if (last && stopped) line.classList.add("loud");
  return line;
}
function nameOf(turn) {
  return turn.role === "tool" ? "Result of " + calledBy(turn) : turn.role === "user" ? "You"
    : turn.about.model || model.name || "Model";
}
function messageNode(turn, versions, last) {
  const text = el("div", {className: "text"}), running = runs.get(current.id)?.turn === turn;
  if (turn.role === "assistant") markdown(turn.content, text); else text.append(turn.content);
  const name = el("h2", {className: turn.role === "tool" ? "" : "sr"}, nameOf(turn));
  const node = el("article", {className: turn.role}, name, text);
  node.dataset.turn = turn.id;
  if (turn.files) text.before(el("ul", {className: "chips"}, ...turn.files.map(file => chip(file))));
  if (turn.calls) text.after(cards(turn, last));
  const mark = markOf(turn), numbers = running ? "" : numbersOf(turn.about);
  if (mark || numbers) {
    node.append(el("div", {className: "about"}, mark ? el("strong", {className: "mark"}, mark + " ") : "", numbers));
  }
  if (running) node.append(el("div", {className: "about live"}));
  else node.append(actions(turn, versions, last));
  return node;
}
/** Everything that a message's look hangs on. */
function signature(turn, versions, last) {
  const running = runs.get(current.id)?.turn === turn;
  const grown = running ? "runs" : turn.rev;
  return JSON.stringify([turn.id, grown, turn.state, runs.has(current.id), elsewhere.has(turn.id),
    versions.map(version => version.id), last]);
}
/** What stands below the messages: why there is no answer, and how to get one. */
function footNode(path) {
  const last = path.at(-1), failure = failures.get(current.id);
  if (!last || runs.has(current.id)) return null;
  if (last.role === "assistant" && !failure) return null;
  const parent = last.role === "assistant" ? last.parent : last.id;
  const ask = words => button(words, () => answer(current, parent));
  if (!failure) {
    return el("div", {className: "unanswered row"}, el("span", {}, "There is no answer yet."), ask("Answer"));
  }
  const broken = last.role === "assistant";
  const leave = button("Close", () => { failures.delete(current.id); show(); });
  const head = el("strong", {}, broken ? "The answer broke off" : "No answer");
  return el("div", {className: "failure", role: "alert"}, head, el("p", {}, failure),
    el("div", {className: "row"}, broken ? "" : ask("Try again"), leave));
}

/** Makes the children of a node those of a list; what stays does not move. */
function setChildren(node, wanted) {
  wanted.forEach((child, i) => { if (node.children[i] !== child) node.insertBefore(child, node.children[i] ?? null); });
  while (node.children.length > wanted.length) node.lastChild.remove();
}
function showMessages() {
  const path = shownPath(current), children = childrenOf(current), log = $("log");
  const stick = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const old = new Map([...log.children].map(node => [node.signature, node]));
  const drawn = (sign, make) => old.get(sign) ?? Object.assign(make(), {signature: sign});
  const nodes = path.map((turn, i) => {
    const versions = children.get(turn.parent), last = i === path.length - 1;
    return drawn(signature(turn, versions, last), () => messageNode(turn, versions, last));
  });
  if (!path.length) nodes.push(drawn("greeting " + model.name, greeting));
  const foot = footNode(path);
  if (foot) nodes.push(drawn("foot " + path.at(-1).id + failures.get(current.id), () => foot));
  setChildren(log, nodes);
  if (stick) log.scrollTop = log.scrollHeight;
  const run = runs.get(current.id);
  if (run) redraw(run);
}
function showUse() {
  const about = shownPath(current).findLast(turn => turn.about.predicted)?.about;
  const used = about ? about.prompt + about.predicted : 0;
  $("gauge").value = model.context ? Math.min(1, used / model.context) : 0;
  $("used").textContent = model.context ? used + " / " + model.context : "";
}
function show() {
  showMessages();
  showList();
  showUse();
  $("send").hidden = runs.has(current.id);
  $("stop").hidden = !runs.has(current.id);
}

// ---- While an answer comes: at most one drawing for each picture of the screen
let drawing = false;
function redraw(run) {
  if (drawing || run.conversation !== current) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; draw(run); });
}
function draw(run) {
  const node = [...$("log").children].find(one => one.dataset.turn === run.turn.id);
  const live = node?.querySelector(".live"), log = $("log");
  if (!live || run.conversation !== current) return;
  const stick = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const text = node.querySelector(".text");
  text.replaceChildren();
  markdown(run.turn.content, text);
  const {progress, turn: {about}} = run;
  if (about.predicted) live.textContent = about.predicted + " tokens · " + about.speed.toFixed(1) + " tokens/s";
  else if (progress) {
    const {processed: value, total: max} = progress;
    live.replaceChildren("Reading the prompt: " + value + " of " + max + " tokens ",
      el("progress", {max, value, "aria-label": "Share of the prompt that is read"}));
  } else live.textContent = "Waiting…";
  if (stick) log.scrollTop = log.scrollHeight;
}
/** An answer's turn, or a list, changed here or in another tab. */
function changed(conversation) {
  if (conversation === current) {
    show();
    if (current.gone) {
      tell("This conversation was deleted in another tab.",
        {key: "gone", stays: true, action: "Bring it back", run: () => restore(conversation)});
    } else hush("gone");
  } else showList();
}

// ---- An empty page
const EXAMPLES = ["What is the capital of France?", "Explain in one sentence why it rains.",
  "Write a short poem about the sea.", "List three uses of salt."];
/** For the model inside the program, a dictionary of some 5,000 words. */
const WORDS_TO_ASK = ["What is a tern?", "What is the capital of France?", "What is the opposite of hot?", "Is a whale a fish?"];
function greeting() {
  const kind = model.builtIn ? " is a small dictionary that is part of the program. It" : "";
  const about = model.name ? model.name + kind + " runs on this server's processor and reads up to "
    + model.context.toLocaleString("en") + " tokens at a time." : "";
  const use = text => { $("input").value = text; grow(); $("form").requestSubmit(); };
  return el("section", {className: "greeting", "aria-label": "Start"}, el("h2", {}, "What do you want to ask?"),
    el("p", {}, about), el("div", {className: "examples"}, ...(model.builtIn ? WORDS_TO_ASK : EXAMPLES).map(text => button(text, () => use(text)))));
}
