#include "tasks/media/npy.hpp"
#include "test/support/test_files.hpp"
#include "test/tasks/npy_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

namespace rtexec::tasks {
namespace {

template <class T> std::string raw(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Returns a file of format `version` with this header text and data.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  if (version == 2) file += std::string(2, '\0');
  return file + header + data;
}

std::string dictionary(const std::string& type, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::vector<float> floats(const NpyTensor& tensor) {
  EXPECT_EQ(tensor.type, ElementType::float32);
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

Result<NpyTensor> parse(const std::string& file) { return parse_npy(std::as_bytes(std::span(file)), "x.npy"); }

std::string error(const std::string& file) {
  const auto result = parse(file);
  if (result) return "was accepted";
  EXPECT_EQ(result.error().code, Errc::bad_input);
  EXPECT_TRUE(result.error().what.starts_with("x.npy: ")) << result.error().what;
  return result.error().what;
}

TEST(Npy, RoundTripsFloats) {
  const test::ScratchFolder folder;
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {5}, {1, 2, 3}, {2, 0, 3}}) {
    std::vector<float> values;
    std::int64_t count = 1;
    for (const auto size : shape) count *= size;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) - 0.25f);
    ASSERT_TRUE(write_floats(folder / "t.npy", shape, values));
    const auto back = read_npy(folder / "t.npy");
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(back->shape, shape);
    EXPECT_EQ(floats(*back), values);
    // The format demands this.
    EXPECT_EQ((std::filesystem::file_size(folder / "t.npy") - values.size() * 4) % 64, 0u);
  }
}

TEST(Npy, RoundTripsEveryTypeInBothVersions) {
  const test::ScratchFolder folder;
  struct Case {
    ElementType type;
    std::string spelling, data;
  };
  for (const auto& [type, spelling, data] : {Case{ElementType::uint8, "|u1", raw<std::uint8_t>({0, 1, 255})},
                                             {ElementType::int32, "<i4", raw<std::int32_t>({0, -1, INT32_MIN})},
                                             {ElementType::int64, "<i8", raw<std::int64_t>({0, -1, INT64_MIN})},
                                             {ElementType::float16, "<f2", raw<std::uint16_t>({0, 0x3c00, 0xfc00})},
                                             {ElementType::float32, "<f4", raw<float>({0, 1, -0.5f})}}) {
    const auto bytes = std::as_bytes(std::span(data));
    ASSERT_TRUE(write_npy(folder / "t.npy", std::vector<std::int64_t>{3}, type, bytes));
    for (const auto& read : {read_npy(folder / "t.npy"), parse(npy(dictionary(spelling, "(3,)"), data)),
                             parse(npy(dictionary(spelling, "(3,)"), data, '\2'))}) {
      ASSERT_TRUE(read) << read.error().what;
      EXPECT_EQ(read->type, type);
      EXPECT_EQ(read->shape, std::vector<std::int64_t>{3});
      EXPECT_TRUE(std::ranges::equal(read->bytes, bytes)) << spelling;
    }
  }
}

TEST(Npy, ReadsDoublesAsFloats) {
  for (const char version : {'\1', '\2'})
    EXPECT_EQ(floats(*parse(npy(dictionary("<f8", "(3,)"), raw<double>({0, 0.1, 255}), version))),
              (std::vector<float>{0, 0.1f, 255}));
}

TEST(Npy, RejectsUnsupportedFiles) {
  const std::string data = raw<float>({1, 2, 3});
  EXPECT_EQ(error(""), "x.npy: is not a .npy file");
  EXPECT_EQ(error("\x89PNG and so on"), "x.npy: is not a .npy file");
  EXPECT_NE(error(npy(dictionary("<f4", "(3,)"), data, 3)).find("format version 3"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("|O", "(3,)"), data)).find("pickled Python objects"), std::string::npos);
  EXPECT_NE(error(npy(dictionary(">f4", "(3,)"), data)).find("type '>f4'"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("<c8", "(3,)"), data)).find("type '<c8'"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("\x1b[2J", "(3,)"), data)).find("type '\\u001B[2J'"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("<f4", "(3,)", "True"), data)).find("Fortran order"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("<f4", "(4,)"), data)).find("does not match its shape"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("<f4", "(2,)"), data)).find("does not match its shape"), std::string::npos);
  EXPECT_NE(error(npy(dictionary("<f4", "(4611686018427387904, 4)"), data)).find("does not match its shape"),
            std::string::npos);
  EXPECT_NE(error(npy(dictionary("<f4", "(4611686018427387907,)"), data)).find("does not match its shape"),
            std::string::npos);
  for (const std::string shape :
       {"(-3,)", "(3", "(99999999999999999999,)", "(1,1,1,1,1,1,1,1,3)", "3", "('a',)", "(1 3)"})
    EXPECT_NE(error(npy(dictionary("<f4", shape), data)).find("must have a header of a plain tensor"),
              std::string::npos)
        << shape;
  EXPECT_NE(error(npy(dictionary("[('a', '<f4')]", "(3,)"), data)).find("must have a header of a plain tensor"),
            std::string::npos);
  EXPECT_NE(error(npy("{'descr': '<f4', 'shape': (3,), }\n", data)).find("must have a header of a plain tensor"),
            std::string::npos);
  EXPECT_NE(
      error(npy(dictionary("<f4", "(3,)") + "__import__('os')\n", data)).find("must have a header of a plain tensor"),
      std::string::npos);
}

TEST(Npy, SurvivesTruncatedAndDamagedFiles) {
  const std::string whole = npy(dictionary("<f4", "(3,)"), raw<float>({1, 2, 3}));
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(parse(whole.substr(0, length))) << length;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutant = whole;
    for (int k = 0; k < 3; ++k) mutant[random() % mutant.size()] = static_cast<char>(random());
    const auto result = parse(mutant);
    if (result) { EXPECT_LE(result->bytes.size(), mutant.size()); }
  }
}

TEST(Npy, ErrorsNameFile) {
  const test::ScratchFolder folder;
  EXPECT_NE(read_npy(folder / "none.npy").error().what.find("none.npy: error: cannot read it: No such file"),
            std::string::npos);
  EXPECT_NE(read_npy(folder.path()).error().what.find("Is a directory"), std::string::npos);
  const std::vector<float> value{1};
  const std::vector<std::int64_t> shape{1};
  EXPECT_NE(write_floats(folder / "no/where.npy", shape, value).error().what.find("where.npy: error: cannot write it"),
            std::string::npos);
}

} // namespace
} // namespace rtexec::tasks
