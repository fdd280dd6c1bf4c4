// SPDX-License-Identifier: Apache-2.0
// `bittern ps`: the servers of this user that run, as Linux's /proc tells them. No server is asked,
// so a busy one is listed, too.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.hpp"
#include "base/text/display.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/terminal.hpp"

namespace bittern::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kServersExample = R"(Examples:
  bittern ps
  bittern ps --json | jq .servers[].port

A server of another user is not listed. `kill PID` ends a server once its answers are whole.)";

struct Server {
  int pid = 0;
  int port = 0;  ///< 0: it does not listen yet
  std::string host, model;
};

/// The whole words of a command line, as /proc/PID/cmdline has them.
std::vector<std::string> WordsOfProcess(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

/// The word after one of these flags, or after '='; `otherwise` without the flag.
std::string ValueOfFlag(const std::vector<std::string>& words,
                        std::initializer_list<std::string_view> flags, std::string otherwise) {
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    if (std::ranges::find(flags, std::string_view(words[i]).substr(0, equals)) == flags.end()) {
      continue;
    }
    if (equals < words[i].size()) return words[i].substr(equals + 1);
    if (i + 1 < words.size()) return words[i + 1];
  }
  return otherwise;
}

/// Ports at which the sockets with these inodes listen: lines of /proc/net/tcp, whose second word
/// is ADDRESS:PORT in hexadecimal digits, the fourth the state (0A: listens), the tenth the inode.
int ListeningPort(const std::set<std::string>& inodes) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      std::vector<std::string> cell;
      for (std::string text; cells >> text;) cell.push_back(text);
      if (cell.size() < 10 || cell[3] != "0A" || !inodes.contains(cell[9])) continue;
      const std::string digits = cell[1].substr(cell[1].find(':') + 1);
      int port = 0;
      std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
      return port;
    }
  }
  return 0;
}

/// Inodes of the sockets that a process has open: links "socket:[INODE]".
std::set<std::string> SocketsOf(const fs::path& process) {
  constexpr std::string_view kSocket = "socket:[";
  std::set<std::string> inodes;
  std::error_code failed;
  for (auto it = fs::directory_iterator(process / "fd", failed);
       !failed && it != fs::directory_iterator(); it.increment(failed)) {
    std::error_code ignored;
    const std::string target = fs::read_symlink(it->path(), ignored).string();
    if (!target.starts_with(kSocket) || !target.ends_with(']')) continue;
    inodes.insert(target.substr(kSocket.size(), target.size() - kSocket.size() - 1));
  }
  return inodes;
}

/// The line "Uid:" of /proc/PID/status: the process's user; empty of a process that has ended.
std::string UserOf(const fs::path& process) {
  std::ifstream file(process / "status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Uid:")) return line;
  }
  return {};
}

bool IsServer(const fs::path& process, const std::vector<std::string>& words) {
  return words.size() >= 2 && fs::path(words[0]).filename() == "bittern" && words[1] == "serve" &&
         UserOf(process) == UserOf("/proc/self");
}

/// The model by its flag, else the first word without a flag, else the environment's, which is not
/// looked at.
std::string ModelOfServer(const std::vector<std::string>& words) {
  const std::string first = words.size() > 2 && !words[2].starts_with('-') ? words[2] : "";
  return ValueOfFlag(words, {"-m", "--model", "-hf", "-hfr", "-hr", "--hf-repo", "--models-dir"},
                     first);
}

/// All servers, by process id.
std::vector<Server> FindServers() {
  std::vector<Server> servers;
  std::error_code failed;
  for (auto it = fs::directory_iterator("/proc", failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::vector<std::string> words = WordsOfProcess(it->path());
    if (!IsServer(it->path(), words)) continue;
    Server server{.host = ValueOfFlag(words, {"--host"}, "127.0.0.1"),
                  .model = ModelOfServer(words)};
    std::from_chars(name.data(), name.data() + name.size(), server.pid);
    server.port = ListeningPort(SocketsOf(it->path()));
    servers.push_back(std::move(server));
  }
  std::ranges::sort(servers, {}, &Server::pid);
  return servers;
}

std::string ServersJson(const std::vector<Server>& servers) {
  Json list = Json::MakeArray();
  for (const Server& server : servers) {
    Json one = {{"pid", server.pid}, {"host", server.host}};
    if (server.port != 0) one["port"] = server.port;
    if (!server.model.empty()) one["model"] = server.model;
    list.push_back(std::move(one));
  }
  return Json({{"servers", std::move(list)}}).Dump() + "\n";
}

/// A line each, without a heading, as `bittern models` has it.
std::string ServersText(const std::vector<Server>& servers) {
  std::string text;
  for (const Server& server : servers) {
    text +=
        fmt::format("{:>8}  {}  {}\n", server.pid,
                    server.port == 0 ? "does not listen yet"
                                     : fmt::format("{}:{}", Printable(server.host), server.port),
                    server.model.empty() ? "(no model named)" : Printable(server.model));
  }
  return text;
}

int ServersCommand(bool json) {
  std::error_code failed;
  if (!fs::is_directory("/proc/self", failed)) {
    return Report({ErrorCode::kUnsupported,
                   "this system does not tell which servers run; their ports "
                   "tell: each answers at /health"},
                  kExitRuntime);
  }
  const std::vector<Server> servers = FindServers();
  if (servers.empty() && !json) {
    PrintError(
        "no server of this user runs; `bittern serve FILE` starts one. A model is in memory "
        "only as long as its command runs\n");
  }
  StandardOutput output;
  output.Write(json ? ServersJson(servers) : ServersText(servers));
  const auto status = output.Status();
  return status ? 0 : Report(status.error(), kExitRuntime);
}

}  // namespace

void AddServers(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("ps", "List the servers of this user that run");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->footer(kServersExample);
  command->callback([json, exit_code] { *exit_code = ServersCommand(*json); });
}

}  // namespace bittern::cli
