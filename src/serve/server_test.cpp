// SPDX-License-Identifier: Apache-2.0
// The whole server but its sockets, by several threads at once: every request gets one answer, the
// same answer in any company; clients that go away, full queues, wrong requests, models that come
// and go, and an end in the middle of work. Meant for the sanitizers, too.
#include "serve/server.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/json/json.hpp"
#include "serve/core/weight_hash.hpp"
#include "serve/in_process_client_for_test.hpp"

namespace bittern::serve {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::string kModels = BITTERN_SOURCE_DIR "/models/";
constexpr const char* kSmall = "kjv-5m-i2s.gguf";
constexpr const char* kOther = "pocket-8m-i2s.gguf";
constexpr int kThreads = 4;
constexpr const char* kPrompts[] = {"In the beginning", "And he said unto them,",
                                    "The fear of the LORD", "a small slender"};

/// Read once for all servers of these tests.
std::shared_ptr<const runtime::LoadedModel> ModelOf(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const runtime::LoadedModel>> loaded;
  const std::scoped_lock lock(mutex);
  auto& model = loaded[file];
  if (!model) model = runtime::LoadedModel::Load(kModels + file, {.num_threads = 1}).value();
  return model;
}

std::unique_ptr<Service> MakeService(const std::string& file, int sequences, int waiting,
                                     std::uint64_t hash_first_bytes = 64 << 20) {
  ServiceOptions options;
  options.hash_first_bytes = hash_first_bytes;
  options.model_name = file;
  options.model_path = kModels + file;
  options.version = "test";
  options.most_waiting = waiting;
  options.strict = true;
  options.engine.max_sequences = sequences;
  options.engine.context_length = 256;
  options.engine.num_threads = 2;
  Decisions decisions;
  return Service::Create(ModelOf(file), std::move(options), &decisions).value();
}

std::unique_ptr<Server> StartServer() {
  ServerOptions options;
  options.http.port = 0;
  options.metrics = true;
  return Server::Start(std::move(options)).value();
}

/// A server of one model.
struct OneModel {
  explicit OneModel(int sequences = 4, int waiting = 64, std::uint64_t hash_first_bytes = 64 << 20)
      : server(StartServer()) {
    auto made = MakeService(kSmall, sequences, waiting, hash_first_bytes);
    service = made.get();
    server->SetService(std::move(made));
    client.emplace(server.get());
  }
  /// Waits until nothing runs: the last answer goes out a little before that.
  [[nodiscard]] std::size_t ActiveInTheEnd() const {
    for (int i = 0; i < 3000 && service->engine().active() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return service->engine().active();
  }

  std::unique_ptr<Server> server;
  Service* service;
  std::optional<InProcessClient> client;  // goes first
};

std::string CompletionBody(std::string_view prompt, int tokens, bool stream,
                           std::string_view model = {}) {
  Json body = {{"prompt", std::string(prompt)},
               {"max_tokens", tokens},
               {"seed", 7},
               {"temperature", 0.8},
               {"stream", stream}};
  if (!model.empty()) body["model"] = std::string(model);
  return body.Dump();
}

/// The text of an answer of /v1/completions, whole or in pieces.
std::string TextOf(const Answer& answer) {
  const auto choice_text = [](std::string_view json) -> std::string {
    const Json parsed = Json::Parse(json, {}).value();
    const Json* choices = parsed.Find("choices");
    if (choices == nullptr || choices->AsArray()->empty()) return {};
    const Json* text = (*choices->AsArray())[0].Find("text");
    return text == nullptr || text->AsString() == nullptr ? "" : *text->AsString();
  };
  if (!answer.streamed) return choice_text(answer.body);
  std::string all;
  constexpr std::string_view kData = "data: ";
  for (std::string_view rest = answer.body; !rest.empty();) {
    const std::size_t end = rest.find("\n\n");
    EXPECT_NE(end, std::string_view::npos) << rest;
    if (end == std::string_view::npos) break;
    const std::string_view event = rest.substr(0, end);
    EXPECT_TRUE(event.starts_with(kData)) << event;
    if (event != "data: [DONE]") all += choice_text(event.substr(kData.size()));
    rest.remove_prefix(end + 2);
  }
  return all;
}

template <class Work>
void OnThreads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(ServerTest, AnswersAreTheSameInAnyCompany) {
  OneModel one;
  std::vector<std::string> alone;
  for (const char* prompt : kPrompts) {
    const Answer answer = one.client->Post("/v1/completions", CompletionBody(prompt, 12, false));
    ASSERT_EQ(answer.status, 200) << answer.body;
    alone.push_back(TextOf(answer));
    EXPECT_FALSE(alone.back().empty());
  }
  OnThreads([&](int thread) {
    for (int i = 0; i < 6; ++i) {
      const auto which = static_cast<std::size_t>(thread + i) % std::size(kPrompts);
      const bool stream = (thread + i) % 2 == 0;
      const auto gone =
          one.client->Send("POST", "/v1/completions", CompletionBody("Behold,", 100, stream));
      const Answer answer =
          one.client->Post("/v1/completions", CompletionBody(kPrompts[which], 12, stream));
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.streamed, stream);
      EXPECT_EQ(TextOf(answer), alone[which]);
      gone->GoAway();
    }
  });
  EXPECT_EQ(one.ActiveInTheEnd(), 0U);
}

/// Asked before the hash of the weights is known, as a rule, since even this small file is hashed
/// behind the first answers: the receipt waits for it.
TEST(ServerTest, ReceiptsAndTheirCheckWaitForTheHash) {
  const std::string body =
      R"({"prompt": "In the beginning", "max_tokens": 4, "seed": 7, "receipt": true})";
  OneModel one(4, 64, 0);
  OnThreads([&](int) {
    const Answer answer = one.client->Post("/v1/completions", body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("\"model_hash\":\"" + **one.service->model_hash().Known()));
    EXPECT_THAT(answer.body, HasSubstr("\"system_fingerprint\":\"bittern-"));
    const Answer checked = one.client->Post("/verify", answer.body);
    EXPECT_THAT(checked.body, HasSubstr("\"identical\":true"));
  });
}

struct WrongRequest {
  const char *method, *path, *body;
  int status;
  const char* says;
};
const WrongRequest kWrong[] = {
    {"POST", "/v1/completions", "", 400, "JSON"},
    {"POST", "/v1/completions", "{\"prompt\":", 400, "JSON"},
    {"POST", "/v1/completions", "[]", 400, "object"},
    {"POST", "/v1/completions", R"({"prompt": 1.5})", 400, "prompt"},
    {"POST", "/v1/completions", R"({"prompt": "a", "temprature": 1})", 400, "temprature"},
    {"POST", "/v1/completions", R"({"prompt": "a", "max_tokens": "9"})", 400, "max_tokens"},
    {"POST", "/v1/completions", R"({"prompt": [99999999]})", 400, "vocabulary"},
    {"POST", "/v1/completions", R"({"prompt": "a", "grammar": "root ::= ("})", 400, "grammar"},
    {"POST", "/v1/chat/completions", R"({"messages": "hi"})", 400, "messages"},
    {"POST", "/v1/nothing", "{}", 404, "nothing"},
    {"GET", "/v1/completions", "", 405, "POST"},
    {"DELETE", "/health", "", 405, "GET"},
};

TEST(ServerTest, WrongRequestsAreToldWhatIsWrong) {
  OneModel one;
  OnThreads([&](int) {
    for (const WrongRequest& wrong : kWrong) {
      const Answer answer = one.client->Send(wrong.method, wrong.path, wrong.body)->Wait();
      EXPECT_EQ(answer.status, wrong.status) << wrong.path << " " << wrong.body;
      EXPECT_THAT(answer.body, HasSubstr(wrong.says)) << wrong.path << " " << wrong.body;
    }
  });
  EXPECT_EQ(one.ActiveInTheEnd(), 0U);
}

TEST(ServerTest, AMixOfEverythingGetsOneAnswerEach) {
  OneModel one(3, 8);
  OnThreads([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    std::vector<std::shared_ptr<PendingAnswer>> pending;
    for (int i = 0; i < 24; ++i) {
      const unsigned kind = random() % 8;
      if (kind < 3) {
        pending.push_back(one.client->Send("POST", "/v1/completions",
                                           CompletionBody(kPrompts[kind], 10, kind == 0)));
      } else if (kind == 3) {
        const auto long_one =
            one.client->Send("POST", "/v1/completions", CompletionBody("Lo,", 200, true));
        long_one->WaitForPieces(random() % 3);
        long_one->GoAway();
        pending.push_back(long_one);
      } else if (kind == 4) {
        const WrongRequest& wrong = kWrong[random() % std::size(kWrong)];
        pending.push_back(one.client->Send(wrong.method, wrong.path, wrong.body));
      } else {
        constexpr const char* kQuick[] = {"/health", "/slots", "/metrics", "/props", "/v1/models"};
        EXPECT_EQ(one.client->Get(kQuick[random() % std::size(kQuick)]).status, 200);
      }
    }
    for (const auto& one_of_them : pending) EXPECT_TRUE(one_of_them->Wait().over);
  });
  EXPECT_EQ(one.ActiveInTheEnd(), 0U);
  EXPECT_EQ(one.service->active().size(), 0U);
  EXPECT_EQ(one.client->Post("/v1/completions", CompletionBody("And", 3, false)).status, 200);
}

TEST(ServerTest, AFullQueueRefusesAndEmptiesAgain) {
  OneModel one(1, 2);
  const std::string body = CompletionBody(kPrompts[0], 200, true);
  std::vector<std::shared_ptr<PendingAnswer>> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(one.client->Send("POST", "/v1/completions", body));
  taken[0]->WaitForPieces(1);
  const Answer refused = one.client->Post("/v1/completions", body);
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_THAT(refused.headers, testing::Contains(testing::Pair("Retry-After", "1")));
  for (const auto& pending : taken) pending->GoAway();
  for (const auto& pending : taken) EXPECT_TRUE(pending->Wait().over);
  EXPECT_EQ(one.ActiveInTheEnd(), 0U);
  EXPECT_EQ(one.client->Post("/v1/completions", CompletionBody("And", 3, false)).status, 200);
}

TEST(ServerTest, AnEndInTheMiddleOfWorkDropsWhatIsLeft) {
  for (int round = 0; round < 6; ++round) {
    std::vector<std::shared_ptr<PendingAnswer>> pending;
    {
      OneModel one(2, 64);
      for (int i = 0; i < 6; ++i) {
        pending.push_back(one.client->Send("POST", "/v1/completions",
                                           CompletionBody(kPrompts[i % 4], 60, i % 2 == 0)));
      }
      if (round % 2 == 1) pending[0]->WaitForPieces(static_cast<std::size_t>(round));
    }
    for (const auto& one : pending) {
      const Answer answer = one->Wait();
      EXPECT_TRUE(answer.abandoned || answer.status == 200) << answer.body;
    }
  }
}

/// A server of two models, one of which may be loaded at a time.
std::unique_ptr<Models> TwoModels(int most_loaded) {
  std::vector<ModelFile> files = {{"small", kModels + kSmall, 10}, {"other", kModels + kOther, 10}};
  const auto maker = [](const ModelFile& file) -> Result<std::unique_ptr<Service>> {
    return MakeService(file.name == "small" ? kSmall : kOther, 4, 64);
  };
  return std::make_unique<Models>(std::move(files), maker,
                                  ModelsOptions{.most_loaded = most_loaded});
}

TEST(ServerTest, TwoModelsTakeTurnsInOnePlace) {
  const auto server = StartServer();
  server->SetModels(TwoModels(1));
  InProcessClient client(server.get());
  constexpr const char* kNames[] = {"small", "other"};
  std::vector<std::string> alone;
  for (const char* name : kNames) {
    const Answer answer =
        client.Post("/v1/completions", CompletionBody(kPrompts[0], 8, false, name));
    ASSERT_EQ(answer.status, 200) << answer.body;
    alone.push_back(TextOf(answer));
  }
  EXPECT_NE(alone[0], alone[1]);
  OnThreads([&](int thread) {
    for (int i = 0; i < 5; ++i) {
      const auto which = static_cast<std::size_t>(thread + i) % 2;
      const auto gone = client.Send("POST", "/v1/completions",
                                    CompletionBody("Lo,", 200, true, kNames[1 - which]));
      if (i == 1) gone->GoAway();
      const Answer answer = client.Post(
          "/v1/completions", CompletionBody(kPrompts[0], 8, thread % 2 == 0, kNames[which]));
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(TextOf(answer), alone[which]);
      gone->GoAway();
      EXPECT_TRUE(gone->Wait().over);
    }
  });
}

TEST(ServerTest, ModelsComeAndGoByCommand) {
  const auto server = StartServer();
  server->SetModels(TwoModels(2));
  InProcessClient client(server.get());
  constexpr const char* kNames[] = {"small", "other"};
  OnThreads([&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread) + 90);
    for (int i = 0; i < 12; ++i) {
      const std::string name = kNames[random() % 2];
      const std::string named = Json({{"model", name}}).Dump();
      switch (random() % 4) {
        case 0:
          EXPECT_EQ(client.Post("/models/load", named).status, 200);
          break;
        case 1:
          EXPECT_EQ(client.Post("/models/unload", named).status, 200);
          break;
        case 2:
          EXPECT_EQ(client.Get("/models").status, 200);
          break;
        default:
          EXPECT_EQ(client.Post("/v1/completions", CompletionBody(kPrompts[1], 5, i % 2 == 0, name))
                        .status,
                    200);
      }
    }
  });
  EXPECT_EQ(client.Post("/models/unload", R"({"model": "none"})").status, 404);
  const Answer unknown = client.Post("/v1/completions", CompletionBody("a", 1, false, "none"));
  EXPECT_EQ(unknown.status, 404) << unknown.body;
  EXPECT_THAT(unknown.body, HasSubstr("none"));
}

TEST(ServerTest, SeveralModelsEndInTheMiddleOfWork) {
  for (int round = 0; round < 4; ++round) {
    std::vector<std::shared_ptr<PendingAnswer>> pending;
    const auto server = StartServer();
    server->SetModels(TwoModels(1 + round % 2));
    InProcessClient client(server.get());
    for (int i = 0; i < 6; ++i) {
      pending.push_back(
          client.Send("POST", "/v1/completions",
                      CompletionBody(kPrompts[i % 4], 60, true, i % 2 == 0 ? "small" : "other")));
    }
    pending[0]->WaitForPieces(static_cast<std::size_t>(round));
  }
}

TEST(ServerTest, WithoutAModelHealthSaysSo) {
  const auto server = StartServer();
  InProcessClient client(server.get());
  const Answer answer = client.Get("/health");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, AnyOf(HasSubstr("Loading model"), HasSubstr("loading model")));
}

}  // namespace
}  // namespace bittern::serve
