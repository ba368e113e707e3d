#include "tasks/media/npy.hpp"

#include "config/base/files.hpp"
#include "config/base/text.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::tasks {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are read and written as they lie in memory");

constexpr std::size_t kLargestFile = std::size_t{2} << 30;
constexpr std::size_t kLargestRank = 8;
constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string_view type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Parses the header of an NPY file: the text of a Python dictionary with the keys `descr`, `fortran_order` and
/// `shape`. The parser supports no other Python text.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  /// Returns the header, or nullopt if the text is not the dictionary of an NPY header.
  std::optional<Header> parse() {
    Header header;
    bool type = false, order = false, shape = false;
    if (!take('{')) return {};
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return {};
      if (*key == "descr" && !type) type = read_type(header);
      else if (*key == "fortran_order" && !order) order = read_order(header);
      else if (*key == "shape" && !shape) shape = read_shape(header);
      else return {};
      if (!take(',') && !(peek() == '}')) return {};
    }
    if (!type || !order || !shape || peek() != '\0') return {};
    return header;
  }

 private:
  char peek() {
    const auto start = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    peek();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> quoted() {
    if (!take('\'')) return {};
    const auto end = rest_.find('\'');
    if (end == std::string_view::npos) return {};
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool read_type(Header& header) {
    const auto type = quoted();
    if (type) header.type = *type;
    return type.has_value();
  }
  bool read_order(Header& header) {
    header.fortran_order = take(std::string_view("True"));
    return header.fortran_order || take(std::string_view("False"));
  }
  bool read_shape(Header& header) {
    if (!take('(')) return false;
    while (!take(')')) {
      peek();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc{} || size < 0 || header.shape.size() == kLargestRank) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      header.shape.push_back(size);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// Returns the number of elements of a shape, or nullopt if the product overflows.
std::optional<std::size_t> checked_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count)) return {};
  return count;
}

struct Stored {
  std::string_view name; // name of the type in .npy files
  ElementType type;
  std::size_t size;
};
constexpr Stored kTypes[] = {
    {"<f4", ElementType::float32, 4}, {"<f2", ElementType::float16, 2}, {"|u1", ElementType::uint8, 1},
    {"<i4", ElementType::int32, 4},   {"<i8", ElementType::int64, 8},   {"|i1", ElementType::int8, 1},
    {"|b1", ElementType::boolean, 1}, {"<u2", ElementType::uint16, 2},  {"<i2", ElementType::int16, 2},
    {"<u4", ElementType::uint32, 4},  {"<u8", ElementType::uint64, 8},  {"<f8", ElementType::float64, 8}};

const Stored* find_type(std::string_view name) {
  const auto* const found = std::ranges::find(kTypes, name, &Stored::name);
  return found == std::end(kTypes) ? nullptr : found;
}

std::vector<std::byte> narrowed(std::span<const std::byte> doubles) {
  std::vector<std::byte> floats(doubles.size() / sizeof(double) * sizeof(float));
  for (std::size_t i = 0; i * sizeof(double) < doubles.size(); ++i) {
    double value = 0;
    std::memcpy(&value, doubles.data() + i * sizeof value, sizeof value);
    const auto narrow = static_cast<float>(value);
    std::memcpy(floats.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
  return floats;
}

} // namespace

Result<NpyTensor> parse_npy(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) { return fail(Errc::bad_input, path.string() + ": " + why); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 10) return refuse("is not a .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  const std::size_t version = byte(6);
  if (version != 1 && version != 2)
    return refuse("has .npy format version " + std::to_string(version) + "; 1 and 2 are read");
  if (version == 2 && text.size() < 12) return refuse("is truncated in its header");
  const std::size_t start = version == 1 ? 10 : 12;
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) return refuse("is truncated in its header");

  const auto header = HeaderParser(text.substr(start, length)).parse();
  if (!header)
    return refuse("must have a header of a plain tensor of at most " + std::to_string(kLargestRank) + " dimensions");
  if (header->type.find('O') != std::string_view::npos)
    return refuse("holds pickled Python objects, which are not read; save a float32 array");
  const Stored* type = find_type(header->type);
  if (!type)
    return refuse("has elements of type " + config::quoted(header->type) +
                  "; <f4, <f8, <f2, |b1, |u1, <u2, <u4, <u8, |i1, <i2, <i4 and <i8 are read");
  if (header->fortran_order) return refuse("is in Fortran order; save numpy.ascontiguousarray(x)");

  const auto data = bytes.subspan(start + length);
  const auto count = checked_count(header->shape);
  if (!count || *count > std::numeric_limits<std::size_t>::max() / type->size || *count * type->size != data.size())
    return refuse("has " + std::to_string(data.size()) + " bytes of data, which does not match its shape");
  if (type->type == ElementType::float64)
    return NpyTensor{header->shape, ElementType::float32, narrowed(data), type->type};
  return NpyTensor{header->shape, type->type, {data.begin(), data.end()}};
}

Result<NpyTensor> read_npy(const std::filesystem::path& path) {
  const auto content = config::read_file(path, kLargestFile);
  if (!content) return Unexpected(content.error());
  return parse_npy(std::as_bytes(std::span(*content)), path);
}

Result<> write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, ElementType type,
                   std::span<const std::byte> bytes) {
  assert(checked_count(shape) == bytes.size() / size_of(type));
  std::string sizes;
  for (const std::int64_t size : shape) sizes += std::to_string(size) + ",";
  const auto* const stored = std::ranges::find(kTypes, type, &Stored::type);
  std::string header =
      "{'descr': '" + std::string(stored->name) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  // The format requires that the data are aligned, and that a newline ends the header.
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  header.append(kAlignment - 1 - (kPreamble + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string preamble(kMagic);
  preamble += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};

  auto file = AtomicFile::create(path);
  if (!file) return Unexpected(file.error());
  for (const auto part : {std::as_bytes(std::span(preamble)), std::as_bytes(std::span(header)), bytes})
    if (auto written = file->write(part); !written) return written;
  return file->commit();
}

} // namespace rtexec::tasks
