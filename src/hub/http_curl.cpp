// SPDX-License-Identifier: Apache-2.0
// libcurl's multi interface. HTTP/1.1, so that each exchange has a connection of its own. Proxies
// come from the environment by libcurl's rules. The library is loaded when the first download
// begins: it brings some thirty others, which would cost every start of the program 10 ms, and a
// copied program has to run where it is missing. BITTERN_HUB_LINKED: it is linked in, alone.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <fmt/format.h>
#if !defined(BITTERN_HUB_LINKED)
#include <dlfcn.h>
#endif
#undef curl_easy_setopt
#undef curl_easy_getinfo

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/text/display.hpp"
#include "hub/certificates.hpp"
#include "hub/http.hpp"

namespace bittern::hub {
namespace {

constexpr std::size_t kMostHeadBytes = std::size_t{256} << 10;

// clang-format off
#define BITTERN_CURL_FUNCTIONS(X)                                                          \
  X(global_init) X(version_info) X(easy_init) X(easy_cleanup) X(easy_setopt)               \
  X(easy_getinfo) X(easy_strerror) X(slist_append) X(slist_free_all) X(url) X(url_cleanup) \
  X(url_set) X(url_get) X(free) X(multi_init) X(multi_cleanup) X(multi_add_handle)         \
  X(multi_remove_handle) X(multi_perform) X(multi_poll) X(multi_info_read) X(multi_strerror)
// clang-format on

#if defined(BITTERN_HUB_FINDS_CERTIFICATES)
constexpr bool kFindsCertificates = true;
#else
constexpr bool kFindsCertificates = false;  // the library, or the system, knows them
#endif

/// Functions of libcurl, under their names without the prefix.
struct Library {
#define BITTERN_CURL_MEMBER(name) decltype(&::curl_##name) name = nullptr;
  BITTERN_CURL_FUNCTIONS(BITTERN_CURL_MEMBER)
#undef BITTERN_CURL_MEMBER
};

#if defined(BITTERN_HUB_LINKED)
Result<Library> LoadLibrary() {
  Library library;
#define BITTERN_CURL_TAKE(name) library.name = &::curl_##name;
  BITTERN_CURL_FUNCTIONS(BITTERN_CURL_TAKE)
#undef BITTERN_CURL_TAKE
  if (library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return library;
  return Fail(ErrorCode::kInternal, "libcurl could not be started");
}
#else
constexpr unsigned kOldestVersion = 0x074200;  // 7.66.0: curl_multi_poll

Result<Library> LoadLibrary() {
  void* handle = nullptr;
  for (const char* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "a download needs the library libcurl.so.4, which is not on this machine; install "
                "it (Debian: libcurl4), or fetch the file yourself and name it with model=FILE");
  }
  Library library;
  bool whole = true;
#define BITTERN_CURL_LOAD(name)                                                          \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "curl_" #name)); \
  whole = whole && library.name != nullptr;
  BITTERN_CURL_FUNCTIONS(BITTERN_CURL_LOAD)
#undef BITTERN_CURL_LOAD
  if (whole && library.version_info(CURLVERSION_NOW)->version_num >= kOldestVersion &&
      library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
    return library;
  }
  return Fail(ErrorCode::kUnsupported,
              "a download needs libcurl 7.66 or later; an older one is on this machine");
}
#endif

/// Loaded once; any thread.
const Result<Library>& LoadedLibrary() {
  static const Result<Library> library = LoadLibrary();
  return library;
}

/// REQUIRES: LoadedLibrary() is one.
const Library& Curl() { return *LoadedLibrary(); }

struct FreeEasy {
  void operator()(CURL* easy) const noexcept { Curl().easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const noexcept { Curl().slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const noexcept { Curl().url_cleanup(url); }
};
struct FreeText {
  void operator()(char* text) const noexcept { Curl().free(text); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

struct Exchange {
  std::unique_ptr<CURL, FreeEasy> easy;
  std::unique_ptr<curl_slist, FreeList> fields;
  HttpReceiver* receiver = nullptr;
  HttpHead head;
  std::size_t head_bytes = 0;
  bool head_done = false, stopped = false;
  char trouble[CURL_ERROR_SIZE] = {};
};

std::string_view Trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void AddField(std::string_view line, HttpHead* head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  head->fields.insert_or_assign(std::move(name), std::string(Trimmed(line.substr(colon + 1))));
}

/// A line of the head; of several heads (100 Continue comes first) the last one counts.
std::size_t OnHeadLine(char* data, std::size_t size, std::size_t count, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  const std::string_view line(data, size * count);
  if (exchange->head_done) return line.size();  // fields after a chunked body
  exchange->head_bytes += line.size();
  if (exchange->head_bytes > kMostHeadBytes) return 0;
  if (line.starts_with("HTTP/")) {
    exchange->head = {};
  } else if (!Trimmed(line).empty()) {
    AddField(line, &exchange->head);
  } else {
    long status = 0;
    Curl().easy_getinfo(exchange->easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) return line.size();
    exchange->head.status = static_cast<int>(status);
    exchange->head_done = true;
    exchange->stopped = !exchange->receiver->OnHead(exchange->head);
    if (exchange->stopped) return 0;
  }
  return line.size();
}

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto* exchange = static_cast<Exchange*>(user);
  const std::span<const char> bytes(data, size * count);
  exchange->stopped = !exchange->head_done || !exchange->receiver->OnBytes(std::as_bytes(bytes));
  return exchange->stopped ? 0 : bytes.size();
}

/// False for what another try cannot change: the address, the certificate.
bool IsWorthRetrying(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_WEIRD_SERVER_REPLY:
      return false;
    default:
      return true;
  }
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(CURLM* multi, std::chrono::seconds stall, std::string ca_file)
      : multi_(multi), stall_(stall), ca_file_(std::move(ca_file)) {}
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient() override {
    for (const auto& exchange : exchanges_) {
      Curl().multi_remove_handle(multi_, exchange->easy.get());
    }
    exchanges_.clear();
    Curl().multi_cleanup(multi_);
  }

  Result<void> Start(const HttpRequest& request, HttpReceiver* receiver) override {
    auto exchange = std::make_unique<Exchange>();
    exchange->easy.reset(Curl().easy_init());
    exchange->receiver = receiver;
    if (!exchange->easy || !SetUp(request, exchange.get()) ||
        Curl().multi_add_handle(multi_, exchange->easy.get()) != CURLM_OK) {
      return Fail(ErrorCode::kInternal, "libcurl: a request could not be made");
    }
    exchanges_.push_back(std::move(exchange));
    return {};
  }

  // The receiver hears nothing more; libcurl closes the connection, which still has bytes under
  // way.
  void Cancel(HttpReceiver* receiver) override {
    const auto is_his = [&](const auto& exchange) { return exchange->receiver == receiver; };
    const auto found = std::ranges::find_if(exchanges_, is_his);
    if (found == exchanges_.end()) return;
    Curl().multi_remove_handle(multi_, (*found)->easy.get());
    exchanges_.erase(found);
  }

  // Moves all transfers on, tells the receivers whose transfer has ended, and sleeps only where
  // none has.
  Result<void> Wait(std::chrono::milliseconds time) override {
    int running = 0;
    CURLMcode code = Curl().multi_perform(multi_, &running);
    if (code == CURLM_OK && !Deliver()) {
      code = Curl().multi_poll(multi_, nullptr, 0, static_cast<int>(time.count()), nullptr);
    }
    if (code == CURLM_OK) return {};
    return Fail(ErrorCode::kInternal, fmt::format("libcurl: {}", Curl().multi_strerror(code)));
  }

 private:
  // HTTP and HTTPS alone, no name in an address, and a limit on every kind of waiting: to connect,
  // for the next byte, in all. Redirects are the caller's: a token must not follow them to another
  // host.
  bool SetUp(const HttpRequest& request, Exchange* exchange) const {
    CURL* easy = exchange->easy.get();
    if (!request.token.empty()) {
      const std::string field = "Authorization: Bearer " + request.token;
      exchange->fields.reset(Curl().slist_append(nullptr, field.c_str()));
      if (!exchange->fields) return false;
      Curl().easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->fields.get());
    }
    if (request.with_range) {
      const std::string range = fmt::format("{}-{}", request.first, request.last);
      Curl().easy_setopt(easy, CURLOPT_RANGE, range.c_str());
    }
    Curl().easy_setopt(easy, CURLOPT_NOBODY, request.head_only ? 1L : 0L);
    // Not CURLOPT_NOSIGNAL: OpenSSL writes to closed sockets, and libcurl holds SIGPIPE off then.
    if (!ca_file_.empty()) Curl().easy_setopt(easy, CURLOPT_CAINFO, ca_file_.c_str());
    // CURLOPT_PROTOCOLS by its number: libcurl 7.85 and later call it obsolete, and earlier ones
    // have no other.
    constexpr auto kProtocols = static_cast<CURLoption>(CURLOPTTYPE_LONG + 181);
    Curl().easy_setopt(easy, kProtocols, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
    Curl().easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    Curl().easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    Curl().easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    Curl().easy_setopt(easy, CURLOPT_USERAGENT, "bittern/" BITTERN_VERSION);
    Curl().easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
    Curl().easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(stall_.count()));
    Curl().easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    Curl().easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall_.count()));
    Curl().easy_setopt(easy, CURLOPT_TIMEOUT, static_cast<long>(request.most.count()));
    Curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->trouble);
    Curl().easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeadLine);
    Curl().easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    Curl().easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
    Curl().easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    Curl().easy_setopt(easy, CURLOPT_PRIVATE, exchange);
    return Curl().easy_setopt(easy, CURLOPT_URL, request.url.c_str()) == CURLE_OK;
  }

  /// Tells the receivers of exchanges that are over; true if there were any.
  bool Deliver() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = Curl().multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode code = message->data.result;
      const auto is_it = [&](const auto& e) { return e->easy.get() == message->easy_handle; };
      const auto found = std::ranges::find_if(exchanges_, is_it);
      if (found == exchanges_.end()) continue;
      const std::unique_ptr<Exchange> exchange = std::move(*found);
      exchanges_.erase(found);
      Curl().multi_remove_handle(multi_, exchange->easy.get());
      HttpEnd end{.complete = code == CURLE_OK && exchange->head_done,
                  .worth_retrying = !exchange->stopped && IsWorthRetrying(code),
                  .no_address = code == CURLE_COULDNT_RESOLVE_HOST};
      if (!end.complete) {
        const char* text = exchange->trouble[0] != '\0' ? exchange->trouble
                           : code == CURLE_OK           ? "the answer has no whole head"
                                                        : Curl().easy_strerror(code);
        end.trouble = Printable(text, 200);
        if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
          end.trouble += "; " + CertificateAdvice(ca_file_, kFindsCertificates);
        }
      }
      exchange->receiver->OnEnd(end);
    }
    return any;
  }

  CURLM* multi_;
  std::chrono::seconds stall_;
  std::string ca_file_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
};

/// A part of an address; empty where it is missing.
std::string PartOf(CURLU* url, CURLUPart part, unsigned flags) {
  char* text = nullptr;
  if (Curl().url_get(url, part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreeText> owned(text);
  return text;
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::Create(std::chrono::seconds stall,
                                                       const std::string& ca_file) {
  if (!LoadedLibrary()) return tl::unexpected(LoadedLibrary().error());
  CURLM* multi = Curl().multi_init();
  if (multi == nullptr) return Fail(ErrorCode::kInternal, "libcurl could not be started");
  return std::make_unique<CurlClient>(multi, stall, ca_file);
}

Result<std::string> ResolveUrl(const std::string& base, const std::string& location) {
  if (!LoadedLibrary()) return tl::unexpected(LoadedLibrary().error());
  const Url url(Curl().url());
  const bool good = url && Curl().url_set(url.get(), CURLUPART_URL, base.c_str(), 0) == CURLUE_OK &&
                    Curl().url_set(url.get(), CURLUPART_URL, location.c_str(), 0) == CURLUE_OK;
  const std::string scheme = good ? PartOf(url.get(), CURLUPART_SCHEME, 0) : "";
  const bool has_user = good && !PartOf(url.get(), CURLUPART_USER, 0).empty();
  if ((scheme == "http" || scheme == "https") && !has_user) {
    return PartOf(url.get(), CURLUPART_URL, 0);
  }
  return Fail(
      ErrorCode::kCorruptFile,
      fmt::format("an http or https address expected in a redirect, {} found", Quoted(location)));
}

std::string OriginOf(const std::string& address) {
  if (!LoadedLibrary()) return {};
  const Url url(Curl().url());
  if (!url || Curl().url_set(url.get(), CURLUPART_URL, address.c_str(), 0) != CURLUE_OK) return {};
  std::string host = PartOf(url.get(), CURLUPART_HOST, 0);
  std::ranges::transform(host, host.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("{}://{}:{}", PartOf(url.get(), CURLUPART_SCHEME, 0), host,
                     PartOf(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

}  // namespace bittern::hub
