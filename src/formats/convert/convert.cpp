// SPDX-License-Identifier: Apache-2.0
// The second half of a conversion: tensors are encoded, several at a time, and written in order.
#include "formats/convert/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "base/files/atomic_file.hpp"
#include "base/files/mapped_file.hpp"
#include "base/text/display.hpp"
#include "formats/convert/convert_metadata.hpp"
#include "formats/convert/convert_plan.hpp"
#include "formats/convert/tensor_writer.hpp"
#include "formats/gguf/gguf_writer.hpp"
#include "formats/hf/hf_writer.hpp"
#include "formats/open/source_files.hpp"
#include "formats/safetensors/safetensors_writer.hpp"

namespace bittern::formats {
namespace {

namespace fs = std::filesystem;

/// Files of a folder that are the same whatever the weights are packed as.
constexpr std::string_view kTokenizerFiles[] = {"tokenizer.json",
                                                "tokenizer.model",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.json",
                                                "merges.txt",
                                                "chat_template.jinja",
                                                "generation_config.json"};

/// Refuses an output that is the source, and a file that is there unless `overwrite` is set. A
/// folder that is there is refused later, by AtomicFolder.
Result<void> CheckOutput(const Checkpoint& source, const fs::path& out, bool to_folder,
                         bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(out, ignored)) return {};
  BITTERN_TRY(CheckNotSource(source, out));
  if (!to_folder && !overwrite) {
    return Fail(ErrorCode::kInvalidArgument, out.string() + " exists already",
                "overwrite=true replaces it");
  }
  return {};
}

/// The tensor table of the GGUF header. GGUF keeps the source's order of dimensions: columns first.
std::vector<GgufTensor> GgufTensors(const ConvertPlan& plan) {
  std::vector<GgufTensor> tensors;
  for (const PlannedTensor& planned : plan.tensors) {
    tensors.push_back({planned.name, planned.source->rank, planned.source->shape,
                       static_cast<std::uint32_t>(planned.format), planned.bytes});
  }
  return tensors;
}

/// The dtype of a safetensors header. Packed ternary weights are bytes to that format.
std::string_view DtypeOf(const PlannedTensor& planned) {
  switch (planned.format) {
    case quant::WeightFormat::kF32:
      return "F32";
    case quant::WeightFormat::kF16:
      return "F16";
    case quant::WeightFormat::kBF16:
      return "BF16";
    default:
      return "U8";
  }
}

std::vector<SafetensorsTensor> HfTensors(const ConvertPlan& plan) {
  std::vector<SafetensorsTensor> tensors;
  for (const PlannedTensor& planned : plan.tensors) {
    tensors.push_back({planned.name, DtypeOf(planned), planned.hf_shape, planned.bytes});
  }
  return tensors;
}

Result<void> WriteTextFile(const fs::path& path, std::string_view text) {
  AtomicFile file = BITTERN_TRY(AtomicFile::Create(path));
  BITTERN_TRY(file.Write(text));
  return file.Commit();
}

/// Copies a small file through a mapping. Fails if the file changes while it is read.
Result<void> CopyTextFile(const fs::path& from, const fs::path& to) {
  const MappedFile file = BITTERN_TRY(MappedFile::Open(from));
  const auto bytes = file.bytes();
  BITTERN_TRY(WriteTextFile(to, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  return file.CheckUnchanged();
}

/// The folder a Hugging Face source lies in; empty for other sources.
fs::path HfFolderOf(const Checkpoint& source) {
  std::error_code ignored;
  const fs::path path = source.path();
  if (fs::is_directory(path, ignored)) return path;
  return path.extension() == ".safetensors" ? path.parent_path() / "." : fs::path();
}

/// One run of Convert. A plan is made first; then metadata and tensors go to a temporary place,
/// which gets its name only after the proof and after the source is seen to be unchanged.
class Conversion {
 public:
  Conversion(const Checkpoint& source, const fs::path& out, const ConvertOptions& options,
             ThreadPool pool)
      : source_(source), out_(out), options_(options), pool_(std::move(pool)) {}

  /// Runs the conversion. A source that was changed meanwhile is the reason for any other error.
  Result<ConvertReport> Run() {
    auto done = Write();
    if (done || done.error().code == ErrorCode::kCancelled) return done;
    BITTERN_TRY(source_.CheckUnchanged());  // rather than what is wrong with it now
    return done;
  }

 private:
  Result<ConvertReport> Write() {
    plan_ = BITTERN_TRY(PlanConversion(source_, options_));
    BITTERN_TRY(CheckOutput(source_, out_, plan_.to_folder, options_.overwrite));
    report_.notes = std::move(plan_.notes);
    report_.decisions = std::move(plan_.decisions);
    report_.kind = plan_.to_folder ? "Hugging Face folder" : "GGUF v3";
    const MetadataDraft draft = ConvertedMetadata(source_, plan_, options_.hints, &report_.notes);
    if (plan_.to_folder) {
      BITTERN_TRY(WriteFolder(draft));
    } else {
      BITTERN_TRY(WriteGguf(draft));
    }
    return std::move(report_);
  }

  Result<void> WriteGguf(const MetadataDraft& draft);
  Result<void> WriteFolder(const MetadataDraft& draft);
  Result<void> WriteTokenizer(const MetadataDraft& draft, const fs::path& folder);
  Result<void> WriteTensors(const TensorSink& sink);
  Result<bool> ProvenBy(const fs::path& written);

  const Checkpoint& source_;
  const fs::path& out_;
  const ConvertOptions& options_;
  ThreadPool pool_;
  ConvertPlan plan_;
  ConvertReport report_;
};

/// Encodes all tensors into `sink`, in the plan's order. Progress of this step is 60% of the whole
/// where a proof follows.
Result<void> Conversion::WriteTensors(const TensorSink& sink) {
  const double share = options_.prove ? 0.6 : 1;
  const auto on_progress = [&](double done, std::string_view what) {
    return !options_.on_progress || options_.on_progress(share * done, what);
  };
  TensorWriter writer(source_, plan_, pool_, sink, on_progress);
  BITTERN_TRY(writer.WriteAll());
  const WrittenTensors& written = writer.written();
  report_.ternary_tensors = written.ternary_tensors;
  report_.ternary_weights = written.ternary_weights;
  report_.plain_tensors = written.plain_tensors;
  report_.scales = written.scales;
  report_.worst_scale = written.worst_scale;
  report_.bytes_written = 0;
  return {};
}

/// False if a proof was asked for and found a difference.
Result<bool> Conversion::ProvenBy(const fs::path& written) {
  if (!options_.prove) return true;
  const Checkpoint output = BITTERN_TRY(Checkpoint::Open(written));
  // All ternary tensors of one output round their scales in one way, so any of them tells it.
  float (*stored_scale)(float) noexcept = nullptr;
  for (const PlannedTensor& tensor : plan_.tensors) {
    if (tensor.target.stored_scale != nullptr) stored_scale = tensor.target.stored_scale;
  }
  report_.proof = BITTERN_TRY(Prove(source_, output, stored_scale, pool_, [&](double done) {
    return !options_.on_progress || options_.on_progress(0.6 + 0.4 * done, "proving");
  }));
  return report_.proof->ok();
}

/// Writes one GGUF file. A failed proof is no error: the temporary file is dropped with `writer`,
/// and the report tells of it.
Result<void> Conversion::WriteGguf(const MetadataDraft& draft) {
  auto writer = BITTERN_TRY(GgufWriter::Create(out_, draft.entries(), GgufTensors(plan_)));
  BITTERN_TRY(WriteTensors([&](std::span<const std::byte> bytes) { return writer.Append(bytes); }));
  const fs::path temporary = BITTERN_TRY(writer.Complete());
  std::error_code ignored;
  report_.bytes_written = fs::file_size(temporary, ignored);
  const bool proven = BITTERN_TRY(ProvenBy(temporary));
  BITTERN_TRY(source_.CheckUnchanged());
  return proven ? writer.Finish() : Result<void>();
}

/// Puts the tokenizer into `folder`: copies of the source's own files, or files made from GGUF's
/// keys. A tokenizer that cannot be written is a note, not an error; the weights are still good.
Result<void> Conversion::WriteTokenizer(const MetadataDraft& draft, const fs::path& folder) {
  const fs::path source_folder = HfFolderOf(source_);
  if (!source_folder.empty()) {
    // A folder's own tokenizer files say more than keys do.
    for (const std::string_view name : kTokenizerFiles) {
      std::error_code error;
      const auto bytes = fs::file_size(source_folder / name, error);
      if (error) continue;  // not there
      BITTERN_TRY(bytes == 0 ? WriteTextFile(folder / name, "")
                             : CopyTextFile(source_folder / name, folder / name));
    }
    return {};
  }
  auto files = HfTokenizerFiles(draft);
  if (!files) {
    report_.notes.push_back("no tokenizer.json was written: " + files.error().message);
    return {};
  }
  for (const TextFile& file : *files) BITTERN_TRY(WriteTextFile(folder / file.name, file.text));
  return {};
}

/// Writes a Hugging Face folder: config files, tokenizer, then model.safetensors. The folder
/// appears under its name as a whole or not at all.
Result<void> Conversion::WriteFolder(const MetadataDraft& draft) {
  const bool tied = source_.Find("output.weight") == nullptr;
  const auto config_files = BITTERN_TRY(HfConfigFiles(draft, tied));
  AtomicFolder folder = BITTERN_TRY(AtomicFolder::Create(out_));
  for (const TextFile& file : config_files) {
    BITTERN_TRY(WriteTextFile(folder.temporary() / file.name, file.text));
  }
  BITTERN_TRY(WriteTokenizer(draft, folder.temporary()));
  auto writer = BITTERN_TRY(
      SafetensorsWriter::Create(folder.temporary() / "model.safetensors", HfTensors(plan_)));
  BITTERN_TRY(WriteTensors([&](std::span<const std::byte> bytes) { return writer.Append(bytes); }));
  BITTERN_TRY(writer.Finish());
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.temporary(), ignored)) {
    report_.bytes_written += entry.file_size(ignored);
  }
  const bool proven = BITTERN_TRY(ProvenBy(folder.temporary()));
  BITTERN_TRY(source_.CheckUnchanged());
  return proven ? folder.Commit() : Result<void>();
}

}  // namespace

Result<ConvertReport> Convert(const Checkpoint& source, const fs::path& out,
                              const ConvertOptions& options) {
  ThreadPool pool = BITTERN_TRY(ThreadPool::Create(std::max(options.num_threads, 1)));
  return Conversion(source, out, options, std::move(pool)).Run();
}

}  // namespace bittern::formats
