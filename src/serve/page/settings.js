// SPDX-License-Identifier: Apache-2.0
// Settings, kept in localStorage. An empty field leaves the server's own value, which stands in it in grey. A value
// that is wrong is told at its field and never stored.
const FLOAT = "any", WHOLE = "1";
const FIELDS = [
  {id: "system", label: "System prompt", rows: 3, wide: true},
  {id: "temperature", label: "Temperature", step: FLOAT, min: 0},
  {id: "top_k", label: "Top k (0: all)", step: WHOLE, min: 0, max: 2147483647},
  {id: "top_p", label: "Top p", step: FLOAT, min: 0, max: 1},
  {id: "min_p", label: "Min p", step: FLOAT, min: 0, max: 1},
  {id: "repeat_penalty", label: "Repeat penalty (1: off)", step: FLOAT, min: 0.01},
  {id: "max_tokens", label: "Tokens at most", step: WHOLE, min: 1, max: 2147483647, grey: "until the end"},
  {id: "seed", label: "Seed", step: WHOLE, min: 0, max: 4294967294, grey: "drawn"},
  {id: "theme", label: "Theme", choices: {system: "as the system", light: "light", dark: "dark"}},
  {id: "form_of", label: "The answer must be", wide: true,
    choices: {"": "free", json_schema: "JSON of a schema", grammar: "of a grammar (GBNF)",
      regex: "of a regular expression"}},
  {id: "form_text", label: "Schema, grammar or expression", rows: 4, wide: true, code: true},
  {id: "tools", label: "Functions that the model may call (a JSON list, as OpenAI's “tools”)", rows: 4, wide: true,
    code: true, grey: "[{\"name\": \"weather\", \"parameters\": {\"type\": \"object\", …}}]"},
  {id: "tool_choice", label: "Calls", choices: {auto: "as the model likes", required: "always", none: "never"}},
  {id: "key", label: "API key", password: true},
];
const NUMBERS = FIELDS.filter(field => field.step).map(field => field.id);
let settings = {theme: "system", system: "", key: ""};

function readSettings() {
  try { Object.assign(settings, JSON.parse(readText("bittern") || "{}")); } catch { /* none that can be read */ }
}
function keepSettings() { keepText("bittern", JSON.stringify(settings)); }
function applyTheme() {
  if (settings.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = settings.theme;
}
/** A list of functions as the API takes them; bare functions get their wrapping. */
function readTools(text) {
  const list = JSON.parse(text);
  if (!Array.isArray(list)) throw new Error("a list is expected");
  return list.map(one => {
    const tool = one?.function ? {type: "function", function: one.function} : {type: "function", function: one};
    if (typeof tool.function?.name !== "string") throw new Error("each function needs a “name”");
    return tool;
  });
}
/** The fields of a request that come from settings. */
function settingsOfRequest() {
  const body = {};
  for (const name of NUMBERS) if (settings[name] !== "" && settings[name] != null) body[name] = Number(settings[name]);
  const text = settings.form_text;
  if (text && settings.form_of === "json_schema") {
    body.response_format = {type: "json_schema", json_schema: {name: "answer", schema: JSON.parse(text)}};
  } else if (text && settings.form_of) body[settings.form_of] = text;
  if (settings.tools) {
    body.tools = readTools(settings.tools);
    body.tool_choice = settings.tool_choice || "auto";
  }
  return body;
}

// ---- The dialog
/** Why a field's value cannot be taken; empty where it can. */
function problemOf(field) {
  const input = $(field.id), value = input.value.trim();
  if (field.step) {
    const {min, max, step} = field, wrong = input.validity;
    if (wrong.badInput) return "A number is expected.";
    const outside = wrong.rangeUnderflow || wrong.rangeOverflow;
    if (outside) return max === undefined ? "At least " + min + "." : "From " + min + " to " + max + ".";
    if (wrong.stepMismatch && step === WHOLE) return "A whole number is expected.";
  }
  try {
    if (field.id === "tools" && value) readTools(value);
    if (field.id === "form_text" && $("form_of").value) {
      if (!value) return "It is empty.";
      if ($("form_of").value === "json_schema") JSON.parse(value);
    }
  } catch (error) { return "This is not right: " + error.message; }
  return "";
}
function showProblem(field) {
  const problem = problemOf(field), input = $(field.id), words = $(field.id + "-problem");
  words.textContent = problem;
  words.hidden = !problem;
  input.setAttribute("aria-invalid", String(!!problem));
  return problem;
}
function takeField(field) {
  if (!showProblem(field)) {
    settings[field.id] = $(field.id).value;
    keepSettings();
    applyTheme();
  }
  showForm();
}
function showForm() {
  $("form_text").closest("label").hidden = !$("form_of").value;
  $("tool_choice").closest("label").hidden = !$("tools").value.trim();
}
function inputOf(field) {
  const props = {id: field.id, "aria-describedby": field.id + "-problem"};
  if (field.choices) {
    const options = Object.entries(field.choices).map(([value, words]) => el("option", {value}, words));
    return el("select", props, ...options);
  }
  if (field.rows) {
    return el("textarea", {...props, rows: field.rows, placeholder: field.grey ?? "", spellcheck: !field.code,
      className: field.code ? "code" : ""});
  }
  if (field.password) return el("input", {...props, type: "password", autocomplete: "off"});
  const {step, min, grey: placeholder = ""} = field;
  const input = el("input", {...props, type: "number", step, min, placeholder});
  if (field.max !== undefined) input.max = field.max;
  return input;
}
function makeFields() {
  $("values").querySelector(".fields").append(...FIELDS.map(field => {
    const input = inputOf(field), problem = el("span", {id: field.id + "-problem", className: "bad", hidden: true});
    input.onchange = () => takeField(field);
    input.oninput = () => { if (input.getAttribute("aria-invalid") === "true") showProblem(field); };
    return el("label", {className: field.wide ? "wide" : ""}, el("span", {}, field.label), input, problem);
  }));
  showSettings();
}
/** Fields as they are stored. */
function showSettings() {
  for (const field of FIELDS) {
    $(field.id).value = settings[field.id] ?? (field.choices ? Object.keys(field.choices)[0] : "");
    showProblem(field);
  }
  showForm();
}
/** The values in force where nothing is set, in grey. */
function showDefaults() {
  for (const field of FIELDS.filter(one => one.step && !one.grey)) {
    const value = model.params[field.id];
    $(field.id).placeholder = Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "";
  }
}
function openSettings() { showSettings(); $("drawer").showModal(); }
/** Done: closes only when all values are right. */
function closeSettings() {
  for (const field of FIELDS) takeField(field);
  const wrong = FIELDS.find(problemOf);
  if (wrong) $(wrong.id).focus(); else $("drawer").close();
}
