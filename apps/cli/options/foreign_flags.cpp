// SPDX-License-Identifier: Apache-2.0
// One row for each meaning. To teach the program another flag, add its row; tests/flags.txt holds
// what people type and what must come of it.
#include "cli/options/foreign_flags.hpp"

#include <algorithm>
#include <array>

namespace bittern::cli {
namespace {

using enum ForeignValue;
constexpr ForeignKind kIgnored = ForeignKind::kIgnored, kRefused = ForeignKind::kRefused;

constexpr std::string_view kDownload =
    "Bittern downloads models by their names only (-hf USER/REPO): fetch the file yourself and "
    "name "
    "it with -m FILE";
constexpr std::string_view kPullFirst =
    "`bittern pull NAME` downloads a model and prints where it is";
constexpr std::string_view kRope =
    "the model file says this; to change it use --override-kv, e.g. "
    "ARCHITECTURE.rope.freq_base=float:500000";
constexpr std::string_view kAdapter = "merge the adapter into the model before you convert it";
constexpr std::string_view kChat = "to talk with a model use `bittern chat`";
constexpr std::string_view kOneAnswer =
    "to get one answer use `echo \"QUESTION\" | bittern chat -m FILE`";
constexpr std::string_view kSystem = "only `bittern chat` has a system prompt: -sys TEXT";
constexpr std::string_view kEmbed = "`bittern embed` prints the vectors of texts";
constexpr std::string_view kQuantized =
    "`bittern convert` keeps ternary weights as they are and quantizes nothing";

constexpr auto kFlags = std::to_array<ForeignFlag>({
    // Rows for single commands go first.
    {"-p --prompt", kRefused, kOne, "chat",
     "for a system prompt use -sys TEXT; to continue a text use `bittern run -p TEXT`"},
    {"-f --file", kRefused, kOne, "chat",
     "to read turns from a file, one a line, use `bittern chat < FILE`"},
    {"-cnv --conversation -i --interactive -if --interactive-first", kIgnored, kNone, "chat"},
    {"-no-cnv --no-conversation", kRefused, kNone, "chat",
     "to continue a text use `bittern run -p TEXT`"},
    {"-st --single-turn", kRefused, kNone, "chat", kOneAnswer},
    {"-sysf --system-prompt-file", kRefused, kOne, "chat",
     "use -sys \"$(cat FILE)\" to read the system prompt from a file"},
    {"-nkvo --no-kv-offload -mmp --mmap -mg --main-gpu -nopo --no-op-offload -rtr "
     "--run-time-repack "
     "-fmoe --fused-moe -oe --output-err --delay --no-host",
     kIgnored, kOne, "bench"},
    {"--progress", kIgnored, kNone, "bench"},
    {"-embd --embeddings", kRefused, kOne, "bench", "there are no embeddings to measure", "0"},
    {"-fitp -fitt -fitc", kIgnored, kOne, "bench"},
    {"--modelfile --license --parameters --system --template", kRefused, kNone, "inspect",
     "`bittern meta get FILE KEY` prints one value, e.g. of tokenizer.chat_template or "
     "general.license"},
    {"-f --file", kRefused, kOne, "embed", "use `bittern embed < FILE`, a text a line"},
    {"-f --file", kRefused, kOne, "tokenize", "use `bittern tokenize < FILE`"},
    {"--stdin", kRefused, kNone, "tokenize",
     "leave it out: without a text, standard input is read"},
    {"--show-count", kRefused, kNone, "tokenize",
     "count them with `bittern tokenize --ids TEXT | wc -w`"},
    {"--no-parse-special --no-escape", kIgnored, kNone, "tokenize"},
    {"--outfile", kRefused, kOne, "convert", "the second argument is the file to write"},
    {"--outtype --quant-type -q", kRefused, kOne, "convert", "use --to FORMAT"},
    {"-md --model-dir", kRefused, kOne, "convert", "the first argument is the model to read"},
    {"--token-embedding-type --output-tensor-type", kRefused, kOne, "convert",
     "use --embeddings FORMAT"},
    {"--quant-embd", kRefused, kNone, "convert", "use --embeddings f16"},
    {"-hf -hfr -hr --hf-repo -hff --hf-file", kRefused, kOne, "convert", kPullFirst},
    {"--dry-run", kRefused, kNone, "convert", "`bittern inspect IN` shows what is in a file"},
    {"--keep-split", kRefused, kNone, "convert", "one file is written"},
    {"--allow-requantize --pure --leave-output-tensor", kRefused, kNone, "convert", kQuantized},
    {"--imatrix --include-weights --exclude-weights", kRefused, kOne, "convert", kQuantized},
    {"-sps --slot-prompt-similarity --threads-http --cache-reuse --sleep-idle-seconds", kIgnored,
     kOne, "serve"},
    {"--slots --webui --props --no-context-shift --cache-prompt", kIgnored, kNone, "serve"},
    {"--embedding --embeddings", kIgnored, kNone, "serve"},
    {"--rerank --reranking", kRefused, kNone, "serve",
     "the server ranks no texts; /v1/embeddings gives vectors that can be compared"},
    {"--api-prefix", kRefused, kOne, "serve", "put a proxy in front of the server"},
    {"--models-preset", kRefused, kOne, "serve", "use --models-dir FOLDER"},
    {"--models-autoload", kIgnored, kNone, "serve"},

    {"--system", kRefused, kOne, "chat", "use -sys TEXT"},
    {"--served-model-name", kRefused, kOne, "serve", "use -a NAME"},
    {"--json", kRefused, kNone, "bench", "use -o json"},
    {"--format", kRefused, kOne, "bench", "use -o FORMAT: md, csv, json or jsonl"},

    // Names of Ollama, vLLM and the APIs.
    {"--max-tokens --max-new-tokens --num-predict", kRefused, kOne, "", "use -n N"},
    {"--max-model-len --num-ctx", kRefused, kOne, "", "use -c N"},
    {"--stop", kRefused, kOne, "", "use -r TEXT"},
    {"--system", kRefused, kOne, "", kSystem},
    {"--format", kRefused, kOne, "",
     "--json prints one JSON object; --json-schema SCHEMA makes the text JSON"},
    {"-ins --instruct", kRefused, kNone, "", kChat},
    {"--tensor-parallel-size -tp --gpu-memory-utilization --dtype", kIgnored, kOne},

    // Speed, memory and messages elsewhere: nothing to do here.
    {"-ngl --gpu-layers --n-gpu-layers -ngld --gpu-layers-draft -tb --threads-batch -tbd "
     "--threads-batch-draft --numa --prio --prio-batch --poll --poll-batch -C --cpu-mask -Cr "
     "--cpu-range --cpu-strict -Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch -sm "
     "--split-mode -mg --main-gpu -ts --tensor-split -ot --override-tensor -dev --device -devd "
     "--device-draft -ncmoe --n-cpu-moe -fitt -fitc -dt --defrag-thold -cram --cache-ram",
     kIgnored, kOne},
    {"--mlock --mmap --no-mmap --warmup --no-warmup --repack --no-repack -nr -kvo --kv-offload "
     "-nkvo "
     "--no-kv-offload -nopo --no-op-offload --op-offload -cmoe --cpu-moe --swa-full -dio -ndio "
     "--direct-io --no-direct-io --no-host -kvu --kv-unified --no-kv-unified -cb --cont-batching "
     "-bs --backend-sampling "
     "-nocb --no-cont-batching -rtr --run-time-repack -fmoe --fused-moe --check-tensors",
     kIgnored, kNone},
    {"-fa --flash-attn -fit --fit", kIgnored, kSwitch},
    {"-co --color --log-colors", kIgnored, kSwitch},
    {"--perf --no-perf --show-timings --no-show-timings --simple-io --log-disable --log-prefix "
     "--log-timestamps --no-log-prefix --no-log-timestamps",
     kIgnored, kNone},
    {"-lv --verbosity --log-verbosity --log-file -ptc --print-token-count", kIgnored, kOne},
    // Guessing ahead changes no text; --spec says how it is done here.
    {"-md --model-draft -hfd --hf-repo-draft -cd --ctx-size-draft -td --threads-draft --draft "
     "--draft-max --draft-n "
     "--draft-min --draft-n-min --draft-p-min -ps --p-split --draft-p-split --spec-type",
     kIgnored, kOne},
    // A context is never shifted, and nothing is written beside the text.
    {"--context-shift --no-context-shift --prompt-cache-all --prompt-cache-ro", kIgnored, kNone},
    {"--keep", kIgnored, kOne},
    {"--prompt-cache", kIgnored, kOne, "",
     "nothing is saved; `serve` and `chat` keep prompts in memory"},
    {"--jinja --no-jinja", kIgnored, kNone},
    // `run` continues texts as it is.
    {"-no-cnv --no-conversation", kIgnored, kNone},

    // Flags that would change the result.
    {"--lora --lora-base --control-vector", kRefused, kOne, "", kAdapter},
    {"--rope-scaling", kRefused, kOne, "", kRope, "none"},
    {"--rope-scale --rope-freq-scale", kRefused, kOne, "", kRope, "1 1.0"},
    {"--rope-freq-base --yarn-orig-ctx", kRefused, kOne, "", kRope, "0 0.0"},
    {"--yarn-ext-factor --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast", kRefused, kOne, "",
     kRope, "-1 -1.0"},
    {"-gan --grp-attn-n", kRefused, kOne, "", "groups of positions are not supported", "1"},
    {"-gaw --grp-attn-w", kIgnored, kOne},
    {"-cnv --conversation -i --interactive -if --interactive-first", kRefused, kNone, "", kChat},
    {"-st --single-turn", kRefused, kNone, "", kOneAnswer},
    {"-sys --system-prompt -sysf --system-prompt-file", kRefused, kOne, "", kSystem},
    {"--chat-template --chat-template-file", kRefused, kOne, "",
     "only `bittern chat` writes turns; `run` takes the text as it is"},
    {"--in-prefix --in-suffix", kRefused, kOne, "",
     "`bittern chat` has them; `run` takes the text as it is"},
    {"--in-prefix-bos -mli --multiline-input", kRefused, kNone, "",
     "`bittern chat` takes a pasted text of many lines as one turn"},
    {"-rea --reasoning --reasoning-format --reasoning-budget", kRefused, kOne, "",
     "what the model writes is printed as it is", "off none auto"},
    {"-mu --model-url -dr --docker-repo", kRefused, kOne, "", kDownload},
    {"-bf --binary-file", kRefused, kOne, "", "use -f FILE; any bytes will do"},
    {"-rpc --rpc", kRefused, kOne, "", "Bittern computes on this machine only"},
    {"--verbose-prompt", kRefused, kNone, "", "`bittern tokenize TEXT` shows the tokens of a text"},
    {"--list-devices", kRefused, kNone, "", "`bittern inspect --cpu` shows what this CPU has"},
    {"-np --parallel -ns --sequences", kRefused, kOne, "", "one sequence is run at a time", "1"},
    {"--embedding --embeddings -embd", kRefused, kNone, "", kEmbed},
    {"--pooling", kRefused, kOne, "", kEmbed, "none"},
    {"--mmproj --image --audio", kRefused, kOne, "", "ternary models here read text only"},
    {"-pg", kRefused, kOne, "", "`bittern bench -pg PROMPT,GEN` measures both together"},
});

}  // namespace

bool HasWord(std::string_view list, std::string_view word) noexcept {
  if (word.empty()) return false;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool ForeignFlag::IsHarmless(std::string_view text) const noexcept {
  return HasWord(harmless, text);
}

std::span<const ForeignFlag> ForeignFlags() noexcept { return kFlags; }

const ForeignFlag* FindForeignFlag(std::string_view flag, std::string_view command,
                                   bool runs_model) noexcept {
  const auto fits = [&](const ForeignFlag& row) {
    const bool here = row.commands.empty() ? runs_model : HasWord(row.commands, command);
    return here && HasWord(row.names, flag);
  };
  const auto row = std::ranges::find_if(kFlags, fits);
  return row == kFlags.end() ? nullptr : &*row;
}

bool IsSwitchWord(std::string_view word) noexcept {
  return HasWord("on off auto always never 0 1 true false enabled disabled", word);
}

}  // namespace bittern::cli
