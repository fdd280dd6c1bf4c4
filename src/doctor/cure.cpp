// SPDX-License-Identifier: Apache-2.0
// A diagnosis carried out. One thread.
#include "doctor/diagnose.hpp"
#include "formats/network_tensors.hpp"
#include "runtime/convert_hints.hpp"

namespace bittern::doctor {
namespace {

using formats::Checkpoint;

/// The target that keeps the format of the ternary weights.
std::string TargetOf(const Checkpoint& file) {
  for (const formats::Tensor& tensor : file.tensors()) {
    const formats::TensorSpec* spec = formats::FindWeight(tensor.name);
    if (spec == nullptr || spec->id != formats::TensorId::kFfnDown) continue;
    if (tensor.format == quant::WeightFormat::kHfPacked || tensor.quantize_absmean) {
      return file.kind().starts_with("GGUF") ? "i2_s" : "safetensors";
    }
    const auto* codec = quant::DefaultCodec(tensor.format);
    if (codec != nullptr) return std::string(codec->name);
  }
  return "i2_s";
}

}  // namespace

std::string_view NothingWritten(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kHealthy:
      return "nothing is wrong, so nothing was written";
    case Verdict::kNothingFound:
      return "nothing was found, so nothing was written";
    default:
      return "no cure is known, so nothing was written";
  }
}

Result<formats::ConvertReport> WriteCured(const Opener& open, const Diagnosis& diagnosis,
                                          const std::string& out, bool overwrite) {
  if (diagnosis.verdict != Verdict::kCurable) {
    return Fail(ErrorCode::kInvalidArgument, std::string(NothingWritten(diagnosis.verdict)));
  }
  const auto file = BITTERN_TRY(OpenReading(open, diagnosis.edits));
  formats::ConvertOptions options;
  options.to = TargetOf(file);
  options.prove = true;
  options.overwrite = overwrite;
  Decisions ignored;
  options.hints = runtime::HintsFor(file, &ignored);
  return formats::Convert(file, out, options);
}

}  // namespace bittern::doctor
