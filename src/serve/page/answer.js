// SPDX-License-Identifier: Apache-2.0
// Asking the server: one answer at a time for each conversation, saved as it grows.
const runs = new Map();      // id of a conversation: {conversation, turn, abort, progress, finish}
const failures = new Map();  // id of a conversation: why the last answer failed; nothing of it is kept

function headers() {
  const all = {"Content-Type": "application/json"};
  if (settings.key) all.Authorization = "Bearer " + settings.key;
  return all;
}
/** A file as a part of the message: its name and a fence longer than any in it. */
function fenced(file) {
  const longest = Math.max(2, ...[...file.text.matchAll(/`+/g)].map(found => found[0].length));
  const fence = "`".repeat(longest + 1);
  return file.name + ":\n" + fence + "\n" + file.text.replace(/\n$/, "") + "\n" + fence;
}
function wholeText(turn) { return [turn.content, ...(turn.files ?? []).map(fenced)].filter(Boolean).join("\n\n"); }
/** A turn as the server reads it. */
function messageOf(turn) {
  if (turn.role === "tool") return {role: "tool", tool_call_id: turn.call, content: turn.content};
  const message = {role: turn.role, content: wholeText(turn)};
  if (turn.calls) {
    message.tool_calls = turn.calls.map(({id, ...called}) => ({id, type: "function", function: called}));
  }
  return message;
}
function requestBody(path, goesOn) {
  const messages = path.map(messageOf);
  if (settings.system) messages.unshift({role: "system", content: settings.system});
  const body = {...chosenModel(), messages, stream: true, stream_options: {include_usage: true}, return_progress: true,
    timings_per_token: true, ...settingsOfRequest()};
  // A model that writes calls freely cannot vouch for its answer.
  if (!body.tools) body.receipt = true;
  if (goesOn) Object.assign(body, {continue_final_message: true, add_generation_prompt: false});
  return JSON.stringify(body);
}

/** Takes pieces of calls: the first one of each index names it. */
function takeCalls(turn, pieces) {
  turn.calls ??= [];
  for (const piece of pieces) {
    const call = turn.calls[piece.index] ??= {id: "", name: "", arguments: ""};
    if (piece.id) call.id = piece.id;
    call.name += piece.function?.name ?? "";
    call.arguments += piece.function?.arguments ?? "";
  }
}
function takeEvent(event, run) {
  if (event.error) throw new Error(event.error.message);
  const {turn} = run, choice = event.choices?.[0];
  if (event.prompt_progress) run.progress = event.prompt_progress;
  if (choice?.delta?.content) turn.content += choice.delta.content;
  if (choice?.delta?.tool_calls) takeCalls(turn, choice.delta.tool_calls);
  if (choice?.finish_reason) turn.about.finish = run.finish = choice.finish_reason;
  if (choice?.receipt) Object.assign(turn.about, {receipt: choice.receipt, seed: choice.receipt.options.seed});
  if (event.timings) {
    const times = event.timings;
    Object.assign(turn.about, {prompt: times.prompt_n + times.cache_n, cached: times.cache_n,
      predicted: times.predicted_n, speed: times.predicted_per_second});
  }
}
async function readStream(response, run) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "";;) {
    const {done, value} = await reader.read();
    if (done) break;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) if (event.startsWith("data: {")) takeEvent(JSON.parse(event.slice(6)), run);
    run.turn.rev++;
    if (!isBlank(run.turn)) keepSoon(run.conversation);
    redraw(run);
  }
  if (!run.finish) throw new Error("The connection ended in the middle of the answer.");
}
/** The words of an error for a person. A fetch that reached nobody has a TypeError. */
function reasonOf(error) {
  return error instanceof TypeError ? "The server does not answer: the connection was lost." : error.message;
}
async function request(run, path, goesOn) {
  const body = requestBody(path, goesOn);
  const options = {method: "POST", headers: headers(), body, signal: run.abort.signal};
  const response = await fetch("v1/chat/completions", options);
  if (response.ok) return readStream(response, run);
  const reply = await response.json().catch(() => null);
  throw new Error(reply?.error?.message ?? "The server answered " + response.status + ".");
}

/** Has the model answer behind the turn `parent`, or go on with the answer `goesOn`. */
async function answer(conversation, parent, goesOn = null) {
  if (runs.has(conversation.id)) return;
  const path = pathTo(conversation, goesOn ? goesOn.id : parent);
  const turn = goesOn ?? addTurn(conversation, parent, "assistant", "");
  Object.assign(turn, {state: "writing", about: {model: model.name}, rev: turn.rev + 1});
  const run = {conversation, turn, abort: new AbortController(), progress: null, finish: ""};
  runs.set(conversation.id, run);
  failures.delete(conversation.id);
  channel?.postMessage({writes: turn.id});
  show();
  try {
    await request(run, path, !!goesOn);
    turn.state = "done";
    say("The answer is complete.");
  } catch (error) {
    turn.state = "stopped";
    if (error.name === "AbortError") say("Stopped.");
    else failures.set(conversation.id, reasonOf(error));
  }
  await end(run);
}
/** The answer is at its end, whichever it was. One without a word leaves nothing but its question. */
async function end(run) {
  const {conversation, turn} = run;
  runs.delete(conversation.id);
  turn.rev++;
  if (turn.state === "stopped" && !turn.content && !turn.calls) {
    conversation.turns.delete(turn.id);
    if (conversation.head === turn.id) conversation.head = turn.parent;
  }
  conversation.changed = Date.now();
  show();
  await keep(conversation);
  channel?.postMessage({ended: turn.id});
  show();
}
async function verify(receipt, control) {
  control.textContent = "Verifying…";
  try {
    const options = {method: "POST", headers: headers(), body: JSON.stringify(receipt)};
    const response = await fetch("verify" + ofModel(), options);
    const result = await response.json();
    control.textContent = response.ok ? (result.identical ? "Identical ✓: every token is the same" : "Not identical") : result.error.message;
    control.title = result.what || "";
    say(control.textContent + ": " + control.title);
  } catch (error) { control.textContent = reasonOf(error); }
}
