// SPDX-License-Identifier: Apache-2.0
// Models, tokens, proof and conversion. What a settled promise gets stands beside each function.
#include "functions.hpp"

namespace bittern::node {
namespace {

/// A handle that a job makes; freed with the job where JavaScript never gets it.
struct Made {
  Kind kind;
  void* handle = nullptr;

  explicit Made(Kind of) : kind(of) {}
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() {
    if (handle != nullptr) FreeHandle(kind, handle);
  }
  napi_value Give(napi_env env) {
    void* const given = handle;
    handle = nullptr;
    return NewHandle(env, kind, given);
  }
};

/// load(path or null or bytes, isBytes, settings, listener): a model. Null: the built-in one.
napi_value Load(Arguments& arguments, Environment& environment) {
  auto job = std::make_unique<Job>();
  std::shared_ptr<Options> options;
  std::string source, name;
  const bool is_builtin = arguments.IsNothing(0);
  const bool is_memory = !arguments.IsNothing(1);
  if ((!is_builtin && !arguments.Bytes(0, &source)) || (is_memory && !arguments.Text(1, &name)) ||
      !arguments.Settings(2, &options) || !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  auto made = std::make_shared<Made>(Kind::kModel);
  job->work = [=, source = std::move(source)](Job& running) {
    bittern_model* model = nullptr;
    const bittern_status status =
        is_builtin  ? bittern_model_load_builtin(options->get(), &model)
        : is_memory ? bittern_model_load_memory(source.data(), source.size(), name.c_str(),
                                                options->get(), &Job::OnProgress, &running, &model)
                    : bittern_model_load(source.c_str(), options->get(), &Job::OnProgress, &running,
                                         &model);
    made->handle = model;
    return status;
  };
  job->value = [made](napi_env env, Job&) { return made->Give(env); };
  return environment.Start(std::move(job));
}

/// modelInfo(model) -> JSON
napi_value ModelInfo(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  Result result;
  if (!arguments.Handle(0, Kind::kModel, &model)) return nullptr;
  if (bittern_model_info(model, result.out()) != BITTERN_OK) return ThrowLast(arguments.env());
  return JsonOf(arguments.env(), result);
}

/// modelNumber(model, name) -> a number
napi_value ModelNumber(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  std::string name;
  std::int64_t number = 0;
  napi_value value = nullptr;
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Text(1, &name)) return nullptr;
  if (bittern_model_number(model, name.c_str(), &number) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  napi_create_double(arguments.env(), static_cast<double>(number), &value);
  return value;
}

/// metadataKeys(model) -> an array
napi_value MetadataKeys(Arguments& arguments, Environment&) {
  napi_env env = arguments.env();
  bittern_model* model = nullptr;
  std::size_t count = 0;
  napi_value keys = nullptr;
  if (!arguments.Handle(0, Kind::kModel, &model)) return nullptr;
  if (bittern_model_metadata_count(model, &count) != BITTERN_OK) return ThrowLast(env);
  if (napi_create_array_with_length(env, count, &keys) != napi_ok) return nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const char* key = nullptr;
    if (bittern_model_metadata_key(model, i, &key) != BITTERN_OK) return ThrowLast(env);
    napi_value text = NewText(env, key, NAPI_AUTO_LENGTH);
    if (text == nullptr ||
        napi_set_element(env, keys, static_cast<std::uint32_t>(i), text) != napi_ok) {
      return nullptr;
    }
  }
  return keys;
}

/// metadata(model, key) -> JSON
napi_value Metadata(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  std::string key;
  Result result;
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Text(1, &key)) return nullptr;
  if (bittern_model_metadata(model, key.c_str(), result.out()) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  return JsonOf(arguments.env(), result);
}

/// A job about a model that gives one result.
std::unique_ptr<Job> JobOfModel(Arguments& arguments, bittern_model** model,
                                napi_value (*value)(napi_env, const Result&)) {
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kModel, model) || !arguments.Keep(0, job.get())) return nullptr;
  job->value = [value](napi_env env, Job& done) { return value(env, done.result); };
  return job;
}

/// tokenize(model, text, flags): ids
napi_value Tokenize(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::string text;
  double flags = 0;
  auto job = JobOfModel(arguments, &model, IdsOf);
  if (job == nullptr || !arguments.Bytes(1, &text) || !arguments.Number(2, &flags)) return nullptr;
  job->work = [model, text = std::move(text),
               flags = static_cast<std::uint32_t>(flags)](Job& running) {
    return bittern_tokenize(model, text.data(), text.size(), flags, running.result.out());
  };
  return environment.Start(std::move(job));
}

/// detokenize(model, ids, flags): a text
napi_value Detokenize(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::vector<std::int32_t> ids;
  double flags = 0;
  auto job = JobOfModel(arguments, &model, TextOf);
  if (job == nullptr || !arguments.Ids(1, &ids) || !arguments.Number(2, &flags)) return nullptr;
  job->work = [model, ids = std::move(ids),
               flags = static_cast<std::uint32_t>(flags)](Job& running) {
    return bittern_detokenize(model, Data(ids), ids.size(), flags, running.result.out());
  };
  return environment.Start(std::move(job));
}

/// applyTemplate(model, messages as JSON, template or null): {text, ids}
napi_value ApplyTemplate(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::string messages, source;
  const bool is_own = arguments.IsNothing(2);
  auto job = JobOfModel(arguments, &model, AllOf);
  if (job == nullptr || !arguments.Text(1, &messages) || (!is_own && !arguments.Text(2, &source))) {
    return nullptr;
  }
  job->work = [=](Job& running) {
    return bittern_apply_template(model, messages.data(), messages.size(),
                                  is_own ? nullptr : source.c_str(), running.result.out());
  };
  return environment.Start(std::move(job));
}

/// tokenBytes(model, id) -> a Uint8Array
napi_value TokenBytes(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  double id = 0;
  const char* bytes = nullptr;
  std::size_t size = 0;
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Number(1, &id)) return nullptr;
  if (bittern_token_bytes(model, static_cast<std::int32_t>(id), &bytes, &size) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  return NewBytes(arguments.env(), bytes, size);
}

/// tokenIsEnd(model, id) -> a boolean
napi_value TokenIsEnd(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  double id = 0;
  std::int32_t is_end = 0;
  napi_value value = nullptr;
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Number(1, &id)) return nullptr;
  if (bittern_token_is_end(model, static_cast<std::int32_t>(id), &is_end) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  napi_get_boolean(arguments.env(), is_end != 0, &value);
  return value;
}

/// certify(model, settings, listener): a line
napi_value Certify(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  auto job = JobOfModel(arguments, &model, TextOf);
  if (job == nullptr || !arguments.Settings(1, &options) || !arguments.Listener(2, job.get())) {
    return nullptr;
  }
  job->work = [=](Job& running) {
    return bittern_certify(model, options->get(), &Job::OnProgress, &running, running.result.out());
  };
  return environment.Start(std::move(job));
}

/// scoreText(model, text, settings, listener), scoreChoices(...): JSON
template <bittern_status (*kCall)(const bittern_model*, const char*, std::size_t,
                                  const bittern_options*, bittern_progress_fn, void*,
                                  bittern_result**)>
napi_value Score(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  std::string text;
  auto job = JobOfModel(arguments, &model, JsonOf);
  if (job == nullptr || !arguments.Bytes(1, &text) || !arguments.Settings(2, &options) ||
      !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  job->heavy = true;
  job->work = [=, text = std::move(text)](Job& running) {
    return kCall(model, text.data(), text.size(), options->get(), &Job::OnProgress, &running,
                 running.result.out());
  };
  return environment.Start(std::move(job));
}

/// verify(model, receipts, settings): JSON
napi_value Verify(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  std::string text;
  auto job = JobOfModel(arguments, &model, JsonOf);
  if (job == nullptr || !arguments.Bytes(1, &text) || !arguments.Settings(2, &options)) {
    return nullptr;
  }
  job->heavy = true;
  job->work = [=, text = std::move(text)](Job& running) {
    return bittern_verify(model, text.data(), text.size(), options->get(), running.result.out());
  };
  return environment.Start(std::move(job));
}

/// embed(model, ids, settings): a Float32Array
napi_value Embed(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  std::vector<std::int32_t> ids;
  auto job = JobOfModel(arguments, &model, [](napi_env env, const Result& result) -> napi_value {
    const float* floats = nullptr;
    std::size_t count = 0;
    if (bittern_result_floats(result.get(), &floats, &count) != BITTERN_OK) return ThrowLast(env);
    return NewFloats(env, floats, count);
  });
  if (job == nullptr || !arguments.Ids(1, &ids) || !arguments.Settings(2, &options)) return nullptr;
  job->heavy = true;
  job->work = [=, ids = std::move(ids)](Job& running) {
    if (running.cancelled()) return running.Cancelled();
    return bittern_embed(model, Data(ids), ids.size(), options->get(), running.result.out());
  };
  return environment.Start(std::move(job));
}

/// trace(model, ids, folder or "", settings): a text
napi_value Trace(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  std::vector<std::int32_t> ids;
  std::string folder;
  auto job = JobOfModel(arguments, &model, TextOf);
  if (job == nullptr || !arguments.Ids(1, &ids) || !arguments.Text(2, &folder) ||
      !arguments.Settings(3, &options)) {
    return nullptr;
  }
  job->heavy = true;
  job->work = [=, ids = std::move(ids)](Job& running) {
    if (running.cancelled()) return running.Cancelled();
    return bittern_trace(model, Data(ids), ids.size(), folder.empty() ? nullptr : folder.c_str(),
                         options->get(), running.result.out());
  };
  return environment.Start(std::move(job));
}

/// parseAnswer(model, text) -> {text, ids, json}
napi_value ParseAnswer(Arguments& arguments, Environment&) {
  bittern_model* model = nullptr;
  std::string text;
  Result result;
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Bytes(1, &text)) return nullptr;
  if (bittern_parse_answer(model, text.data(), text.size(), result.out()) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  return AllOf(arguments.env(), result);
}

/// inspect(path, settings), doctor(path, settings): JSON
template <bittern_status (*kCall)(const char*, const bittern_options*, bittern_result**)>
napi_value Examine(Arguments& arguments, Environment& environment) {
  auto job = std::make_unique<Job>();
  std::shared_ptr<Options> options;
  std::string path;
  if (!arguments.Text(0, &path) || !arguments.Settings(1, &options)) return nullptr;
  job->work = [=](Job& running) {
    return kCall(path.c_str(), options->get(), running.result.out());
  };
  job->value = [](napi_env env, Job& done) { return JsonOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// convert(source, target, settings, listener): JSON
napi_value Convert(Arguments& arguments, Environment& environment) {
  auto job = std::make_unique<Job>();
  std::shared_ptr<Options> options;
  std::string source, target;
  if (!arguments.Text(0, &source) || !arguments.Text(1, &target) ||
      !arguments.Settings(2, &options) || !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  job->work = [=](Job& running) {
    return bittern_convert(source.c_str(), target.c_str(), options->get(), &Job::OnProgress,
                           &running, running.result.out());
  };
  job->value = [](napi_env env, Job& done) { return JsonOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// pull(name, "NAME=VALUE" with a zero behind each, settings, listener): {text: the path, json}
napi_value Pull(Arguments& arguments, Environment& environment) {
  auto job = std::make_unique<Job>();
  std::shared_ptr<Options> options;
  std::string name, variables;
  if (!arguments.Text(0, &name) || !arguments.Text(1, &variables) ||
      !arguments.Settings(2, &options) || !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  job->work = [=](Job& running) {
    std::vector<const char*> texts;
    for (std::size_t at = 0; at < variables.size(); at = variables.find('\0', at) + 1) {
      texts.push_back(variables.data() + at);
    }
    texts.push_back(nullptr);
    return bittern_pull(name.c_str(), texts.data(), options->get(), &Job::OnProgress, &running,
                        running.result.out());
  };
  job->value = [](napi_env env, Job& done) { return AllOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// sequenceCreate(model, settings): a sequence. engineCreate(model, settings): an engine.
template <Kind kKind, class Object,
          bittern_status (*kCreate)(const bittern_model*, const bittern_options*, Object**)>
napi_value Create(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  std::shared_ptr<Options> options;
  auto job = JobOfModel(arguments, &model, TextOf);
  if (job == nullptr || !arguments.Settings(1, &options)) return nullptr;
  auto made = std::make_shared<Made>(kKind);
  job->work = [=](Job&) {
    Object* object = nullptr;
    const bittern_status status = kCreate(model, options->get(), &object);
    made->handle = object;
    return status;
  };
  job->value = [made](napi_env env, Job&) { return made->Give(env); };
  return environment.Start(std::move(job));
}

/// An engine that works in a thread of its own.
bittern_status CreateEngine(const bittern_model* model, const bittern_options* options,
                            bittern_engine** engine) {
  bittern_status status = bittern_engine_create(model, options, engine);
  if (status != BITTERN_OK) return status;
  status = bittern_engine_start(*engine);
  if (status == BITTERN_OK) return status;
  bittern_engine_free(*engine);
  *engine = nullptr;
  return status;
}

constexpr Row kRowsOfModel[] = {
    {"load", Load},
    {"modelInfo", ModelInfo},
    {"modelNumber", ModelNumber},
    {"metadataKeys", MetadataKeys},
    {"metadata", Metadata},
    {"tokenize", Tokenize},
    {"detokenize", Detokenize},
    {"applyTemplate", ApplyTemplate},
    {"tokenBytes", TokenBytes},
    {"tokenIsEnd", TokenIsEnd},
    {"certify", Certify},
    {"scoreText", Score<bittern_score_text>},
    {"scoreChoices", Score<bittern_score_choices>},
    {"verify", Verify},
    {"embed", Embed},
    {"trace", Trace},
    {"parseAnswer", ParseAnswer},
    {"inspect", Examine<bittern_inspect>},
    {"doctor", Examine<bittern_doctor>},
    {"convert", Convert},
    {"pull", Pull},
    {"sequenceCreate", Create<Kind::kSequence, bittern_sequence, bittern_sequence_create>},
    {"engineCreate", Create<Kind::kEngine, bittern_engine, CreateEngine>}};

}  // namespace

bittern_status IdsOfPrompt(const bittern_model* model, const Prompt& prompt,
                           std::vector<std::int32_t>* ids) {
  if (!prompt.is_text) {
    *ids = prompt.ids;
    return BITTERN_OK;
  }
  Result result;
  bittern_status status = bittern_tokenize(model, prompt.text.data(), prompt.text.size(),
                                           BITTERN_TOKENIZE_BOS, result.out());
  const std::int32_t* found = nullptr;
  std::size_t count = 0;
  if (status == BITTERN_OK) status = bittern_result_ids(result.get(), &found, &count);
  if (status == BITTERN_OK && count > 0) ids->assign(found, found + count);
  return status;
}

std::span<const Row> ModelFunctions() { return kRowsOfModel; }

}  // namespace bittern::node
