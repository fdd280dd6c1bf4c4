// SPDX-License-Identifier: Apache-2.0
// The door of the addon: its functions made known to one environment of Node.js.
#include <exception>

#include "functions.hpp"
#include "stay_loaded.hpp"

namespace bittern::node {
namespace {

/// No exception of C++ leaves the addon.
napi_value Enter(napi_env env, napi_callback_info info) noexcept {
  try {
    void* data = nullptr;
    napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
    Environment* const environment = Environment::Of(env);
    if (environment == nullptr) return nullptr;
    Arguments arguments(env, info);
    return static_cast<const Row*>(data)->function(arguments, *environment);
  } catch (const std::exception&) {
    napi_throw_error(env, nullptr, "out of memory");
    return nullptr;
  }
}

napi_value Version(Arguments& arguments, Environment&) {
  return NewText(arguments.env(), bittern_version(), NAPI_AUTO_LENGTH);
}

napi_value Describe(Arguments& arguments, Environment&) {
  return NewText(arguments.env(), bittern_options_describe(), NAPI_AUTO_LENGTH);
}

napi_value StatusName(Arguments& arguments, Environment&) {
  double status = 0;
  if (!arguments.Number(0, &status)) return nullptr;
  const auto number = status >= 0 && status < 1000 ? static_cast<bittern_status>(status) : -1;
  return NewText(arguments.env(), bittern_status_name(number), NAPI_AUTO_LENGTH);
}

napi_value Cancel(Arguments& arguments, Environment& environment) {
  double number = 0;
  if (!arguments.Number(0, &number)) return nullptr;
  constexpr double kMostExact = 9007199254740992;
  if (number >= 1 && number <= kMostExact) environment.Cancel(static_cast<std::uint64_t>(number));
  return Undefined(arguments.env());
}

napi_value Free(Arguments& arguments, Environment&) {
  return arguments.Close(0) ? Undefined(arguments.env()) : nullptr;
}

constexpr Row kRows[] = {{"version", Version},
                         {"describe", Describe},
                         {"statusName", StatusName},
                         {"cancel", Cancel},
                         {"free", Free}};

bool Add(napi_env env, napi_value exports, std::span<const Row> rows) {
  for (const Row& row : rows) {
    napi_value function = nullptr;
    if (napi_create_function(env, row.name, NAPI_AUTO_LENGTH, Enter, const_cast<Row*>(&row),
                             &function) != napi_ok ||
        napi_set_named_property(env, exports, row.name, function) != napi_ok) {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace bittern::node

extern "C" NAPI_MODULE_EXPORT napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  using namespace bittern::node;  // NOLINT: this function stands outside of any namespace
  StayLoaded();
  try {
    const bool ok = Environment::Create(env) && Add(env, exports, kRows) &&
                    Add(env, exports, ModelFunctions()) && Add(env, exports, SequenceFunctions()) &&
                    Add(env, exports, EngineFunctions()) && Add(env, exports, LogFunctions());
    if (ok) return exports;
  } catch (const std::exception&) {  // out of memory: as below
  }
  napi_throw_error(env, nullptr, "bittern: the addon cannot start");
  return nullptr;
}

extern "C" NAPI_MODULE_EXPORT std::int32_t node_api_module_get_api_version_v1(void) {
  return NAPI_VERSION;
}
