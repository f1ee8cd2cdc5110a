//===- FileTest.cpp - weight files, digests -------------------------------===//

#include "TestProgram.h"
#include "remat/runtime/Safetensors.h"
#include "remat/runtime/Sha256.h"
#include <cstring>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace remat::runtime;
using namespace remat::runtime::test;

namespace {

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

/// A file with this header and that many bytes of data.
std::vector<uint8_t> makeFile(const std::string &Header, uint64_t DataBytes) {
  std::vector<uint8_t> Bytes(8);
  uint64_t Size = Header.size();
  std::memcpy(Bytes.data(), &Size, 8);
  Bytes.insert(Bytes.end(), Header.begin(), Header.end());
  Bytes.resize(Bytes.size() + DataBytes);
  return Bytes;
}

TensorFile makeTensors() {
  TensorFile F;
  F.Tensors = {{"w", {DType::F32, {2, 3}, std::vector<uint8_t>(24, 1)}},
               {"\"quoted\"\n", {DType::BF16, {}, {2, 3}}},
               {"empty", {DType::I64, {0, 5}, {}}},
               {"mask", {DType::I1, {3}, {1, 0, 1}}}};
  F.Metadata = {{"format", "pt"}};
  return F;
}

TEST(Safetensors, RoundTrip) {
  TensorFile F = makeTensors();
  auto Bytes = formatSafetensors(F);
  ASSERT_TRUE(Bytes) << messageOf(Bytes);
  uint64_t Header = 0;
  std::memcpy(&Header, Bytes->data(), 8);
  EXPECT_EQ(Header % 8, 0u);
  auto Back = parseSafetensors(*Bytes);
  ASSERT_TRUE(Back) << messageOf(Back);
  EXPECT_EQ(Back->Metadata, F.Metadata);
  ASSERT_EQ(Back->Tensors.size(), F.Tensors.size());
  for (auto &[Name, T] : F.Tensors) {
    const StoredTensor *B = Back->find(Name);
    ASSERT_TRUE(B) << Name;
    EXPECT_EQ(B->Type, T.Type);
    EXPECT_EQ(B->Shape, T.Shape);
    EXPECT_EQ(B->Data, T.Data);
  }
  EXPECT_EQ(Back->find("nobody"), nullptr);
}

TEST(Safetensors, Files) {
  auto Path = std::filesystem::temp_directory_path() /
              ("remat-test-" + std::to_string(getpid()) + ".safetensors");
  ASSERT_EQ(messageOf(writeSafetensors(Path, makeTensors())), "");
  auto Back = readSafetensors(Path);
  EXPECT_TRUE(Back) << messageOf(Back);
  std::filesystem::remove(Path);
  EXPECT_EQ(readSafetensors(Path).getError().getCode(), ErrorCode::IO);
  EXPECT_FALSE(readSafetensors("/"));
  EXPECT_FALSE(writeSafetensors("/nowhere/at/all", makeTensors()));
}

TEST(Safetensors, RefusesToWrite) {
  TensorFile F;
  F.Tensors = {{"w", {DType::F32, {2}, std::vector<uint8_t>(7)}}};
  EXPECT_FALSE(formatSafetensors(F));
  F.Tensors = {{"w", {DType::F32, {}, std::vector<uint8_t>(4)}},
               {"w", {DType::F32, {}, std::vector<uint8_t>(4)}}};
  EXPECT_FALSE(formatSafetensors(F));
  F.Tensors = {{"\xff", {DType::F32, {}, std::vector<uint8_t>(4)}}};
  EXPECT_FALSE(formatSafetensors(F));
  F.Tensors = {{"w", {DType::F32, {INT64_MAX, 4}, {}}}};
  EXPECT_FALSE(formatSafetensors(F));
}

TEST(Safetensors, Malformed) {
  std::string W = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  EXPECT_TRUE(parseSafetensors(makeFile("{\"w\":{" + W + "}}  ", 8)));
  EXPECT_TRUE(parseSafetensors(makeFile("{}", 0)));
  const std::pair<std::string, uint64_t> Bad[] = {
      {"", 0},
      {"{", 0},
      {"[]", 0},
      {"null", 0},
      {"{\"w\":{" + W + "}}", 7},
      {"{\"w\":{" + W + "}}", 9},
      {"{\"w\":{" + W + "},\"w\":{" + W + "}}", 8},
      {"{\"w\":{" + W + "},\"v\":{" + W + "}}", 8},
      {"{\"w\":{" + W + ",\"more\":1}}", 8},
      {"{\"w\":{" + W + ",\"dtype\":\"F32\"}}", 8},
      {"{\"w\":{" + W + ",\"shape\":[2]}}", 8},
      {"{\"w\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8},
      {"{\"w\":[1,2]}", 0},
      {"{\"w\":1}", 0},
      {"{\"w\":\"x\"}", 0},
      {"{\"__metadata__\":{\"a\":1}}", 0},
      {"{\"__metadata__\":{\"a\":{}}}", 0},
      {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0},
      {R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", 16},
      {R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
       0},
      {R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})",
       0},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551616]}})",
       8},
      {"{\"\xff\":{" + W + "}}", 8},
      {"{\"w\":{" + W + "}} trailing", 8},
  };
  for (auto &[Header, Data] : Bad) {
    auto R = parseSafetensors(makeFile(Header, Data));
    ASSERT_FALSE(R) << Header;
    EXPECT_EQ(R.getError().getCode(), ErrorCode::InvalidFile);
  }
}

TEST(Safetensors, DeepAndHugeHeaders) {
  for (const char *Unit : {"[", "{\"a\":", "{\"w\":{\"shape\":["}) {
    std::string Deep;
    for (int I = 0; I < 200000; ++I)
      Deep += Unit;
    EXPECT_FALSE(parseSafetensors(makeFile(Deep, 0)));
  }
  std::string Dims = R"({"w":{"dtype":"F32","shape":[1)";
  for (int I = 0; I < 100000; ++I)
    Dims += ",1";
  EXPECT_FALSE(
      parseSafetensors(makeFile(Dims + "],\"data_offsets\":[0,4]}}", 4)));
  std::vector<uint8_t> Bytes(16, 0xff);
  EXPECT_FALSE(parseSafetensors(Bytes));
  EXPECT_FALSE(parseSafetensors(std::span(Bytes).first(7)));
  EXPECT_FALSE(parseSafetensors({}));
}

TEST(Safetensors, MutationsNeverCrash) {
  std::vector<uint8_t> Valid = *formatSafetensors(makeTensors());
  std::mt19937 Generator(11);
  unsigned Refused = 0;
  for (int Round = 0; Round < 3000; ++Round) {
    std::vector<uint8_t> Bytes = Valid;
    for (unsigned I = 0, N = 1 + Generator() % 4; I < N; ++I)
      Bytes[Generator() % Bytes.size()] = static_cast<uint8_t>(Generator());
    if (Generator() % 4 == 0)
      Bytes.resize(Generator() % Bytes.size());
    Refused += !parseSafetensors(Bytes);
  }
  EXPECT_GT(Refused, 1500u);
}

//===----------------------------------------------------------------------===//
// Digests
//===----------------------------------------------------------------------===//

TEST(Sha256, KnownAnswers) {
  Sha256 Empty;
  EXPECT_EQ(Empty.finish(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 Pieces;
  Pieces.update("a", 1);
  Pieces.update("bc", 2);
  EXPECT_EQ(Pieces.finish(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(computeSha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

} // namespace
