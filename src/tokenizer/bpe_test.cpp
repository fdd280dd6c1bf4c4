// SPDX-License-Identifier: Apache-2.0
// The merger against an obviously right quadratic twin, and its time on one huge piece.
#include "tokenizer/bpe.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tokenizer/test_vocabulary.hpp"

namespace bittern::tokenizer {
namespace {

/// The tables of a TestVocabulary.
struct Tables {
  Vocabulary vocabulary;
  MergeTable merges;

  static Tables Of(const TestVocabulary& source) {
    Decisions decisions;
    const std::vector<std::string_view> tokens(source.tokens.begin(), source.tokens.end());
    const std::vector<std::string_view> merges(source.merges.begin(), source.merges.end());
    Vocabulary vocabulary =
        Vocabulary::Build(tokens, source.types, Spelling::kByteAlphabet, &decisions).value();
    MergeTable table = MergeTable::Build(merges, vocabulary, &decisions).value();
    return {std::move(vocabulary), std::move(table)};
  }
};

/// Byte-pair encoding as it is defined: scan for the lowest rank, the leftmost of equals, merge.
std::vector<TokenId> QuadraticTwin(const Tables& tables, std::string_view piece) {
  std::vector<TokenId> ids;
  for (const char c : piece) {
    ids.push_back(tables.vocabulary.byte_tokens()[static_cast<unsigned char>(c)]);
  }
  while (true) {
    Merge best;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge merge = tables.merges.Find(ids[i], ids[i + 1]);
      if (merge.rank < best.rank) {
        best = merge;
        where = i;
      }
    }
    if (best.rank == Merge::kNever) return ids;
    ids[where] = best.merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(where) + 1);
  }
}

std::vector<TokenId> Merged(const Tables& tables, std::string_view piece) {
  std::vector<TokenId> ids;
  EncodeLoss loss;
  BpeMerger(tables.vocabulary, tables.merges, {}, &loss).Append(piece, &ids);
  return ids;
}

std::string RandomPiece(std::mt19937& random, std::string_view alphabet, std::size_t max_size) {
  std::string piece(random() % (max_size + 1), ' ');
  for (char& c : piece) c = alphabet[random() % alphabet.size()];
  return piece;
}

TEST(Bpe, SmallCases) {
  const TestVocabulary source = SmallVocabulary();
  const Tables tables = Tables::Of(source);
  const auto find = [&](std::string_view bytes) { return tables.vocabulary.FindText(bytes); };
  EXPECT_TRUE(Merged(tables, "").empty());
  EXPECT_EQ(Merged(tables, "abc"), std::vector<TokenId>{find("abc")});
  // "a b" ranks before "b c" and "a a": the tie is decided by rank, not by place.
  EXPECT_EQ(Merged(tables, "aab"), (std::vector<TokenId>{find("a"), find("ab")}));
  // Equal ranks, leftmost first: aa aa a, then "aa a". From the right it would be a aaaa.
  EXPECT_EQ(Merged(tables, "aaaaa"), (std::vector<TokenId>{find("aa"), find("aaa")}));
}

TEST(Bpe, EqualsTheQuadraticTwinOnASmallVocabulary) {
  const TestVocabulary source = SmallVocabulary();
  const Tables tables = Tables::Of(source);
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::string piece = RandomPiece(random, "aabbc hel\xc3\xa9", 24);
    ASSERT_EQ(Merged(tables, piece), QuadraticTwin(tables, piece)) << piece;
  }
}

/// Random merges of random tokens: ranks are in no order of length, so merging often makes
/// pairs of lower rank than those in the queue, and voids others.
TEST(Bpe, EqualsTheQuadraticTwinOnRandomVocabularies) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    TestVocabulary source = SmallVocabulary();
    source.merges.clear();
    std::vector<std::string> parts = {"a", "b", "c"};
    for (int i = 0; i < 40; ++i) {
      const std::string left = parts[random() % parts.size()];
      const std::string right = parts[random() % parts.size()];
      if (left.size() + right.size() > 8) continue;
      source.AddMerge(left, right);
      parts.push_back(left + right);
    }
    std::shuffle(source.merges.begin(), source.merges.end(), random);
    const Tables tables = Tables::Of(source);
    for (int i = 0; i < 100; ++i) {
      const std::string piece = RandomPiece(random, "abc", 60);
      ASSERT_EQ(Merged(tables, piece), QuadraticTwin(tables, piece)) << piece;
    }
  }
}

TEST(Bpe, EqualsTheQuadraticTwinOnLlama3) {
  const auto source = Llama3Vocabulary();
  if (!source) GTEST_SKIP() << "no data/llama3-tokenizer.model in " << SharedFolder();
  const Tables tables = Tables::Of(*source);
  std::mt19937 random(3);
  const std::string all_bytes = [] {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
    return bytes;
  }();
  for (const std::string_view alphabet :
       {std::string_view("etaoinshrdlu "), std::string_view("= \n\t-*/#"), std::string_view("ab"),
        std::string_view("\xe3\x81\x82\x84\xd0\xb0\xbe"), std::string_view(all_bytes)}) {
    for (int i = 0; i < 10'000; ++i) {
      const std::string piece = RandomPiece(random, alphabet, 40);
      ASSERT_EQ(Merged(tables, piece), QuadraticTwin(tables, piece));
    }
  }
}

/// Quadratic work on a megabyte would take minutes; the bound leaves room for sanitizers.
TEST(Bpe, AMegabyteOfOneLetterIsNotQuadratic) {
  const auto llama3 = Llama3Vocabulary();
  const TestVocabulary source = llama3 ? *llama3 : SmallVocabulary();
  const Tables tables = Tables::Of(source);
  const auto start = std::chrono::steady_clock::now();
  const auto ids = Merged(tables, std::string(1 << 20, 'a'));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(ids.size(), std::size_t{1} << 19);
  EXPECT_LT(elapsed.count(), 10.0);
  RecordProperty("milliseconds", static_cast<int>(elapsed.count() * 1000));
}

}  // namespace
}  // namespace bittern::tokenizer
