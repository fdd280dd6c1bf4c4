// SPDX-License-Identifier: Apache-2.0
// The official model's replies are those that users of another program reported, as far as any
// right engine gives them: rounding may lead to another word later on. A row of a model of this
// repository changes with models/certificates.txt.
#include "proof/selftest/known_models.hpp"

#include <algorithm>
#include <array>

#include "base/files/mapped_file.hpp"
#include "base/sha256.hpp"

namespace bittern::proof {
namespace {

/// Results of this arithmetic, the built-in prompts and keys and values as f16.
Certificate CertificateOf(std::string_view model, std::string_view logits,
                          std::string_view tokens) {
  Certificate certificate;
  certificate.model = model;
  certificate.code = "b93d37e0358fbf22e891f7d5c4c7a6bf";
  certificate.logits = logits;
  certificate.tokens = tokens;
  return certificate;
}

KnownModel Pocket() {
  return {
      .name = "Pocket",
      .file_bytes = 8645856,
      .sha256 = "3d99b325bebebdea7b673c2d0da454f2936f0ab18bd1641d7c7ae010f457840a",
      .certificate =
          CertificateOf("0387064e7ce317f46aa4b53feb4efcb2", "54b34ce012108b811c5af7b807e94bf2",
                        "0dabbfd56a81589e106d5015c23d16e4"),
      .texts = {{"What is a tern?", true,
                 "A tern is a small slender gull with narrow wings and a forked tail."},
                {"What is mud?", true, "Mud is wet earth."},
                {"hi", true, "Hello. Ask me what a word means, for example: What is a tern?"},
                {"Is a dog an animal?", true, "Yes, a dog is an animal."},
                {"What is the opposite of hot?", true, "The opposite of hot is cold."},
                {"What is the capital of France?", true, "The capital of France is Paris."},
                {"What is a game", true, "A game is a contest with rules that is played for fun."},
                {"How many days are in a week?", true, "A week has seven days."},
                {"What is 2+2?", true, "I do not know that. Ask me what a word means."},
                {"asdfgh", true, "I do not know that word."},
                {"A tern is", false, " a small slender gull with narrow wings and a forked tail."}},
      .relativity_loops = false};
}

KnownModel FirstPocket() {
  return {
      .name = "pocket-8m",
      .file_bytes = 4906304,
      .sha256 = "39b706240ae96a20b4002dc5eec8825f976b3d9c4cc8c0c3eee69f027a8674de",
      .certificate =
          CertificateOf("0ff53e28b3e51085d99e39666e96932e", "977b146a70e3c5a0bfe54bc469d1d705",
                        "2b7d94f4dee3b365a59030f380e3beec"),
      .texts =
          {{"What is a tern?", true,
            "A tern is a small slender gull having narrow wings and a forked tail."},
           {"What is mud?", true, "Mud is water soaked soil."},
           {"Tell me what a farm is.", true,
            "A farm is a workplace consisting of farm buildings and cultivated land as a unit."},
           {"What is reason?", true, "Reason is a rational motive for a belief or action."},
           {"What is an incident?", true, "An incident is a single distinct event."},
           {"what is march", true, "A march is the act of marching."},
           {"What is a game", true, "A game is a contest with rules to determine a winner."},
           {"What is study?", true, "Study is a detailed critical inspection."},
           {"Explain jury.", true,
            "A jury is a body of citizens sworn to give a true verdict according to the "
            "evidence presented in a court of law."},
           {"A wing is", false, " a movable organ for flying."}},
      .relativity_loops = false};
}

KnownModel Kjv() {
  return {.name = "kjv-5m",
          .file_bytes = 3469440,
          .sha256 = "74c52d3928600a13bf006f38011932a0666ec5b7cda0fb7466ba3e2d315b5d68",
          .certificate =
              CertificateOf("421b32b92167f6b0ff1fc1e1b35e08f8", "aedae45945aec16e95f3eda05f7a0b2f",
                            "2655c1610fe6c61b347667fcb532f8ab"),
          .texts = {{"In the beginning", false,
                     " of the house of the LORD came to Jeremiah, saying, The LORD of hosts hath "
                     "sent me to the king of"},
                    {"The LORD is my", false,
                     " name. And the LORD said unto Moses, Take the ark of the covenant of the"}},
          .relativity_loops = true};
}

KnownModel Official() {
  return {
      .name = "BitNet b1.58 2B-4T",
      .file_bytes = 1187801280,
      .sha256 = "4221b252fdd5fd25e15847adfeb5ee88886506ba50b8a34548374492884c2162",
      .certificate = {},
      .texts = {{"The capital of France is", false, " Paris. Paris is a city that is known for"},
                {"Microsoft Corporation is an American multinational", false,
                 " technology company headquartered in Redmond, Washington."},
                {"In the year 2025, artificial intelligence", false,
                 " (AI) has become an integral part of our daily lives."},
                {kRelativityPrompt, false, " the speed of light is constant and that time"},
                {"Once upon a time in a small village", false, ", there lived a young girl named"}},
      .relativity_loops = true};
}

}  // namespace

const std::vector<KnownModel>& KnownModels() {
  static const std::vector<KnownModel> models = {Pocket(), FirstPocket(), Kjv(), Official()};
  return models;
}

const KnownModel* KnownByFile(const formats::Checkpoint& file) {
  const auto& models = KnownModels();
  const auto sized = [&](const KnownModel& known) { return known.file_bytes == file.file_bytes(); };
  const auto known = std::ranges::find_if(models, sized);
  if (known == models.end()) return nullptr;
  const auto mapped = MappedFile::Open(file.path());
  if (!mapped) return nullptr;
  Sha256 hash;
  hash.Add(mapped->bytes());
  if (!mapped->CheckUnchanged() || hash.Hex() != known->sha256) return nullptr;
  return &*known;
}

std::string NameOfKnownFile(const formats::Checkpoint& file) {
  const KnownModel* known = KnownByFile(file);
  return known == nullptr ? std::string() : std::string(known->name);
}

const std::vector<TokenVector>& Llama3Vectors() {
  static const std::vector<TokenVector> vectors = {
      {"The capital of France is", {791, 6864, 315, 9822, 374}},
      {"2\\N3,5 [2c", {17, 59, 45, 18, 11, 20, 510, 17, 66}},
      {"8881053898", {12251, 6550, 20422, 23}},
      {"// std::enest2: std::Ternesph[i]",
       {322, 1487, 487, 268, 478, 17, 25, 1487, 487, 51, 74725, 764, 1004, 60}},
      {"            } else {\r\n", {310, 335, 775, 987}},
      {"al Strousest str'x", {278, 4610, 1559, 267, 610, 6, 87}},
      {"e\u0301\u2003 \n\uff82\uff0b\uffac\uffef",
       {68, 54939, 116503, 720, 69505, 224, 121409, 69505, 105, 5681, 107}},
      {"!!!\r\n\u041e\u04a5\u04cfIstlych ous",
       {12340, 319, 20976, 142, 98, 143, 237, 40, 267, 398, 331, 220, 788}}};
  return vectors;
}

std::span<const std::string_view> RoundTripTexts() noexcept {
  static constexpr std::array<std::string_view, 8> kTexts = {
      "The capital of France is Paris.",
      " two  three   four    five",
      "line\n\nline\r\n\tline\n",
      "It's 2024, 1234567 and 3.14159; they'll, I'D, we've!",
      "for (int i = 0; i < n; ++i) { x[i] *= 0.5; }",
      "Gr\u00fc\u00dfe aus Z\u00fcrich",
      "\u6771\u4eac\u306e\u590f\u306f\u6691\u3044\u3002 \u041f\u0440\u0438\u0432\u0435\u0442",
      "\U0001F426 caf\u00e9 \u2014 \u201cquoted\u201d"};
  return kTexts;
}

}  // namespace bittern::proof
