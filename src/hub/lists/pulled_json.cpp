// SPDX-License-Identifier: Apache-2.0
#include "hub/lists/pulled_json.hpp"

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

}  // namespace bittern::hub
