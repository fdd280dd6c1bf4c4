// SPDX-License-Identifier: Apache-2.0
// Files are read and written by the slow worker, the cache is touched by the engine's thread only.
#include "serve/api/llama/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include "base/files/atomic_file.hpp"
#include "runtime/session_state.hpp"
#include "serve/api/openai/errors.hpp"
#include "serve/api/shared/json_text.hpp"
#include "serve/core/requests.hpp"
#include "serve/http/http_text.hpp"

namespace bittern::serve {
namespace {

using Clock = std::chrono::steady_clock;

/// One request on its way.
struct SlotJob {
  Service* service;
  std::shared_ptr<Exchange> exchange;
  int slot;
  std::string name, path;  // of the file
  Clock::time_point begin = Clock::now();

  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }
  void Refuse(const Error& error) const { exchange->Reply(OpenAiError(ApiErrorOf(error))); }
};
using SharedJob = std::shared_ptr<const SlotJob>;

/// A file that is there is replaced only if it is an earlier state: the folder may hold others,
/// such as the model itself.
Result<void> WriteState(const SlotJob& job, const std::string& bytes) {
  std::ifstream there(std::filesystem::path(job.path), std::ios::binary);
  std::string head(runtime::kSessionStateMagic.size(), '\0');
  there.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (there.gcount() > 0 && head != runtime::kSessionStateMagic) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("filename: {} exists already and is no saved slot", job.name));
  }
  AtomicFile file = BITTERN_TRY(AtomicFile::Create(job.path));
  BITTERN_TRY(file.Write(bytes));
  return file.Commit();
}

/// ?action=save. The engine's thread copies the keys and values, the slow worker writes them.
void Save(const SharedJob& job) {
  job->service->engine().Do([job](runtime::Engine* engine) {
    const std::vector<TokenId> tokens = job->service->SlotTokens(job->slot);
    int saved = 0;
    const auto bytes = std::make_shared<std::string>(engine->SavePrefix(tokens, &saved));
    job->service->slow_worker().Post([job, bytes, saved] {
      if (auto done = WriteState(*job, *bytes); !done) {
        Error error = std::move(done).error();
        // The client must not learn the folder's path.
        if (error.message.starts_with(job->path)) {
          error.message.replace(0, job->path.size(), job->name);
        }
        return job->Refuse(error);
      }
      job->exchange->Reply({.body = Dump({{"id_slot", job->slot},
                                          {"filename", job->name},
                                          {"n_saved", saved},
                                          {"n_written", bytes->size()},
                                          {"timings", {{"save_ms", job->milliseconds()}}}})});
    });
  });
}

/// ?action=restore. The slow worker reads the file, the engine's thread checks the state and puts
/// it into the prefix cache. A wrong file is the client's error (400), not the server's.
void Restore(const SharedJob& job) {
  job->service->slow_worker().Post([job] {
    std::ifstream file(std::filesystem::path(job->path), std::ios::binary);
    const auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(file),
                                                     std::istreambuf_iterator<char>());
    if (!file.is_open() || file.bad()) {
      return job->Refuse(
          {ErrorCode::kInvalidArgument, fmt::format("filename: {} cannot be read", job->name)});
    }
    job->service->engine().Do([job, bytes](runtime::Engine* engine) {
      const auto tokens = engine->RestorePrefix(std::as_bytes(std::span(*bytes)));
      if (!tokens.has_value()) {
        Error error = Within(job->name, tokens.error());
        if (error.code == ErrorCode::kCorruptFile) error.code = ErrorCode::kInvalidArgument;
        return job->Refuse(error);
      }
      job->service->SetSlotTokens(job->slot, *tokens);
      job->exchange->Reply({.body = Dump({{"id_slot", job->slot},
                                          {"filename", job->name},
                                          {"n_restored", tokens->size()},
                                          {"n_read", bytes->size()},
                                          {"timings", {{"restore_ms", job->milliseconds()}}}})});
    });
  });
}

/// ?action=erase: the slot is forgotten, and its tokens leave the prefix cache.
void Erase(const SharedJob& job) {
  job->service->engine().Do([job](runtime::Engine* engine) {
    const int erased = engine->ErasePrefix(job->service->SlotTokens(job->slot));
    job->service->SetSlotTokens(job->slot, {});
    job->exchange->Reply({.body = Dump({{"id_slot", job->slot}, {"n_erased", erased}})});
  });
}

/// A plain name: no folders, nothing hidden.
bool IsFileName(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name[0] != '.' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

/// N of /slots/N. `slots`: how many there are.
Result<int> SlotOf(const HttpRequest& request, int slots) {
  const std::string text = request.path.substr(request.path.rfind('/') + 1);
  int slot = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && slot >= 0 && slot < slots) return slot;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("id_slot: 0 to {} expected, \"{}\" found", slots - 1, text));
}

}  // namespace

/// POST /slots/N. "erase" needs no body and is answered first; the other two name a file of the
/// folder that the server was started with.
Result<void> SlotAction(Service* service, const ApiRequest& request,
                        const std::shared_ptr<Exchange>& exchange) {
  const std::string action = QueryValue(request.http.query, "action").value_or("");
  const int slot = BITTERN_TRY(SlotOf(request.http, service->options().engine.max_sequences));
  const std::string& folder = service->options().slot_save_path;
  if (folder.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "slots are not saved here: the server was started without a folder for them");
  }
  SlotJob job{.service = service, .exchange = exchange, .slot = slot, .name = {}, .path = {}};
  if (action == "erase") {
    Erase(std::make_shared<SlotJob>(std::move(job)));
    return {};
  }
  if (action != "save" && action != "restore") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("action: save, restore or erase expected, \"{}\" found", action));
  }
  const Json body = BITTERN_TRY(ParseBody(request.http.body));
  auto fields = BITTERN_TRY(FieldReader::Open(body));
  BITTERN_TRY(fields.Text("filename", &job.name));
  fields.Ignore({"model"});
  BITTERN_TRY(fields.Finish());
  if (!IsFileName(job.name)) {
    return WrongField("filename", "a name of letters, digits, \"_\", \"-\" and \".\"",
                      Json(job.name));
  }
  job.path = (std::filesystem::path(folder) / job.name).string();
  const auto shared = std::make_shared<SlotJob>(std::move(job));
  action == "save" ? Save(shared) : Restore(shared);
  return {};
}

}  // namespace bittern::serve
