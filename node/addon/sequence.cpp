// SPDX-License-Identifier: Apache-2.0
// Sequences and samplers. lib/ makes one call at a time with a sequence and its forks, so those
// that are made by the loop never wait.
#include <atomic>

#include "functions.hpp"

namespace bittern::node {
namespace {

/// A job with a sequence, which its cancel() ends.
std::unique_ptr<Job> JobOfSequence(Arguments& arguments, bittern_sequence** sequence) {
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kSequence, sequence) || !arguments.Keep(0, job.get())) {
    return nullptr;
  }
  job->cancel = [handle = *sequence] { bittern_sequence_cancel(handle); };
  job->heavy = true;
  job->value = [](napi_env env, Job&) { return Undefined(env); };
  return job;
}

/// sequenceEval(sequence, ids), sequenceSetTokens(sequence, ids): nothing
template <bittern_status (*kCall)(bittern_sequence*, const std::int32_t*, std::size_t)>
napi_value Read(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  std::vector<std::int32_t> ids;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr || !arguments.Ids(1, &ids)) return nullptr;
  job->work = [sequence, ids = std::move(ids)](Job& running) {
    return running.cancelled() ? running.Cancelled() : kCall(sequence, Data(ids), ids.size());
  };
  return environment.Start(std::move(job));
}

/// The logits or hidden states of several positions.
struct Rows {
  Job* job = nullptr;
  std::vector<std::vector<float>> rows;
  bool no_memory = false;

  static std::int32_t Take(void* user, std::size_t, const float* logits, std::size_t count) {
    auto* const to = static_cast<Rows*>(user);
    try {
      to->rows.emplace_back(logits, logits + count);
    } catch (...) {
      to->no_memory = true;
    }
    return to->no_memory || to->job->cancelled() ? 1 : 0;
  }
};

/// sequenceEvalAll(sequence, ids), sequenceEvalHidden(sequence, ids): an array of Float32Array
template <bittern_status (*kCall)(bittern_sequence*, const std::int32_t*, std::size_t,
                                  bittern_logits_fn, void*)>
napi_value EvalAll(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  std::vector<std::int32_t> ids;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr || !arguments.Ids(1, &ids)) return nullptr;
  auto rows = std::make_shared<Rows>();
  job->work = [sequence, rows, ids = std::move(ids)](Job& running) {
    if (running.cancelled()) return running.Cancelled();
    rows->job = &running;
    const bittern_status status = kCall(sequence, Data(ids), ids.size(), &Rows::Take, rows.get());
    if (rows->no_memory) throw std::bad_alloc();  // the job's thread makes an error of it
    return status;
  };
  job->value = [rows](napi_env env, Job&) -> napi_value {
    napi_value list = nullptr;
    if (napi_create_array_with_length(env, rows->rows.size(), &list) != napi_ok) return nullptr;
    for (std::size_t i = 0; i < rows->rows.size(); ++i) {
      napi_value row = NewFloats(env, rows->rows[i].data(), rows->rows[i].size());
      if (row == nullptr ||
          napi_set_element(env, list, static_cast<std::uint32_t>(i), row) != napi_ok) {
        return nullptr;
      }
      rows->rows[i] = {};
    }
    return list;
  };
  return environment.Start(std::move(job));
}

bittern_status Write(bittern_sequence* sequence, const Options& options, Job* job) {
  if (job->cancelled()) return job->Cancelled();
  return bittern_sequence_generate(sequence, options.get(), &Job::OnText, job, job->result.out());
}

/// sequenceGenerate(sequence, settings, listener): {text, ids, json}
napi_value SequenceGenerate(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  std::shared_ptr<Options> options;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr || !arguments.Settings(1, &options) || !arguments.Listener(2, job.get())) {
    return nullptr;
  }
  job->work = [=](Job& running) { return Write(sequence, *options, &running); };
  job->value = [](napi_env env, Job& done) { return AllOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// A sequence for one text, which another thread may cancel meanwhile.
struct OwnSequence {
  std::atomic<bittern_sequence*> handle = nullptr;

  OwnSequence() = default;
  OwnSequence(const OwnSequence&) = delete;
  OwnSequence& operator=(const OwnSequence&) = delete;
  ~OwnSequence() { Free(); }
  void Free() { bittern_sequence_free(handle.exchange(nullptr)); }
};

/// generate(model, prompt, settings, listener): {text, ids, json}
napi_value Generate(Arguments& arguments, Environment& environment) {
  bittern_model* model = nullptr;
  Prompt prompt;
  std::shared_ptr<Options> options;
  auto job = std::make_unique<Job>();
  if (!arguments.Handle(0, Kind::kModel, &model) || !arguments.Keep(0, job.get()) ||
      !arguments.Take(1, &prompt) || !arguments.Settings(2, &options) ||
      !arguments.Listener(3, job.get())) {
    return nullptr;
  }
  auto own = std::make_shared<OwnSequence>();
  job->heavy = true;
  job->cancel = [own] {
    bittern_sequence* const sequence = own->handle.load();
    if (sequence != nullptr) bittern_sequence_cancel(sequence);
  };
  job->work = [=, prompt = std::move(prompt)](Job& running) {
    std::vector<std::int32_t> ids;
    bittern_sequence* sequence = nullptr;
    bittern_status status = IdsOfPrompt(model, prompt, &ids);
    if (status != BITTERN_OK) return status;
    status = bittern_sequence_create(model, options->get(), &sequence);
    if (status != BITTERN_OK) return status;
    own->handle.store(sequence);
    status = running.cancelled() ? running.Cancelled()
                                 : bittern_sequence_eval(sequence, Data(ids), ids.size());
    if (status == BITTERN_OK) status = Write(sequence, *options, &running);
    if (status == BITTERN_OK) own->Free();  // else with the job: the error's words must stay
    return status;
  };
  job->value = [](napi_env env, Job& done) { return AllOf(env, done.result); };
  return environment.Start(std::move(job));
}

/// sequenceLength(sequence) -> a number
napi_value Length(Arguments& arguments, Environment&) {
  bittern_sequence* sequence = nullptr;
  std::size_t length = 0;
  napi_value value = nullptr;
  if (!arguments.Handle(0, Kind::kSequence, &sequence)) return nullptr;
  if (bittern_sequence_length(sequence, &length) != BITTERN_OK) return ThrowLast(arguments.env());
  napi_create_double(arguments.env(), static_cast<double>(length), &value);
  return value;
}

/// sequenceTokens(sequence) -> ids
napi_value Tokens(Arguments& arguments, Environment&) {
  bittern_sequence* sequence = nullptr;
  Result result;
  if (!arguments.Handle(0, Kind::kSequence, &sequence)) return nullptr;
  if (bittern_sequence_tokens(sequence, result.out()) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  return IdsOf(arguments.env(), result);
}

/// sequenceLogits(sequence), sequenceHidden(sequence): a Float32Array. The last token may have to
/// be run again for them.
template <bittern_status (*kCall)(const bittern_sequence*, const float**, std::size_t*)>
napi_value Values(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr) return nullptr;
  auto values = std::make_shared<std::vector<float>>();
  job->work = [sequence, values](Job&) {
    const float* floats = nullptr;
    std::size_t count = 0;
    const bittern_status status = kCall(sequence, &floats, &count);
    if (status == BITTERN_OK) values->assign(floats, floats + count);
    return status;
  };
  job->value = [values](napi_env env, Job&) {
    return NewFloats(env, values->data(), values->size());
  };
  return environment.Start(std::move(job));
}

/// A length of JavaScript; those that are none become the largest one.
std::size_t AsLength(double number) {
  constexpr double kMost = 9007199254740992;
  return number >= 0 && number < kMost ? static_cast<std::size_t>(number) : SIZE_MAX;
}

/// sequenceTruncate(sequence, length)
napi_value Truncate(Arguments& arguments, Environment&) {
  bittern_sequence* sequence = nullptr;
  double length = 0;
  if (!arguments.Handle(0, Kind::kSequence, &sequence) || !arguments.Number(1, &length)) {
    return nullptr;
  }
  return Done(arguments.env(), bittern_sequence_truncate(sequence, AsLength(length)));
}

/// sequenceFork(sequence, length) -> a sequence
napi_value Fork(Arguments& arguments, Environment&) {
  bittern_sequence *sequence = nullptr, *fork = nullptr;
  double length = 0;
  if (!arguments.Handle(0, Kind::kSequence, &sequence) || !arguments.Number(1, &length)) {
    return nullptr;
  }
  if (bittern_sequence_fork(sequence, AsLength(length), &fork) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  return NewHandle(arguments.env(), Kind::kSequence, fork);
}

/// sequenceSave(sequence): a Uint8Array
napi_value Save(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr) return nullptr;
  job->work = [sequence](Job& running) {
    return bittern_sequence_save(sequence, running.result.out());
  };
  job->value = [](napi_env env, Job& done) -> napi_value {
    const char* bytes = nullptr;
    std::size_t size = 0;
    if (bittern_result_text(done.result.get(), &bytes, &size) != BITTERN_OK) return ThrowLast(env);
    return NewBytes(env, bytes, size);
  };
  return environment.Start(std::move(job));
}

/// sequenceRestore(sequence, state): nothing
napi_value Restore(Arguments& arguments, Environment& environment) {
  bittern_sequence* sequence = nullptr;
  std::string state;
  auto job = JobOfSequence(arguments, &sequence);
  if (job == nullptr || !arguments.Bytes(1, &state)) return nullptr;
  job->work = [sequence, state = std::move(state)](Job&) {
    return bittern_sequence_restore(sequence, state.data(), state.size());
  };
  return environment.Start(std::move(job));
}

/// samplerCreate(settings), samplerCreateFor(settings, model) -> a sampler
template <bool kHasModel>
napi_value SamplerCreate(Arguments& arguments, Environment&) {
  std::shared_ptr<Options> options;
  bittern_model* model = nullptr;
  bittern_sampler* sampler = nullptr;
  if (!arguments.Settings(0, &options)) return nullptr;
  if (kHasModel && !arguments.Handle(1, Kind::kModel, &model)) return nullptr;
  const bittern_status status = kHasModel
                                    ? bittern_sampler_create_for(model, options->get(), &sampler)
                                    : bittern_sampler_create(options->get(), &sampler);
  if (status != BITTERN_OK) return ThrowLast(arguments.env());
  return NewHandle(arguments.env(), Kind::kSampler, sampler);
}

/// samplerAccept(sampler, id)
napi_value SamplerAccept(Arguments& arguments, Environment&) {
  bittern_sampler* sampler = nullptr;
  double id = 0;
  if (!arguments.Handle(0, Kind::kSampler, &sampler) || !arguments.Number(1, &id)) return nullptr;
  return Done(arguments.env(), bittern_sampler_accept(sampler, static_cast<std::int32_t>(id)));
}

/// samplerSample(sampler, logits) -> an id
napi_value SamplerSample(Arguments& arguments, Environment&) {
  bittern_sampler* sampler = nullptr;
  const float* logits = nullptr;
  std::size_t count = 0;
  std::int32_t id = 0;
  napi_value value = nullptr;
  if (!arguments.Handle(0, Kind::kSampler, &sampler) || !arguments.Floats(1, &logits, &count)) {
    return nullptr;
  }
  if (bittern_sampler_sample(sampler, logits, count, &id) != BITTERN_OK) {
    return ThrowLast(arguments.env());
  }
  napi_create_int32(arguments.env(), id, &value);
  return value;
}

constexpr Row kRowsOfSequence[] = {{"generate", Generate},
                                   {"sequenceEval", Read<bittern_sequence_eval>},
                                   {"sequenceSetTokens", Read<bittern_sequence_set_tokens>},
                                   {"sequenceEvalAll", EvalAll<bittern_sequence_eval_all>},
                                   {"sequenceEvalHidden", EvalAll<bittern_sequence_eval_hidden>},
                                   {"sequenceGenerate", SequenceGenerate},
                                   {"sequenceLength", Length},
                                   {"sequenceTokens", Tokens},
                                   {"sequenceLogits", Values<bittern_sequence_logits>},
                                   {"sequenceHidden", Values<bittern_sequence_hidden>},
                                   {"sequenceTruncate", Truncate},
                                   {"sequenceFork", Fork},
                                   {"sequenceSave", Save},
                                   {"sequenceRestore", Restore},
                                   {"samplerCreate", SamplerCreate<false>},
                                   {"samplerCreateFor", SamplerCreate<true>},
                                   {"samplerAccept", SamplerAccept},
                                   {"samplerSample", SamplerSample}};

}  // namespace

std::span<const Row> SequenceFunctions() { return kRowsOfSequence; }

}  // namespace bittern::node
