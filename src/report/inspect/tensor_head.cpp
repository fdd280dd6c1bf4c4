// SPDX-License-Identifier: Apache-2.0
// Codes are read by the reader that loading uses, so that what is shown is what runs.
#include "report/inspect/tensor_head.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/float16.hpp"
#include "base/text/closest_name.hpp"
#include "base/text/display.hpp"
#include "formats/ternary_source.hpp"
#include "quant/weight_format.hpp"

namespace bittern::report {
namespace {

constexpr std::size_t kInLine = 16;  // weights in a line of text

Result<const formats::Tensor*> FindTensor(const formats::Checkpoint& checkpoint,
                                          const std::string& name) {
  if (const formats::Tensor* tensor = checkpoint.Find(name)) return tensor;
  std::vector<std::string> names;
  for (const formats::Tensor& tensor : checkpoint.tensors()) names.push_back(tensor.name);
  const std::string closest = ClosestName(name, names);
  return Fail(ErrorCode::kNotFound,
              fmt::format("{}: there is no tensor {}{}", checkpoint.path(), Quoted(name),
                          closest.empty() ? "; `bittern inspect` lists them with tensors=true"
                                          : fmt::format("; did you mean {}?", closest)));
}

template <class T>
T NumberAt(const formats::Tensor& tensor, std::size_t i) {
  T number;
  std::memcpy(&number, tensor.bytes.data() + i * sizeof(T), sizeof(T));
  return number;
}

Result<std::vector<float>> Numbers(const formats::Tensor& tensor, std::size_t count) {
  std::vector<float> numbers(std::min<std::size_t>(count, tensor.num_elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    switch (tensor.format) {
      case quant::WeightFormat::kF32:
        numbers[i] = NumberAt<float>(tensor, i);
        break;
      case quant::WeightFormat::kF16:
        numbers[i] = HalfToFloat(NumberAt<std::uint16_t>(tensor, i));
        break;
      case quant::WeightFormat::kBF16:
        numbers[i] = BfloatToFloat(NumberAt<std::uint16_t>(tensor, i));
        break;
      default:
        return Fail(ErrorCode::kUnsupported,
                    fmt::format("tensor {}: ternary weights, F32, F16 or BF16 expected, {} found",
                                Quoted(tensor.name), quant::InfoOf(tensor.format).name));
    }
  }
  return numbers;
}

}  // namespace

Result<TensorHead> HeadOf(const formats::Checkpoint& checkpoint, const std::string& name,
                          std::size_t count, Decisions* decisions) {
  const formats::Tensor* found = BITTERN_TRY(FindTensor(checkpoint, name));
  TensorHead head{.tensor = found};
  const formats::Tensor& tensor = *found;
  auto opener = BITTERN_TRY(formats::TernaryOpener::Create(checkpoint, decisions));
  const bool of_layer = tensor.rank == 2 && tensor.name.starts_with("blk.");
  const auto source = of_layer ? opener.Open(tensor)
                               : Result<formats::TernarySource>(Fail(ErrorCode::kUnsupported, ""));
  if (!source) {
    head.numbers = BITTERN_TRY(Numbers(tensor, count));
    return head;
  }
  head.layout = source->codec().name;
  head.group_cols = source->group_cols();
  const std::size_t most = std::min<std::size_t>(count, source->rows() * source->cols());
  std::vector<std::uint8_t> codes(source->cols());
  std::vector<float> scales(source->scales_per_row());
  for (std::size_t row = 0; head.codes.size() < most; ++row) {
    BITTERN_TRY(source->ReadRows(row, 1, codes.data(), scales.data()));
    if (row == 0) head.scales = scales;
    for (std::size_t i = 0; i < codes.size() && head.codes.size() < most; ++i) {
      head.codes.push_back(codes[i] - 1);
    }
  }
  return head;
}

std::string TensorHeadText(const TensorHead& head) {
  const formats::Tensor& tensor = *head.tensor;
  std::string text =
      fmt::format("{}  {}{}, {}\n", Printable(tensor.name), quant::InfoOf(tensor.format).name,
                  head.layout.empty() ? "" : " read as " + head.layout,
                  fmt::join(tensor.shape.begin(), tensor.shape.begin() + tensor.rank, " x "));
  if (!head.layout.empty()) {
    text += fmt::format("scale of the first {} weights: {:.9g}\n", head.group_cols,
                        head.scales.empty() ? 0 : head.scales.front());
  }
  const std::size_t count = head.layout.empty() ? head.numbers.size() : head.codes.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kInLine == 0) text += fmt::format("{}{:>8} ", i == 0 ? "" : "\n", i);
    text += head.layout.empty() ? fmt::format(" {:.6g}", head.numbers[i])
                                : fmt::format(" {:>2}", head.codes[i]);
  }
  return text + "\n";
}

Json TensorHeadJson(const TensorHead& head) {
  const formats::Tensor& tensor = *head.tensor;
  Json json = {{"name", tensor.name},
               {"format", quant::InfoOf(tensor.format).name},
               {"shape", std::vector<std::uint64_t>(tensor.shape.begin(),
                                                    tensor.shape.begin() + tensor.rank)}};
  if (head.layout.empty()) {
    json["values"] = head.numbers;
    return json;
  }
  json["layout"] = head.layout;
  json["group_columns"] = head.group_cols;
  json["scales"] = head.scales;
  json["codes"] = head.codes;
  return json;
}

}  // namespace bittern::report
