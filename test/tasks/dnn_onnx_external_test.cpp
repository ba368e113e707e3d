// Tests models with constants in other files, as PyTorch's default exporter writes them, and models that name files
// which must not be read.
#include "tasks/engine/dnn_workload.hpp"
#include "tasks/engine/onnx/external_data.hpp"
#include "tasks/engine/onnx/model_source.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/support/test_files.hpp"
#include "test/tasks/dnn_onnx_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <sys/stat.h>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string key(const std::string& name, const std::string& value) {
  return " external_data { key: \"" + name + "\" value: \"" + value + "\" }";
}

/// Returns a constant "w" of two floats in another file.
std::string constant(const std::string& keys) {
  return " name: \"w\" data_type: 1 dims: 2 data_location: EXTERNAL" + keys;
}

/// Returns a model of y = x + w.
std::string model_of(const std::string& w) {
  const auto bytes = onnx_bytes(onnx_value("input", "x", {"1", "2"}) + "initializer {" + w + " }" +
                                    onnx_node("Add", {"x", "w"}, {"y"}) + "output { name: \"y\" }",
                                20);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ExternalData : public testing::Test {
 protected:
  ExternalData() { test::write_text(folder_ / "net/net.onnx.data", "...." + bytes_of({3, -5, 7})); }

  Result<Graph> read(const std::string& w) {
    test::write_text(folder_ / "net/net.onnx", model_of(w));
    return read_onnx(folder_ / "net/net.onnx");
  }
  void expect_values(const std::string& keys, const std::vector<float>& expected) {
    const auto graph = read(constant(keys));
    ASSERT_TRUE(graph.has_value()) << graph.error().what;
    EXPECT_EQ(graph->tensors[graph->nodes[0].inputs[1]].values, expected);
  }
  void expect_refused(const std::string& keys, const std::vector<std::string>& words, Errc code = Errc::bad_input) {
    const auto graph = read(constant(keys));
    ASSERT_FALSE(graph.has_value()) << keys;
    EXPECT_EQ(graph.error().code, code) << graph.error().what;
    EXPECT_THAT(graph.error().what, HasSubstr("'w'"));
    for (const auto& word : words) EXPECT_THAT(graph.error().what, HasSubstr(word));
  }

  const std::string here = key("location", "net.onnx.data");
  test::ScratchFolder folder_;
};

TEST_F(ExternalData, IsReadFromGivenFileAndOffset) {
  expect_values(here + key("offset", "4") + key("length", "8"), {3, -5});
  expect_values(here + key("offset", "8") + key("length", "8"), {-5, 7});
  expect_values(here + key("offset", "8"), {-5, 7});
  test::write_text(folder_ / "net/deep/er/w", bytes_of({1, 2}));
  expect_values(key("location", "deep/er/w"), {1, 2});
  expect_values(key("location", "./deep/er/w") + key("checksum", "da39a3ee"), {1, 2});
}

TEST_F(ExternalData, IsReadFromCurrentFolder) {
  ASSERT_TRUE(read(constant(here + key("offset", "4") + key("length", "8"))).has_value());
  const auto before = fs::current_path();
  fs::current_path(folder_ / "net");
  const auto graph = read_onnx("net.onnx");
  fs::current_path(before);
  EXPECT_TRUE(graph.has_value()) << graph.error().what;
}

TEST_F(ExternalData, IsReadForIntegersInAttributes) {
  test::write_text(folder_ / "net/shape", std::string("\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16));
  const auto model = onnx_bytes(onnx_value("input", "x", {"1", "2"}) +
                                "node { op_type: \"Constant\" output: \"s\" attribute { name: \"value\" type: TENSOR t "
                                "{ data_type: 7 dims: 2 data_location: EXTERNAL" +
                                key("location", "shape") + " } } }" + onnx_node("Reshape", {"x", "s"}, {"y"}) +
                                "output { name: \"y\" }");
  const auto graph = parse_onnx(model, "net", folder_ / "net");
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(graph->tensors[graph->outputs[0]].shape, (Shape{2, 1}));
}

TEST_F(ExternalData, IsRejectedOutsideModelFolder) {
  test::write_text(folder_ / "secret", bytes_of({1, 2}));
  test::write_text(folder_ / "network/secret", bytes_of({1, 2})); // a name that begins with the folder's name
  fs::create_symlink("../secret", folder_ / "net/link");
  fs::create_directory_symlink("..", folder_ / "net/up");
  for (const std::string location : {"../secret", "deep/../../secret", "/etc/passwd", "..", "../network/secret"})
    expect_refused(key("location", location), {location, "must be a file in the model's folder"});
  expect_refused(key("location", (folder_ / "secret").string()), {"must be a file in the model's folder"});
  for (const std::string location : {"link", "up/secret", "up/network/secret"})
    expect_refused(key("location", location), {location, "link", "model's folder"});
}

TEST_F(ExternalData, LengthDefaultsToSizeOfShape) {
  expect_values(here + key("offset", "4"), {3, -5});
  expect_values(here + key("offset", "4") + key("length", "0"), {3, -5});
  expect_refused(here + key("offset", "12"), {"8 bytes from byte 12", "has 16 bytes"});
}

TEST_F(ExternalData, ParentPathsWithinModelFolderAreRead) {
  expect_values(key("location", "deep/../net.onnx.data") + key("offset", "4"), {3, -5});
  expect_values(key("location", "./a/b/../../net.onnx.data") + key("offset", "8"), {-5, 7});
}

TEST_F(ExternalData, SymlinkedModelReadsDataNextToLinkOrTarget) { // Hugging Face's cache: links into one folder
  test::write_text(folder_ / "blobs/model", model_of(constant(here + key("offset", "4"))));
  test::write_text(folder_ / "blobs/data", "...." + bytes_of({3, -5}));
  test::write_text(folder_ / "secret", bytes_of({1, 2}));
  fs::create_directories(folder_ / "snapshot");
  fs::create_symlink("../blobs/model", folder_ / "snapshot/net.onnx");
  const auto read_it = [&] { return read_onnx(folder_ / "snapshot/net.onnx"); };
  EXPECT_FALSE(read_it().has_value()) << "there is no data";
  fs::create_symlink("../blobs/data", folder_ / "snapshot/net.onnx.data");
  const auto graph = read_it();
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(graph->tensors[graph->nodes[0].inputs[1]].values, (std::vector<float>{3, -5}));
  fs::remove(folder_ / "snapshot/net.onnx.data");
  fs::create_symlink("../secret", folder_ / "snapshot/net.onnx.data");
  const auto refused = read_it();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what, HasSubstr("cp -rL"));
  fs::remove(folder_ / "snapshot/net.onnx.data");
  fs::rename(folder_ / "blobs/data", folder_ / "blobs/net.onnx.data"); // the name exists only beside the link's target
  EXPECT_TRUE(read_it().has_value());
}

TEST_F(ExternalData, LargeTensorsAreReadCompletely) {
  std::vector<float> many(700'001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i % 1000);
  test::write_text(folder_ / "net/many", bytes_of(many));
  const auto model = onnx_bytes(
      onnx_value("input", "x", {"1"}) + "initializer { name: \"w\" data_type: 1 dims: 700001 data_location: EXTERNAL" +
      key("location", "many") + " }" + onnx_node("Add", {"x", "w"}, {"y"}) + "output { name: \"y\" }");
  const auto graph = parse_onnx(model, "net", folder_ / "net");
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(graph->tensors[graph->nodes[0].inputs[1]].values, many);
}

TEST_F(ExternalData, SharedRangeIsReadOnceForAllInitialisers) {
  std::string text = onnx_value("input", "x0", {"1", "2"});
  const auto range = here + key("offset", "4");
  for (int i = 0; i < 9; ++i) {
    const auto number = std::to_string(i), next = std::to_string(i + 1);
    text += "initializer { name: \"w" + number + "\" data_type: 1 dims: 2 data_location: EXTERNAL" + range + " }" +
            onnx_node("Add", {"x" + number, "w" + number}, {"x" + next});
  }
  text += "initializer { name: \"other\" data_type: 1 dims: 1 dims: 2 data_location: EXTERNAL" + range + " }" +
          onnx_node("Add", {"x9", "other"}, {"y"}) + "output { name: \"y\" }";
  std::size_t size = 0;
  const auto bytes = onnx_bytes(text, 20);
  const auto graph = parse_onnx(bytes, "net.onnx", folder_ / "net", {}, [&](auto read) { size += read.size(); });
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  EXPECT_EQ(size, 16U) << "once as [2], once as [1, 2]";
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(graph->nodes[i].inputs[1], graph->nodes[0].inputs[1]);
  EXPECT_EQ(graph->tensors[graph->nodes[9].inputs[1]].values, (std::vector<float>{3, -5}));
}

TEST_F(ExternalData, Int8ElementsTakeOneByteEach) {
  const auto model =
      onnx_bytes("initializer { name: \"w\" data_type: 3 dims: 70000 data_location: EXTERNAL" +
                 key("location", "bytes") + " }" + onnx_node("Identity", {"w"}, {"y"}) + "output { name: \"y\" }");
  test::write_text(folder_ / "net/bytes", std::string(70'000, '\xfe'));
  const auto graph = parse_onnx(model, "net.onnx", folder_ / "net");
  ASSERT_TRUE(graph.has_value()) << graph.error().what;
  const auto& y = graph->tensors[graph->outputs[0]];
  EXPECT_EQ(y.type, ElementType::int8);
  EXPECT_EQ(y.integers.bytes().size(), 70'000U);
  EXPECT_TRUE(std::ranges::all_of(y.integers, [](auto value) { return value == -2; }));
}

TEST_F(ExternalData, ModelAboveProtobufLimitIsRejected) {
  const auto file = folder_ / "net/vast.onnx";
  test::write_text(file, "");
  fs::resize_file(file, std::uintmax_t{3} << 30); // sparse
  const auto graph = read_onnx(file);
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code, Errc::unsupported);
  EXPECT_THAT(graph.error().what, HasSubstr("save_as_external_data=True"));
}

TEST_F(ExternalData, SymlinkWithinModelFolderIsFollowed) {
  fs::create_symlink("net.onnx.data", folder_ / "net/link");
  expect_values(key("location", "link") + key("offset", "4") + key("length", "8"), {3, -5});
}

TEST_F(ExternalData, IsRejectedWhenNotRegularFile) {
  expect_refused(key("location", "missing"), {"'missing'", "cannot be found", "in the model's folder"});
  fs::create_directory(folder_ / "net/folder");
  expect_refused(key("location", "folder"), {"must be a regular file"});
  ASSERT_EQ(::mkfifo((folder_ / "net/pipe").c_str(), 0600), 0);
  expect_refused(key("location", "pipe"), {"must be a regular file"}); // and the reader does not wait for a writer
}

TEST_F(ExternalData, IsRejectedWhenRangeIsOutsideFile) {
  expect_refused(here + key("offset", "12") + key("length", "8"),
                 {"net.onnx.data", "8 bytes from byte 12", "has 16 bytes"});
  expect_refused(here + key("offset", "17") + key("length", "8"), {"byte 17", "has 16 bytes"});
  expect_refused(here + key("offset", "18446744073709551615") + key("length", "8"), {"byte 18446744073709551615"});
  expect_refused(here + key("offset", "9223372036854775807") + key("length", "8"), {"byte 9223372036854775807"});
  expect_refused(here + key("offset", "18446744073709551616"), {"18446744073709551616", "number"});
  expect_refused(here + key("offset", "-4"), {"'-4'", "number"});
  expect_refused(here + key("offset", "4 "), {"'4 '", "number"});
  expect_refused(here + key("length", "0x8"), {"'0x8'", "number"});
}

TEST_F(ExternalData, IsRejectedWhenLengthDiffersFromShape) {
  expect_refused(here + key("offset", "4") + key("length", "12"), {"needs 8 bytes", "has 12"});
  expect_refused(here + key("length", "4"), {"needs 8 bytes", "has 4"});
}

TEST_F(ExternalData, IsRejectedWhenKeysAreInconsistent) {
  expect_refused("", {"its location is missing"});
  expect_refused(here + here, {"'location'", "twice"});
  expect_refused(here + key("encryption", "none"), {"'encryption'", "supported: location"}, Errc::unsupported);
  expect_refused(here + key("length", "8") + " raw_data: \"12345678\"", {"both in the model and in another file"});
}

TEST_F(ExternalData, IsRejectedWithoutModelFolder) {
  const auto model = model_of(constant(here + key("offset", "4") + key("length", "8")));
  const auto graph = parse_onnx(std::as_bytes(std::span(model)), "net.onnx");
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().code, Errc::unsupported);
  EXPECT_THAT(graph.error().what, HasSubstr("not read from a folder"));
}

TEST_F(ExternalData, IsRejectedAboveTotalSizeLimit) { // a small file can name one piece repeatedly
  onnx_source::ExternalData files({folder_ / "net"}, 12, {});
  const onnx_source::ExternalData::Keys keys{{"location", "net.onnx.data"}, {"length", "8"}};
  std::size_t size = 0;
  const auto take = [&](std::span<const std::byte> bytes) { size += bytes.size(); };
  files.read(keys, 8, "w", take);
  EXPECT_EQ(size, 8U);
  try {
    files.read(keys, 8, "w", take);
    FAIL() << "16 bytes were read";
  } catch (const onnx_source::Refusal& refusal) {
    EXPECT_EQ(refusal.code, Errc::unsupported);
    EXPECT_THAT(refusal.text, HasSubstr("more than 12 bytes"));
  }
}

TEST_F(ExternalData, IsPassedToObserver) {
  ASSERT_TRUE(read(constant(here + key("offset", "4") + key("length", "8"))).has_value());
  std::vector<std::string> seen;
  const auto graph = read_onnx(folder_ / "net/net.onnx", {}, [&](std::span<const std::byte> bytes) {
    seen.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  ASSERT_TRUE(graph.has_value());
  EXPECT_THAT(seen, testing::ElementsAre(test::read_text(folder_ / "net/net.onnx"), bytes_of({3, -5})));
}

TEST_F(ExternalData, ChangesFingerprintOfWorkload) { // a profile depends on the weights too
  ASSERT_TRUE(read(constant(here + key("offset", "4") + key("length", "8"))).has_value());
  const auto fingerprint = [&] {
    const auto workload = DnnWorkload::load(folder_ / "net/net.onnx");
    EXPECT_TRUE(workload.has_value());
    return workload ? (*workload)->fingerprint() : "";
  };
  const auto before = fingerprint();
  EXPECT_EQ(fingerprint(), before);
  test::write_text(folder_ / "net/net.onnx.data", "...." + bytes_of({3, -6, 7}));
  EXPECT_NE(fingerprint(), before);
}

} // namespace
} // namespace rtexec::tasks
