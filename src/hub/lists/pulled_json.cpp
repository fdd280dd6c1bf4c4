// SPDX-License-Identifier: Apache-2.0
#include "hub/lists/pulled_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hub/choice.hpp"

namespace bittern::hub {

Json PulledJson(const Pulled& pulled) {
  Json files = Json::MakeArray();
  for (const PulledFile& file : pulled.files) {
    Json entry = {{"file", file.path}, {"bytes", file.size}, {"fetched", file.fetched}};
    if (!file.hash.empty()) entry[file.hash.size() == 64 ? "sha256" : "git_sha1"] = file.hash;
    files.push_back(std::move(entry));
  }
  return {{"repo", pulled.repo},
          {"commit", pulled.commit},
          {"path", pulled.path.string()},
          {"files", std::move(files)}};
}

std::string PulledText(const Pulled& pulled) {
  std::uint64_t bytes = 0;
  for (const PulledFile& file : pulled.files) bytes += file.received;
  const auto fetched = [](const PulledFile& file) { return file.fetched; };
  if (std::ranges::none_of(pulled.files, fetched)) {
    return "nothing to download: it is in the cache";
  }
  return fmt::format("downloaded {} in {:.1f} s ({:.1f} MB/s); hashes are right", SizeText(bytes),
                     pulled.seconds,
                     static_cast<double>(bytes) / 1e6 / std::max(pulled.seconds, 1e-3));
}

}  // namespace bittern::hub
