#include "tasks/media/input.hpp"

#include "config/base/files.hpp"
#include "config/base/text.hpp"
#include "tasks/base/shape.hpp"
#include "tasks/base/half.hpp"
#include "tasks/media/compressed_picture.hpp"
#include "tasks/media/frame.hpp"
#include "tasks/media/picture.hpp"
#include "tasks/base/random.hpp"
#include "tasks/media/npy.hpp"
#include "tasks/base/fingerprint.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& content) { return std::as_bytes(std::span(content)); }

/// The range of integers from which noise is drawn: `count` values, beginning with `min`.
struct NoiseRange {
  std::int64_t min = 0;
  std::uint64_t count = 2;
};

template <class T> constexpr std::pair<std::int64_t, std::int64_t> limits() {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  return {std::numeric_limits<T>::min(), static_cast<std::int64_t>(std::min(max, most))};
}

/// Returns the smallest and the largest value of an integer or boolean type.
std::pair<std::int64_t, std::int64_t> limits_of(ElementType type) {
  using enum ElementType;
  switch (type) {
  case boolean: return {0, 1};
  case uint8: return limits<std::uint8_t>();
  case int8: return limits<std::int8_t>();
  case uint16: return limits<std::uint16_t>();
  case int16: return limits<std::int16_t>();
  case uint32: return limits<std::uint32_t>();
  case int32: return limits<std::int32_t>();
  case uint64: return limits<std::uint64_t>();
  default: return limits<std::int64_t>();
  }
}

NoiseRange noise_range(ElementType type, const std::optional<InputRange>& range) {
  constexpr std::uint64_t max_count = std::uint64_t{1} << 32U;
  auto [min, max] = limits_of(type);
  const bool all_values = type == ElementType::uint8 || type == ElementType::int8;
  if (!range && !all_values) std::tie(min, max) = std::pair(0, 1);
  if (range) std::tie(min, max) = std::pair(std::max(min, range->noise_min), std::min(max, range->noise_max));
  if (max < min) return {.min = min, .count = 1};
  return {.min = min,
          .count = std::min(static_cast<std::uint64_t>(max) - static_cast<std::uint64_t>(min), max_count - 1) + 1};
}

class Noise final : public InputSource {
 public:
  Noise(std::size_t size, NoiseRange integers) : size_(size), integers_(integers) {}

  Status fetch(std::uint64_t job, const rtexec::Tensor& tensor) noexcept override {
    if (tensor.bytes.size() != size_) return Unexpected(Errc::bad_input);
    Random random(job);
    using enum ElementType;
    switch (tensor.type) {
    case float32: std::ranges::generate(tensor.as<float>(), [&] { return random.fraction(); }); break;
    case float16:
      std::ranges::generate(tensor.as<Float16>(), [&] { return Float16{to_half(random.fraction())}; });
      break;
    case float64: std::ranges::generate(tensor.as<double>(), [&] { return random.fraction(); }); break;
    case boolean: fill<bool>(tensor, random); break;
    case uint8: fill<std::uint8_t>(tensor, random); break;
    case int8: fill<std::int8_t>(tensor, random); break;
    case uint16: fill<std::uint16_t>(tensor, random); break;
    case int16: fill<std::int16_t>(tensor, random); break;
    case uint32: fill<std::uint32_t>(tensor, random); break;
    case int32: fill<std::int32_t>(tensor, random); break;
    case uint64: fill<std::uint64_t>(tensor, random); break;
    case int64: fill<std::int64_t>(tensor, random); break;
    }
    return {};
  }

 private:
  template <class T> void fill(const rtexec::Tensor& tensor, Random& random) const noexcept {
    std::ranges::generate(tensor.as<T>(), [&] {
      // Multiplies the high 32 random bits by a count of at most 2^32 and shifts the product to the right by 32 bits.
      // The result is uniform in [0, count).
      return static_cast<T>(integers_.min + static_cast<std::int64_t>((random.next() >> 32U) * integers_.count >> 32U));
    });
  }

  std::size_t size_;
  NoiseRange integers_;
};

class FixedTensor final : public InputSource {
 public:
  explicit FixedTensor(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  Status fetch(std::uint64_t, const rtexec::Tensor& tensor) noexcept override {
    if (tensor.bytes.size() != bytes_.size()) return Unexpected(Errc::bad_input);
    std::memcpy(tensor.bytes.data(), bytes_.data(), bytes_.size());
    return {};
  }

 private:
  std::vector<std::byte> bytes_;
};

class Pictures final : public InputSource {
 public:
  explicit Pictures(FrameSampler sampler) : sampler_(std::move(sampler)) {}

  Result<> add(const fs::path& path) {
    auto compressed = read_compressed(path);
    if (!compressed) return Unexpected(compressed.error());
    if (const auto decoded = decoder_.prepare(bytes_of(*compressed), path); !decoded)
      return Unexpected(decoded.error());
    compressed_.push_back(std::move(*compressed));
    return {};
  }

  Status fetch(std::uint64_t job, const rtexec::Tensor& tensor) noexcept override {
    const auto picture = decoder_.decode(bytes_of(compressed_[job % compressed_.size()]));
    if (!picture) return Unexpected(picture.error());
    return sampler_.sample(frame_of(*picture), tensor.bytes);
  }

 private:
  std::vector<std::string> compressed_;
  PictureDecoder decoder_;
  FrameSampler sampler_;
};

// ---- conversion of a tensor's values to another type

template <class T> T element(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}
template <class T> void put(std::vector<std::byte>& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}

/// Returns f(value), where value is element `i` in the element type of the file.
template <class F> auto with_element(const NpyTensor& tensor, std::size_t i, F f) {
  const std::byte* const bytes = tensor.bytes.data();
  switch (tensor.type) {
  case ElementType::boolean:
  case ElementType::uint8: return f(element<std::uint8_t>(bytes, i));
  case ElementType::int8: return f(element<std::int8_t>(bytes, i));
  case ElementType::uint16: return f(element<std::uint16_t>(bytes, i));
  case ElementType::int16: return f(element<std::int16_t>(bytes, i));
  case ElementType::uint32: return f(element<std::uint32_t>(bytes, i));
  case ElementType::int32: return f(element<std::int32_t>(bytes, i));
  case ElementType::uint64: return f(element<std::uint64_t>(bytes, i));
  case ElementType::int64: return f(element<std::int64_t>(bytes, i));
  case ElementType::float16: return f(from_half(element<std::uint16_t>(bytes, i)));
  case ElementType::float32: return f(element<float>(bytes, i));
  case ElementType::float64: return f(element<double>(bytes, i));
  }
  std::unreachable();
}

float float_at(const NpyTensor& tensor, std::size_t i) {
  return with_element(tensor, i, [](auto value) { return static_cast<float>(value); });
}

/// Converts element `i` to an integer of type T. Returns false if the element is not an integer or is outside the range
/// of T.
template <class T> bool put_integer(std::vector<std::byte>& bytes, std::size_t i, const NpyTensor& from) {
  return with_element(from, i, [&](auto value) {
    if constexpr (std::is_integral_v<decltype(value)>) {
      if (!std::in_range<T>(value)) return false;
      put(bytes, i, static_cast<T>(value));
      return true;
    } else {
      return false;
    }
  });
}

/// Converts the elements to `type`. Returns nullopt if a value is outside the range of `type`.
std::optional<std::vector<std::byte>> as_type(ElementType type, NpyTensor from) {
  if (from.type == type) return std::move(from.bytes);
  const std::size_t count = from.bytes.size() / size_of(from.type);
  std::vector<std::byte> bytes(count * size_of(type));
  bool fits = true;
  for (std::size_t i = 0; i < count && fits; ++i) switch (type) {
    case ElementType::uint8: fits = put_integer<std::uint8_t>(bytes, i, from); break;
    case ElementType::int8: fits = put_integer<std::int8_t>(bytes, i, from); break;
    case ElementType::boolean:
      fits = put_integer<std::uint8_t>(bytes, i, from) && std::to_integer<unsigned>(bytes[i]) <= 1;
      break;
    case ElementType::uint16: fits = put_integer<std::uint16_t>(bytes, i, from); break;
    case ElementType::int16: fits = put_integer<std::int16_t>(bytes, i, from); break;
    case ElementType::uint32: fits = put_integer<std::uint32_t>(bytes, i, from); break;
    case ElementType::int32: fits = put_integer<std::int32_t>(bytes, i, from); break;
    case ElementType::uint64: fits = put_integer<std::uint64_t>(bytes, i, from); break;
    case ElementType::int64: fits = put_integer<std::int64_t>(bytes, i, from); break;
    case ElementType::float16: put(bytes, i, to_half(float_at(from, i))); break;
    case ElementType::float32: put(bytes, i, float_at(from, i)); break;
    case ElementType::float64: put(bytes, i, static_cast<double>(float_at(from, i))); break;
    }
  if (!fits) return {};
  return bytes;
}

// ---- factories

Result<std::vector<fs::path>> pictures_in(const fs::path& folder) {
  const auto unreadable = [&](const std::error_code& error) {
    return fail(Errc::bad_input, folder.string() + ": cannot be read: " + error.message());
  };
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string extension = config::lower_extension(entry->path());
    if (extension == ".jpg" || extension == ".jpeg" || extension == ".png") files.push_back(entry->path());
  }
  if (error) return unreadable(error);
  if (files.empty()) return fail(Errc::bad_input, folder.string() + ": holds no .jpg, .jpeg or .png file");
  std::ranges::sort(files);
  return files;
}

/// Returns the index and the text of the first integer outside `range`. Returns nullopt if all integers are inside.
std::optional<std::pair<std::size_t, std::string>> outside(const NpyTensor& tensor, const InputRange& range) {
  const std::size_t count = tensor.bytes.size() / size_of(tensor.type);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = with_element(tensor, i, [&](auto each) -> std::optional<std::string> {
      if constexpr (std::is_integral_v<decltype(each)>)
        if (std::cmp_less(each, range.min) || std::cmp_greater(each, range.max)) return std::to_string(each);
      return std::nullopt;
    });
    if (value) return std::pair(i, *value);
  }
  return std::nullopt;
}

Result<std::unique_ptr<InputSource>> make_tensor(const fs::path& path, const rtexec::Tensor& input,
                                                 const std::optional<InputRange>& range) {
  auto tensor = read_npy(path);
  if (!tensor) return Unexpected(tensor.error());
  if (tensor->shape != input.shape)
    return fail(Errc::bad_input, path.string() + ": has shape " + to_string(tensor->shape) +
                                     ", but the network's input is " + to_string(input.shape));
  if (const auto found = range ? outside(*tensor, *range) : std::nullopt)
    return fail(Errc::bad_input, path.string() + ": element " + std::to_string(found->first) + " is " + found->second +
                                     ", but the network needs " + std::to_string(range->min) + " to " +
                                     std::to_string(range->max) + " in its input '" + input.name +
                                     "', an index into a tensor");
  const std::string held(name(tensor->stored)), wanted(name(input.type));
  auto bytes = as_type(input.type, std::move(*tensor));
  if (!bytes)
    return fail(Errc::bad_input, path.string() + ": file holds " + held + ", input '" + config::printable(input.name) +
                                     "' needs " + wanted + "; save it with .astype(\"" + wanted + "\")");
  return std::make_unique<FixedTensor>(std::move(*bytes));
}

Result<std::unique_ptr<InputSource>> make_pictures(const fs::path& path, const rtexec::Tensor& input,
                                                   const Preprocessing& preprocessing) {
  auto sampler = FrameSampler::make(input, preprocessing);
  if (!sampler)
    return fail(Errc::bad_input,
                path.string() + ": " + sampler.error().what + "; give a .npy tensor, or none for seeded noise");
  auto files = fs::is_directory(path) ? pictures_in(path) : std::vector{path};
  if (!files) return Unexpected(files.error());
  auto pictures = std::make_unique<Pictures>(std::move(*sampler));
  for (const auto& file : *files)
    if (auto added = pictures->add(file); !added) return Unexpected(added.error());
  return pictures;
}

} // namespace

bool are_pictures(const fs::path& input) { return !input.empty() && config::lower_extension(input) != ".npy"; }

Result<std::unique_ptr<InputSource>> make_input(const fs::path& input, const rtexec::Tensor& tensor,
                                                const Preprocessing& preprocessing,
                                                const std::optional<InputRange>& range) {
  std::size_t size = size_of(tensor.type);
  for (const std::int64_t dimension : tensor.shape)
    if (dimension < 0 || __builtin_mul_overflow(size, static_cast<std::size_t>(dimension), &size))
      return fail(Errc::bad_input, "an input of shape " + to_string(tensor.shape) + " is too large");
  if (input.empty()) return std::make_unique<Noise>(size, noise_range(tensor.type, range));
  std::error_code error;
  if (!fs::exists(input, error)) return fail(Errc::bad_input, input.string() + ": does not exist");
  if (are_pictures(input)) return make_pictures(input, tensor, preprocessing);
  return make_tensor(input, tensor, range);
}

std::string fingerprint_with_files(const std::string& workload, const fs::path& input) {
  auto [prefix, fingerprint] = Fingerprint::resumed(workload);
  std::error_code ignored; // errors are ignored here: a file that cannot be read was refused before
  std::vector<fs::path> files;
  if (!fs::is_directory(input, ignored)) files.push_back(input);
  else
    for (const auto& entry : fs::directory_iterator(input, ignored)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) fingerprint.add(file.filename().string()).add(fs::file_size(file, ignored));
  return prefix + fingerprint.text();
}

} // namespace rtexec::tasks
