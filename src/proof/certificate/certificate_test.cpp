// SPDX-License-Identifier: Apache-2.0
// Certificates as texts: lines and files from other machines are hostile until they are read.
#include "proof/certificate/certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/trace.hpp"
#include "proof/certificate/expectation.hpp"

namespace bittern::proof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Digits(char digit) { return std::string(32, digit); }

Certificate SomeLine() {
  Certificate c;
  c.model = Digits('1');
  c.code = Digits('2');
  c.logits = Digits('a');
  c.tokens = Digits('b');
  c.version = "0.1.0";
  return c;
}

Certificate SomeFull() {
  Certificate c = SomeLine();
  c.num_layers = 2;
  c.tensors = {{"config", Digits('3')}, {"blk.0.attn_q", Digits('4')}};
  PromptCertificate prompt;
  prompt.text = "caf\xc3\xa9 \"x\"\n";
  prompt.prompt_ids = {1, 2, 3};
  prompt.ids = {7, 8};
  prompt.fed = {7};
  prompt.positions = {"0000000000000000", "1111111111111111"};
  prompt.prefill.assign(NumOperations(2), Digits('5'));
  prompt.decode.assign(NumOperations(2), Digits('6'));
  c.prompts = {prompt, prompt};
  return c;
}

std::string Message(std::string_view text) {
  const auto parsed = ParseCertificates(text);
  EXPECT_FALSE(parsed.has_value());
  return parsed.has_value() ? "" : parsed.error().message;
}

TEST(CertificateLine, IsOneLineAndComesBack) {
  const std::string line = CertificateLine(SomeLine());
  EXPECT_EQ(line, "bittern-certificate v1 model=" + Digits('1') + " code=" + Digits('2') +
                      " logits=" + Digits('a') + " tokens=" + Digits('b') + " version=0.1.0");
  const auto parsed = ParseCertificateLine("  " + line + " \r");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(CertificateLine(*parsed), line);
}

TEST(CertificateLine, RefusesWhatIsNone) {
  const std::string line = CertificateLine(SomeLine());
  const auto message = [](const std::string& text) {
    return ParseCertificateLine(text).error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("bittern-certificate v1"));
  EXPECT_THAT(message("bittern-certificate v2" + line.substr(22)), HasSubstr("v2"));
  EXPECT_THAT(message(line.substr(0, 40)), HasSubstr("model: 32 hexadecimal digits"));
  EXPECT_THAT(message(line.substr(0, line.find(" tokens"))), HasSubstr("tokens=... expected"));
  EXPECT_THAT(message(line.substr(0, line.find(" version"))), HasSubstr("version=... expected"));
  EXPECT_THAT(message(line + " more"), HasSubstr("\"more\" found"));
  std::string upper = line;
  upper[line.find("aaaa")] = 'A';
  EXPECT_THAT(message(upper), HasSubstr("logits"));
}

TEST(CertificateFile, OfLinesSkipsCommentsAndNamesTheBadOne) {
  const std::string line = CertificateLine(SomeLine());
  const auto two = ParseCertificates("# golden\n\n" + line + "\r\n" + line);
  ASSERT_TRUE(two.has_value()) << two.error().message;
  EXPECT_THAT(*two, SizeIs(2));
  EXPECT_THAT(Message(line + "\n\nnonsense\n"), HasSubstr("line 3: "));
  EXPECT_THAT(Message("# only a comment\n"), HasSubstr("no certificate"));
  EXPECT_THAT(Message(""), HasSubstr("no certificate"));
}

TEST(CertificateFile, OfJsonComesBack) {
  const std::string json = CertificateJson(SomeFull());
  const auto parsed = ParseCertificates(json);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(CertificateJson(parsed->front()), json);
  EXPECT_THAT(CompareCertificates(SomeFull(), parsed->front()), IsEmpty());
}

TEST(CertificateFile, OfJsonIsCheckedEverywhere) {
  const std::string json = CertificateJson(SomeFull());
  for (std::size_t size = 1; size < json.size() - 1; size += 97) Message(json.substr(0, size));
  const auto without = [&](const std::string& key) {
    std::string text = json;
    text.replace(text.find('"' + key + '"'), key.size() + 2, "\"gone\"");
    return Message(text);
  };
  for (const std::string key : {"line", "num_layers", "model", "prompts", "text", "prompt_ids",
                                "ids", "fed", "positions", "prefill", "decode"}) {
    EXPECT_THAT(without(key), HasSubstr(key == "prefill" || key == "decode" ? "layers" : key));
  }
  EXPECT_THAT(without("attn_norm"), HasSubstr("attn_norm"));
  EXPECT_THAT(without("head"), HasSubstr("head"));
  std::string layers = json;
  layers.replace(layers.find("\"num_layers\": 2"), 15, "\"num_layers\": 3");
  EXPECT_THAT(Message(layers), HasSubstr("layers"));
  std::string id = json;
  id.replace(id.find("\"fed\": [\n    7"), 14, "\"fed\": [\n    -7");
  EXPECT_THAT(Message(id), HasSubstr("fed"));
}

TEST(CompareCertificates, NamesTheHashesOfALine) {
  Certificate other = SomeLine();
  other.logits = Digits('c');
  other.version = "9";
  EXPECT_THAT(CompareCertificates(SomeLine(), other),
              ElementsAre("logits: " + Digits('a') + " expected, " + Digits('c') + " found"));
  // A full one against a line has nothing more to tell.
  other = SomeFull();
  other.prompts[0].prefill[3] = Digits('0');
  EXPECT_THAT(CompareCertificates(SomeLine(), other), IsEmpty());
}

TEST(CompareCertificates, NamesTheEarliestOperationOverAllPrompts) {
  Certificate other = SomeFull();
  other.prompts[0].decode[20] = Digits('0');
  other.prompts[1].prefill[16] = Digits('0');
  other.prompts[1].positions[1] = "2222222222222222";
  EXPECT_THAT(CompareCertificates(SomeFull(), other),
              ElementsAre("first operation that differs: layer 1, rope (prompt 2, prefill; "
                          "logits differ from position 1 of 2 on)"));
  // After other tokens everything differs; that says nothing.
  other.prompts[1].prefill[16] = Digits('5');
  other.prompts[0].fed = {8};
  EXPECT_THAT(CompareCertificates(SomeFull(), other),
              ElementsAre("prompt 1: other tokens from number 1 on; no operation differs before "
                          "them"));
  other.prompts[1].prompt_ids[0] = 5;
  EXPECT_THAT(CompareCertificates(SomeFull(), other),
              ElementsAre("prompt 2: the tokenizer gives other ids"));
  other.num_layers = 3;
  EXPECT_THAT(CompareCertificates(SomeFull(), other)[0], HasSubstr("number of layers"));
}

TEST(CompareCertificates, NamesTheFirstTensor) {
  Certificate other = SomeFull();
  other.tensors[1].hash = Digits('0');
  EXPECT_THAT(CompareCertificates(SomeFull(), other),
              ElementsAre("the model's first part that differs: blk.0.attn_q"));
  other.tensors.push_back({"blk.0.attn_k", Digits('0')});
  EXPECT_THAT(CompareCertificates(SomeFull(), other),
              ElementsAre("the model's first part that differs: blk.0.attn_q (of 2)"));
}

TEST(OperationName, CountsAsTheNetworkComputes) {
  EXPECT_EQ(NumOperations(2), 29u);
  EXPECT_EQ(OperationName(0, 2), "embedding");
  EXPECT_EQ(OperationName(1, 2), "layer 0, attn_norm");
  EXPECT_EQ(OperationName(13, 2), "layer 0, ffn_residual");
  EXPECT_EQ(OperationName(14, 2), "layer 1, attn_norm");
  EXPECT_EQ(OperationName(27, 2), "final_norm");
  EXPECT_EQ(OperationName(28, 2), "head");
}

TEST(Expectation, IsToldInSentences) {
  Certificate found = SomeLine();
  const auto told = [&](const std::vector<Certificate>& expected) {
    return ExpectationSentences(CompareWithExpected(expected, found), found, expected.size(), "x");
  };
  EXPECT_THAT(told({SomeLine()}), ElementsAre("the same"));
  found.version = "0.2.0";
  EXPECT_THAT(told({SomeLine()}), ElementsAre("the same (expected by version 0.1.0)"));
  found.model = Digits('9');
  EXPECT_THAT(told({SomeLine(), SomeLine()}),
              ElementsAre("none of the 2 certificates in x belongs to this model"));
  EXPECT_THAT(told({SomeLine()}), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace bittern::proof
