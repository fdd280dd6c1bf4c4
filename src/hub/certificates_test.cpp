// SPDX-License-Identifier: Apache-2.0
// The order of the places, and that the words of a failure name all of them.
#include "hub/certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace bittern::hub {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDebian = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kFedora = "/etc/pki/tls/certs/ca-bundle.crt";
constexpr const char* kSuse = "/etc/ssl/ca-bundle.pem";
constexpr const char* kMacos = "/etc/ssl/cert.pem";

std::string Found(const std::set<std::string>& files,
                  const std::map<std::string, std::string>& variables = {}) {
  return FindCertificates(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      [&](const std::string& path) { return files.contains(path); });
}

TEST(Certificates, OfEachDistribution) {
  for (const char* place : {kDebian, kFedora, kSuse, kMacos}) EXPECT_EQ(Found({place}), place);
  EXPECT_EQ(Found({kDebian, kFedora, kSuse, kMacos}), kDebian);
  EXPECT_EQ(Found({kSuse, kMacos}), kSuse);
  EXPECT_EQ(Found({"/p/etc/tls/cert.pem"}, {{"PREFIX", "/p"}}), "/p/etc/tls/cert.pem");
  EXPECT_EQ(Found({"/etc/tls/cert.pem"}), "");  // not without the variable
}

TEST(Certificates, TheVariableGoesFirst) {
  EXPECT_EQ(Found({"/mine.pem", kDebian}, {{"SSL_CERT_FILE", "/mine.pem"}}), "/mine.pem");
  EXPECT_EQ(Found({kDebian}, {{"SSL_CERT_FILE", ""}}), kDebian);
  EXPECT_EQ(Found({}, {{"SSL_CERT_FILE", "/mine.pem"}}), "");
  EXPECT_EQ(FindCertificates({}, [](const std::string& path) { return path == kMacos; }), kMacos);
}

TEST(Certificates, AdviceNamesWhatWasLookedFor) {
  for (const char* place : {"$SSL_CERT_FILE,", kDebian, kFedora, kSuse, kMacos,
                            "$PREFIX/etc/tls/cert.pem", "SSL_CERT_FILE=FILE"}) {
    EXPECT_THAT(CertificateAdvice("", true), HasSubstr(place));
  }
  EXPECT_THAT(CertificateAdvice("/mine.pem", true), HasSubstr("/mine.pem"));
  EXPECT_THAT(CertificateAdvice("", false), HasSubstr("the system's; SSL_CERT_FILE=FILE"));
}

}  // namespace
}  // namespace bittern::hub
