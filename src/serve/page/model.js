// SPDX-License-Identifier: Apache-2.0
// Which model answers. Where the server has several there is a list; a model is loaded when it is chosen.
let model = {name: "", context: 0, params: {}};

function chosenModel() { return $("choice").hidden ? {} : {model: $("choice").value}; }
function ofModel() { return $("choice").hidden ? "" : "?model=" + encodeURIComponent($("choice").value); }
async function listModels() {
  const response = await fetch("v1/models", {headers: headers()});
  if (!response.ok) throw new Error();
  const names = (await response.json()).data.map(one => one.id);
  $("choice").replaceChildren(...names.map(name => el("option", {value: name}, name)));
  if (names.includes(settings.model)) $("choice").value = settings.model;
  $("choice").hidden = false;
}
function showModel(props) {
  const {n_ctx: context, params} = props.default_generation_settings;
  model = {name: props.model_alias, context, params: params ?? {}, builtIn: props.model_path === ""};
  $("model").textContent = $("choice").hidden ? model.name : "";
  document.title = model.name + " – Bittern";
  showDefaults();
  show();
}
async function useModel() {
  $("model").textContent = "loading the model…";
  try {
    let response = await fetch("props" + ofModel(), {headers: headers()});
    if (response.status === 404) {  // a GET loads none
      const load = await fetch("models/load", {method: "POST", headers: headers(), body: JSON.stringify(chosenModel())});
      if (!load.ok) throw new Error((await load.json()).error.message);
      response = await fetch("props" + ofModel(), {headers: headers()});
    }
    const props = await response.json();
    if (!response.ok) throw new Error(props.error.message);
    showModel(props);
  } catch (error) { $("model").textContent = reasonOf(error); }
}
/** Asks until the server has a model. */
async function findModel() {
  for (;;) {
    try {
      const response = await fetch("props", {headers: headers()});
      if (response.ok) {
        const props = await response.json();
        if (props.role !== "router") return showModel(props);
        await listModels();
        return useModel();
      }
      if (response.status === 401) $("model").textContent = "an API key is needed: see Settings";
    } catch { $("model").textContent = "the server does not answer"; }
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
}
