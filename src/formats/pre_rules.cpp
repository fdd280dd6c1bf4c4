// SPDX-License-Identifier: Apache-2.0
// The names and settings are llama.cpp's. The patterns are those of the models' own tokenizer.json
// files; llama.cpp rewrites some of them for std::regex, which only approximates them. \x{..} keeps
// this file in ASCII.
#include "formats/pre_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace bittern::formats {

// Parts of patterns. Contractions know ASCII's case only: files in GGUF are made and used with that
// reading, and no contraction is written with a long s (docs/tokenizer.md).
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define MARKS R"( ?[^\s\p{L}\p{N}]+)"
#define SPACES R"(\s+(?!\S)|\s+)"
#define LINES_AND_SPACES R"(\s*[\r\n]+|)" SPACES
// Words whose capitals come first: gpt-4o's, tekken's.
#define CASED_WORDS(ending)                                                                   \
  R"([^\r\n\p{L}\p{N}]?)" UPPER "*" LOWER "+" ending R"(|[^\r\n\p{L}\p{N}]?)" UPPER "+" LOWER \
  "*" ending

#define GPT2                                     \
  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+)" \
  "|" MARKS "|" SPACES
#define LLAMA3_WITH(digits)                              \
  CONTRACTION "|" WORD "|" digits "|" MARKS R"([\r\n]*)" \
              "|" LINES_AND_SPACES
#define LLAMA3 LLAMA3_WITH(R"(\p{N}{1,3})")
#define QWEN2 LLAMA3_WITH(R"(\p{N})")
#define GPT4O CASED_WORDS(CONTRACTION "?") R"(|\p{N}{1,3}|)" MARKS R"([\r\n/]*|)" LINES_AND_SPACES
#define PUNCTUATION_RUNS R"([\p{P}$+<=>^~|`]+)"
#define BLOOM R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c})]+)"
#define KANA_AND_HAN R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)"
#define DEEPSEEK_CJK R"([\x{800}-\x{9fa5}\x{ac00}-\x{d7ff}]+)"
#define DEEPSEEK3_WORDS                                 \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)" \
  R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"

const std::string_view kGpt2Pattern = GPT2;
const std::string_view kPunctuationRunsPattern = PUNCTUATION_RUNS;

namespace {

/// DeepSeek LLM's letters: of alphabets that have case.
constexpr std::string_view kDeepSeekWords =
    R"(\s?[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a})"
    R"(\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556})"
    R"(\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf})"
    R"(\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d})"
    R"(\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d})"
    R"(\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4})"
    R"(\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4})"
    R"(\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
    R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f})"
    R"(\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4})"
    R"(\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f})"
    R"(\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17})"
    R"(\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3})"
    R"(\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943}]+)";
constexpr std::string_view kDeepSeekMarks =
    R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)";

/// Kimi K2 keeps Han apart.
#define NOT_HAN_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
#define NOT_HAN_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])"
constexpr std::string_view kKimiK2 =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)" NOT_HAN_UPPER "*" NOT_HAN_LOWER "+" CONTRACTION
    R"(?|[^\r\n\p{L}\p{N}]?)" NOT_HAN_UPPER "+" NOT_HAN_LOWER "*" CONTRACTION
    R"(?|\p{N}{1,3}|)" MARKS R"([\r\n]*|)" LINES_AND_SPACES;

constexpr std::string_view kAfmoeScripts =
    R"([\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{f900}-\x{faff}\x{3040}-\x{309f}\x{30a0}-\x{30ff})"
    R"(\x{ff65}-\x{ff9f}\x{2f00}-\x{2fdf}\x{e00}-\x{e7f}\x{e80}-\x{eff}\x{1780}-\x{17ff})"
    R"(\x{1000}-\x{109f}\x{aa60}-\x{aa7f}\x{a9e0}-\x{a9ff}\x{ac00}-\x{d7af}\x{1100}-\x{11ff}]+)";

constexpr std::string_view kYoutuScripts =
    R"([\x{ac00}-\x{d7a3}\x{3131}-\x{318e}]+|)"
    R"([\x{ff01}\x{2026}\x{201c}\x{201d}\x{2018}\x{2019}\x{2014}\x{ff1a}\x{ff1b}\x{ff0c})"
    R"(\x{3001}-\x{303f}\x{fe30}-\x{fe4f}]+|[\x{3105}-\x{312f}]+|)" KANA_AND_HAN;

constexpr std::string_view kJais2 = CONTRACTION
    "|" WORD R"(|\p{N}{1,3}|)" MARKS R"([\r\n]*|\s*[\r\n]+|)"
    R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|)"
    R"(\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";

const PreRules kRules[] = {
    {.names = {"llama-bpe", "llama3", "llama-v3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
               "jina-v5-nano"},
     .patterns = {LLAMA3},
     .ignore_merges = true,
     .adds_bos = true},
    {.names = {"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "jina-v2-es", "jina-v2-de",
               "a.x-4.0", "mellum", "modern-bert", "jina-v1-en", "jina-v2-code", "roberta-bpe",
               "jais", "trillion", "granite-docling", "exaone4"},
     .patterns = {GPT2}},
    {.names = {"mpt", "olmo"}, .patterns = {GPT2}, .normalizes_nfc = true},
    {.names = {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan"},
     .patterns = {QWEN2},
     .normalizes_nfc = true},
    {.names = {"solar-open", "grok-2"}, .patterns = {QWEN2}},
    {.names = {"qwen35"},
     .patterns =
         {CONTRACTION
          R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" LINES_AND_SPACES},
     .normalizes_nfc = true},
    {.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .patterns = {LLAMA3}},
    {.names = {"falcon"}, .patterns = {PUNCTUATION_RUNS, GPT2, "[0-9][0-9][0-9]"}},
    // Tools disagree on falcon3; those that write ternary files of it use these rules.
    {.names = {"falcon3", "falcon_e"}, .patterns = {PUNCTUATION_RUNS, GPT2, "[0-9]"}},
    {.names = {"default"},
     .patterns = {R"([\p{P}$+<=>^~|]+)", GPT2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
    {.names = {"starcoder", "refact", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"},
     .patterns = {R"(\p{N})", GPT2}},
    {.names = {"command-r"}, .patterns = {R"(\p{N})", GPT2}, .normalizes_nfc = true},
    {.names = {"deepseek-llm"},
     .patterns = {R"([\r\n])", kDeepSeekWords, kDeepSeekMarks, R"(\s+$)", DEEPSEEK_CJK,
                  R"(\p{N}+)"}},
    {.names = {"deepseek-coder"},
     .patterns = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", DEEPSEEK_CJK, R"(\p{N})"}},
    {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
     .patterns = {R"(\p{N}{1,3})", KANA_AND_HAN, DEEPSEEK3_WORDS R"([\r\n]*|)" LINES_AND_SPACES}},
    {.names = {"spark2_5"},
     .patterns = {R"(\p{N}{1,3})", KANA_AND_HAN, DEEPSEEK3_WORDS R"(|[\r\n]|)" SPACES, R"(\p{N})"}},
    {.names = {"youtu"},
     .patterns = {kYoutuScripts,
                  CASED_WORDS(CONTRACTION "?") R"(|\p{N}|)" MARKS R"([\r\n/]*|)" LINES_AND_SPACES},
     .ignore_merges = true},
    {.names = {"bloom", "poro-chat", "gpt3-finnish"}, .patterns = {BLOOM}},
    {.names = {"viking"}, .patterns = {BLOOM, R"(\p{N})"}},
    {.names = {"tekken"},
     .patterns = {CASED_WORDS("") R"(|\p{N}|)" MARKS R"([\r\n/]*|)" LINES_AND_SPACES},
     .ignore_merges = true,
     .adds_bos = true},
    {.names = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, .patterns = {GPT4O}},
    {.names = {"granite-embed-multi-97m"}, .patterns = {GPT4O}, .ignore_merges = true},
    {.names = {"tiny_aya", "cohere2moe"}, .patterns = {R"(\d{1,3}(?=(?:\d{3})*\b))", GPT4O}},
    {.names = {"chameleon"},
     .patterns = {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )", R"(\p{N})",
                  R"([\p{P}!-/:-@\[-`{-~])", GPT2},
     .adds_bos = true},
    {.names = {"superbpe"}, .patterns = {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}},
    {.names = {"bailingmoe", "bailingmoe2", "llada-moe"},
     .patterns = {R"('(?i:[sdmt]|ll|ve|re)|)" WORD R"(|\p{N}|)" MARKS
                  R"([\r\n]*|\s*[\r\n]|)" SPACES}},
    {.names = {"seed-coder"},
     .patterns = {CONTRACTION "|" WORD R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" LINES_AND_SPACES}},
    {.names = {"kimi-k2"}, .patterns = {kKimiK2}},
    {.names = {"ufakzeka"}, .patterns = {WORD R"(|\p{N}|)" MARKS R"([\r\n]*|)" LINES_AND_SPACES}},
    {.names = {"afmoe"},
     .patterns = {R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))", kAfmoeScripts,
                  DEEPSEEK3_WORDS R"([\r\n]*|)" LINES_AND_SPACES}},
    {.names = {"laguna"}, .patterns = {R"([^\n]+|\n+)", QWEN2}},
    {.names = {"exaone-moe"},
     .patterns = {CONTRACTION R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)" MARKS
                              R"([\r\n/]?|\s*[\r\n]|)" SPACES}},
    {.names = {"minicpm5"},
     .patterns = {R"(\p{N}{1,3})", LLAMA3_WITH(R"(\p{N}+)")},
     .ignore_merges = true},
    {.names = {"jais-2"}, .patterns = {kJais2}},
};

}  // namespace

std::span<const PreRules> AllPreRules() noexcept { return kRules; }

const PreRules* FindPreRules(std::string_view name) noexcept {
  for (const PreRules& rules : kRules) {
    if (std::ranges::find(rules.names, name) != rules.names.end()) return &rules;
  }
  return nullptr;
}

std::string EscapeRegex(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || c == ' ';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

std::string SplitStep(std::string_view words, std::string_view pattern) {
  std::string step = fmt::format("Split{}(", words);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool escaped = pattern[i] == '\\' && i + 1 < pattern.size();
    if (escaped) ++i;
    if (pattern[i] == ';') {
      step += "\\x3b";
      continue;
    }
    if (escaped) step += '\\';
    step += pattern[i];
  }
  step += ')';
  return step;
}

std::string StepsOf(const PreRules& rules) {
  std::string steps;
  for (const std::string_view pattern : rules.patterns) {
    steps += SplitStep("", pattern);
    steps += ';';
  }
  return steps + "ByteLevel";
}

}  // namespace bittern::formats
