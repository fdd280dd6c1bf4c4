// SPDX-License-Identifier: Apache-2.0
// `bittern serve`: a model behind HTTP. The sockets are open before the model is loaded, so that a
// health check has an answer; SIGTERM and Ctrl-C let answers on their way finish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "base/os/process.hpp"
#include "base/os/signals.hpp"
#include "cli/chat/template_option.hpp"
#include "cli/options/local_model.hpp"
#include "cli/options/model_options.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/options/tabled_options.hpp"
#include "cli/shared/commands.hpp"
#include "cli/shared/terminal.hpp"
#include "request/options/choice_names.hpp"
#include "runtime/engine/cache_size.hpp"
#include "runtime/sampling/sampler.hpp"
#include "serve/core/guard.hpp"
#include "serve/core/models_folder.hpp"
#include "serve/core/service_setup.hpp"
#include "serve/http/access_log.hpp"
#include "serve/http/tls.hpp"
#include "serve/server.hpp"

namespace bittern::cli {
namespace {

constexpr const char* kServeExample = R"(Example:
  bittern serve -m model.gguf --port 8080
  curl http://127.0.0.1:8080/v1/chat/completions -d '{"messages": [{"role": "user",
    "content": "Hi"}]}'

Answers OpenAI's and llama-server's requests (docs/serving.md). The same request with a seed gets
the same answer, whatever else runs. Flags give the values that a request leaves open. SIGTERM or
Ctrl-C: no new connections, answers on their way are finished; a second one ends at once.)";

/// The flags of the command. Sizes are in MiB, as typed.
struct ServeOptions {
  const CLI::App* command = nullptr;
  ModelOptions model;
  ContextOptions context;
  runtime::GenerateOptions generate;
  serve::ServerOptions server;
  std::string alias;  ///< as typed: NAME,NAME,...
  std::vector<std::string>
      names;  ///< of the model: the first is its own, the others are taken, too
  std::string chat_template, key_file, log_format = "text";
  int num_threads = 0;
  int parallel = 8;
  int queue = 256;
  int cache_mib = static_cast<int>(runtime::kDefaultCacheBytes >> 20);
  bool no_slots = false, no_page = false, receipts = false, strict = false;
  std::string pooling = "auto";
  std::string slot_save_path;
  std::string models_dir;
  int models_max = 4, models_mib = 0;
  bool no_models_autoload = false;
  std::string certificate, certificate_key;
};

constexpr std::uint64_t BytesOf(int mib) { return static_cast<std::uint64_t>(mib) << 20; }

std::string UrlOf(const ServeOptions& options, const serve::Server& server) {
  return fmt::format("{}://{}:{}", options.certificate.empty() ? "http" : "https",
                     options.server.http.host, server.port());
}

/// Descriptors beside those of connections: models, logs, saved slots.
constexpr std::uint64_t kOtherFiles = 256;

/// Listens to wishes that the server end: the first one drains it, the next one ends it. Before the
/// model is there, the first one ends the process.
class EndWatch {
 public:
  EndWatch(os::EndWishes* wishes, serve::Server* server) : wishes_(wishes) {
    wishes_->Start([this, server] { return Hear(server); });
  }
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  ~EndWatch() { wishes_->Stop(); }
  void SetReady() { ready_.store(true); }
  [[nodiscard]] bool stopped() const { return count_.load() > 1; }

 private:
  bool Hear(serve::Server* server) {
    if (!ready_.load()) return false;
    ++count_;
    if (count_.load() > 1) {
      server->Stop();
    } else {
      PrintError("finishing answers on their way\n");
      server->Drain();
    }
    return true;
  }

  os::EndWishes* wishes_;
  std::atomic<bool> ready_{false};
  std::atomic<int> count_{0};
};

/// The names in --alias, else one that is made from the file's name. A name twice counts once.
Result<std::vector<std::string>> AliasNames(const ServeOptions& options) {
  if (options.alias.empty()) {
    return std::vector{serve::NameOfModelFile(
        options.model.path.empty() ? BITTERN_DEFAULT_MODEL_NAME : options.model.path)};
  }
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= options.alias.size();) {
    const std::size_t comma = std::min(options.alias.find(',', from), options.alias.size());
    std::string name = options.alias.substr(from, comma - from);
    from = comma + 1;
    if (name.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("--alias: names with commas between them expected, \"{}\" found",
                              options.alias));
    }
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

/// Loads one model and makes the service that answers for it; flags are the defaults of requests.
Result<std::unique_ptr<serve::Service>> LoadService(const ServeOptions& options) {
  auto model = BITTERN_TRY(LoadModel(options.model, options.num_threads));
  const auto& metadata = model->model.checkpoint().metadata();
  serve::ServiceOptions service;
  service.model_name = options.names.front();
  service.aliases.assign(options.names.begin() + 1, options.names.end());
  // Without keys anyone may ask: the file's name says enough.
  service.model_path = options.server.api_keys.empty()
                           ? std::filesystem::path(options.model.path).filename().string()
                           : options.model.path;
  service.version = BITTERN_VERSION;
  service.defaults = options.generate;
  service.most_waiting = options.queue;
  service.receipts = options.receipts;
  service.strict = options.strict;
  service.pooling = request::ChoiceByName(request::kPoolings, options.pooling);
  service.verbose = options.model.verbose;
  service.slot_save_path = options.slot_save_path;
  service.chat_template = BITTERN_TRY(ReadChatTemplate(options.chat_template));
  TakeSamplingDefaults(*options.command, metadata, options.model.verbose,
                       &service.defaults.sampler);
  for (std::string& stop : service.defaults.stops) stop = Unescape(stop);
  const auto session = BITTERN_TRY(ToSessionOptions(options.context, options.num_threads, *model));
  service.engine = BITTERN_TRY(runtime::EngineFor(model->model.config(), session, options.parallel,
                                                  BytesOf(options.cache_mib)));
  Decisions decisions;
  auto made = BITTERN_TRY(serve::Service::Create(std::move(model), std::move(service), &decisions));
  PrintDecisions(decisions, options.model.verbose);
  return made;
}

/// --models-dir: each model is loaded when a request names it, with the flags of all.
Result<void> ServeModels(const ServeOptions& options, serve::Server* server) {
  if (!options.model.path.empty() || !options.alias.empty()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "--models-dir serves several models, each under its own name: leave out -m, --alias");
  }
  const auto finder = [folder = options.models_dir, more = BytesOf(options.cache_mib)] {
    return serve::FindModels(folder, more);
  };
  auto files = BITTERN_TRY(finder());
  if (files.empty()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--models-dir {}: models (*.gguf, or folders with config.json) expected, "
                    "none found",
                    options.models_dir));
  }
  const std::size_t count = files.size();
  const auto maker = [options](const serve::ModelFile& file) {
    ServeOptions one = options;
    one.model.path = file.path;
    one.names = {file.name};
    PrintRemark("loading {}\n", file.name);
    auto made = LoadService(one);
    if (!made.has_value()) PrintError("{}: {}\n", file.name, MessageAndHint(made.error()));
    return made;
  };
  const serve::ModelsOptions limits{.most_loaded = options.models_max,
                                    .most_bytes = BytesOf(options.models_mib),
                                    .most_waiting = static_cast<std::size_t>(options.queue),
                                    .version = BITTERN_VERSION,
                                    .autoload = !options.no_models_autoload};
  auto models = std::make_unique<serve::Models>(std::move(files), maker, limits);
  models->SetFinder(finder);
  server->SetModels(std::move(models));
  PrintError("ready: {} models at {}\n", count, UrlOf(options, *server));
  return {};
}

/// A model by name is pulled before anything listens; it is served under its repository's name.
Result<void> FindServedModel(ServeOptions* options) {
  const auto reference = BITTERN_TRY(ModelNamedBy(options->model.path));
  options->model.path = BITTERN_TRY(LocalModel(options->model.path));
  if (reference && options->alias.empty()) options->alias = reference->repo;
  return {};
}

/// A folder that is not there would be found at the first use, in words of the library, which knows
/// no flags.
Result<void> CheckFolders(const ServeOptions& options) {
  const std::pair<const char*, const std::string*> kFolders[] = {
      {"--path", &options.server.folder},
      {"--slot-save-path", &options.slot_save_path},
      {"--models-dir", &options.models_dir}};
  for (const auto& [flag, folder] : kFolders) {
    std::error_code error;
    if (folder->empty()) continue;
    const auto status = std::filesystem::status(*folder, error);
    if (std::filesystem::is_directory(status)) continue;
    const bool none = status.type() == std::filesystem::file_type::not_found;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} {}: a folder expected, {} found", flag, *folder,
                            none    ? "nothing"
                            : error ? error.message()
                                    : "something else"));
  }
  return {};
}

/// The order matters: wishes are caught before any thread starts, which would get them; sockets
/// listen before the model is loaded; the watch ends before the server does.
Result<int> RunServe(ServeOptions options) {
  BITTERN_TRY(runtime::Sampler::Create(options.generate.sampler));
  BITTERN_TRY(CheckContextOptions(options.context));
  if (!options.key_file.empty()) {
    const auto keys = BITTERN_TRY(serve::ReadKeyFile(options.key_file));
    options.server.api_keys.insert(options.server.api_keys.end(), keys.begin(), keys.end());
  }
  BITTERN_TRY(FindServedModel(&options));
  options.names = BITTERN_TRY(AliasNames(options));
  options.server.slots = !options.no_slots;
  options.server.page = !options.no_page;
  if (!options.certificate.empty()) {
    options.server.http.tls =
        BITTERN_TRY(serve::Tls::Load(options.certificate, options.certificate_key));
  }
  if (options.log_format == "text") {
    options.server.http.on_access = [](const auto& record) {
      PrintError("{}", serve::AccessText(record));
    };
  }
  if (options.log_format == "json") {
    options.server.http.on_access = [](const auto& record) {
      PrintError("{}", serve::AccessJson(record));
    };
  }
  BITTERN_TRY(CheckFolders(options));
  if (options.server.api_keys.empty() && !serve::IsLoopbackHost(options.server.http.host)) {
    PrintError("warning: anyone who reaches {} may use this server: --api-key-file asks for keys\n",
               options.server.http.host);
  }
  // Each connection has a descriptor; shells often allow 1024.
  os::AllowOpenFiles(static_cast<std::uint64_t>(options.server.http.max_connections) + kOtherFiles);
  os::EndWishes wishes;
  auto server = BITTERN_TRY(serve::Server::Start(options.server));
  EndWatch watch(&wishes, server.get());
  PrintRemark("loading the model; {}/health tells when it is ready\n", UrlOf(options, *server));
  if (!options.models_dir.empty()) {
    BITTERN_TRY(ServeModels(options, server.get()));
    watch.SetReady();
    server->Wait();
    return watch.stopped() ? kExitInterrupted : 0;
  }
  auto service = BITTERN_TRY(LoadService(options));
  const int context = service->options().engine.context_length;
  server->SetService(std::move(service));
  watch.SetReady();
  PrintError("ready: {} at {}, {} requests at a time, {} tokens each\n", options.names.front(),
             UrlOf(options, *server), options.parallel, context);
  server->Wait();
  return watch.stopped() ? kExitInterrupted : 0;
}

/// A port that is taken is no fault of the model: kExitRuntime.
int ServeCommand(const ServeOptions& options) {
  const Result<int> exit_code = RunServe(options);
  if (exit_code) return *exit_code;
  const bool socket = exit_code.error().message.starts_with("cannot listen");
  return socket ? Report(exit_code.error(), kExitRuntime) : Report(exit_code.error());
}

/// Flags of the HTTP server; the names are llama-server's where it has them.
void AddServerFlags(CLI::App* command, ServeOptions* options) {
  serve::HttpServerOptions* http = &options->server.http;
  command->add_option("--host", http->host, "Address to listen at; 0.0.0.0: all of IPv4")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command->add_option("--port", http->port, "Port to listen at; 0: any free one")
      ->check(WholeNumber(0, 65535))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--parallel", options->parallel, "Sequences that run at the same time")
      ->check(WholeNumber(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--queue", options->queue, "Sequences that may wait; more get status 503")
      ->check(WholeNumber(0))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--cache-mib", options->cache_mib,
                   "Memory for keys and values of all sequences and of earlier prompts, in MiB")
      ->check(WholeNumber(1))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--timeout", http->timeout_s,
                   "Seconds that a client may take to send a request, or to take an answer's next "
                   "part")
      ->check(WholeNumber(1, 1 << 20))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("-a,--alias", options->alias,
                   "Name of the model in answers; further names, after commas, are taken, too")
      ->type_name("NAME");
  AddChatTemplateOption(*command, &options->chat_template);
  command
      ->add_option("--log-format", options->log_format,
                   "One line a request on standard error: text, json or none")
      ->check(OneOf({"text", "json", "none"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_flag("--metrics", options->server.metrics, "Answer /metrics (Prometheus)");
  command
      ->add_option("--slot-save-path", options->slot_save_path,
                   "Folder where /slots/N?action=save keeps its files")
      ->type_name("FOLDER");
  command->add_flag("--receipts", options->receipts,
                    "Every answer carries a receipt (docs/receipts.md)");
  AddTabled(*command, "pooling", &options->pooling);
  command->add_flag("--strict", options->strict,
                    "Refuse fields of requests that nothing reads; without it they are ignored "
                    "and told in the header bittern-ignored");
  command->add_flag("--no-slots", options->no_slots, "Do not answer /slots");
  command->add_flag("--no-webui,--no-ui", options->no_page, "No page at /");
  CLI::Option* certificate =
      command
          ->add_option("--ssl-cert-file", options->certificate,
                       "Answer by HTTPS: the certificate, then those that sign it (PEM)")
          ->type_name("FILE");
  CLI::Option* key = command
                         ->add_option("--ssl-key-file", options->certificate_key,
                                      "The certificate's private key (PEM, no password)")
                         ->type_name("FILE")
                         ->needs(certificate);
  certificate->needs(key);

  command->add_option("--path", options->server.folder, "Serve files of this folder, not the page")
      ->type_name("FOLDER");
}

/// Flags for serving several models.
void AddModelsFlags(CLI::App* command, ServeOptions* options) {
  command
      ->add_option("--models-dir", options->models_dir,
                   "Serve all models below this folder, each when a request names it")
      ->type_name("FOLDER");
  command
      ->add_option("--models-max", options->models_max,
                   "Models of --models-dir that are loaded at the same time")
      ->check(WholeNumber(1, 4096))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--models-mib", options->models_mib,
                   "Memory for all of them: files and --cache-mib each; 0: any")
      ->check(WholeNumber(0))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--no-models-autoload", options->no_models_autoload,
                    "Only POST /models/load loads a model");
}

/// Flags that say who may call.
void AddAccessFlags(CLI::App* command, ServeOptions* options) {
  command
      ->add_option("--api-key", options->server.api_keys,
                   "A key that clients must send; may be repeated")
      ->type_name("KEY");
  command
      ->add_option("--api-key-file", options->key_file,
                   "A file of keys, one a line; a line that begins with # is a comment")
      ->type_name("FILE");
  command
      ->add_option("--cors-origin", options->server.cors_origins,
                   "Pages of this origin may call; localhost: of this machine; *: of all. May be "
                   "repeated")
      ->type_name("ORIGIN");
  command
      ->add_option("--host-name", options->server.host_names,
                   "Another name by which clients call a server at a loopback address; may be "
                   "repeated")
      ->type_name("NAME");
}

}  // namespace

void AddServe(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("serve", "Answer OpenAI's, Ollama's and Anthropic's requests over HTTP");
  command->footer(kServeExample);
  const auto options = std::make_shared<ServeOptions>();
  options->command = command;
  AddModelOptions(*command, &options->model, /*takes_argument=*/true);
  AddServerFlags(command, options.get());
  AddModelsFlags(command, options.get());
  AddAccessFlags(command, options.get());
  AddComputeOptions(*command, &options->model);
  AddThreadsOption(*command, &options->num_threads);
  AddContextOptions(*command, &options->context);
  AddSamplingOptions(*command, &options->generate);
  command->callback([options, exit_code] { *exit_code = ServeCommand(*options); });
}

}  // namespace bittern::cli
