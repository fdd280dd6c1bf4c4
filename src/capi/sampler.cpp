// SPDX-License-Identifier: Apache-2.0
// Samplers of the C interface, for programs that choose tokens themselves.
#include "runtime/sampling/sampler.hpp"

#include <mutex>

#include "capi/objects.hpp"
#include "capi/options.hpp"

namespace bittern::capi {
namespace {

/// A sampler and the tokens that it remembers. Calls of several threads wait for each other.
class SamplerObject : public Object {
 public:
  static constexpr int kKind = 6;
  static constexpr const char* kWhat = "a sampler";
  explicit SamplerObject(runtime::Sampler made) : Object(kKind), sampler(std::move(made)) {}

  std::mutex mutex;
  runtime::Sampler sampler;
};

}  // namespace
}  // namespace bittern::capi

using namespace bittern;        // NOLINT: the C functions below stand outside of any namespace
using namespace bittern::capi;  // NOLINT

/// No model is known here, so no model's recommendation is used.
bittern_status bittern_sampler_create(const bittern_options* options, bittern_sampler** sampler) {
  return Call([&]() -> Result<void> {
    BITTERN_TRY(NeedPointer(sampler, "sampler"));
    const Settings settings = BITTERN_TRY(SettingsOf(options));
    const auto generate = BITTERN_TRY(GenerateOptionsOf(settings, nullptr));
    auto made = BITTERN_TRY(runtime::Sampler::Create(generate.sampler));
    *sampler =
        static_cast<bittern_sampler*>(AddHandle(std::make_shared<SamplerObject>(std::move(made))));
    return {};
  });
}

void bittern_sampler_free(bittern_sampler* sampler) { RemoveHandle(sampler, SamplerObject::kKind); }

bittern_status bittern_sampler_accept(bittern_sampler* sampler, int32_t id) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<SamplerObject>(sampler));
    if (id < 0) return Fail(ErrorCode::kInvalidArgument, "id: 0 or more expected");
    const std::lock_guard lock(found->mutex);
    found->sampler.Accept(id);
    return {};
  });
}

bittern_status bittern_sampler_sample(bittern_sampler* sampler, const float* logits, size_t count,
                                      int32_t* id) {
  return Call([&]() -> Result<void> {
    const auto found = BITTERN_TRY(Find<SamplerObject>(sampler));
    BITTERN_TRY(NeedPointer(logits, "logits"));
    BITTERN_TRY(NeedPointer(id, "id"));
    if (count == 0 || count > static_cast<std::size_t>(INT32_MAX)) {
      return Fail(ErrorCode::kInvalidArgument, "count: 1 to 2147483647 logits expected");
    }
    const std::lock_guard lock(found->mutex);
    *id = BITTERN_TRY(found->sampler.Sample({logits, count}));
    return {};
  });
}
