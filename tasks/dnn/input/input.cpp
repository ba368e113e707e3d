#include "tasks/dnn/input/input.hpp"

#include "config/files.hpp"
#include "tasks/dnn/graph/graph.hpp"
#include "tasks/dnn/input/picture.hpp"
#include "tasks/dnn/input/random.hpp"
#include "tasks/dnn/files/npy.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& content) { return std::as_bytes(std::span(content)); }

class Noise final : public InputSource {
 public:
  explicit Noise(std::size_t count) : count_(count) {}

  Status fetch(std::uint64_t job, std::span<float> tensor) noexcept override {
    if (tensor.size() != count_) return Unexpected(Errc::bad_input);
    Random random(job);
    std::ranges::generate(tensor, [&] { return random.fraction(); });
    return {};
  }

 private:
  std::size_t count_;
};

class FixedTensor final : public InputSource {
 public:
  explicit FixedTensor(std::vector<float> values) : values_(std::move(values)) {}

  Status fetch(std::uint64_t, std::span<float> tensor) noexcept override {
    if (tensor.size() != values_.size()) return Unexpected(Errc::bad_input);
    std::ranges::copy(values_, tensor.begin());
    return {};
  }

 private:
  std::vector<float> values_;
};

class Pictures final : public InputSource {
 public:
  Pictures(Extent network, const Normalization& normalization)
      : count_(std::size_t{3} * static_cast<std::size_t>(network.width) * static_cast<std::size_t>(network.height)),
        sampler_(network, normalization) {}

  Result<> add(const fs::path& path) {
    auto compressed = config::read_file(path, kLargestPictureFile);
    if (!compressed) return Unexpected(compressed.error());
    if (const auto decoded = decoder_.prepare(bytes_of(*compressed), path); !decoded)
      return Unexpected(decoded.error());
    compressed_.push_back(std::move(*compressed));
    return {};
  }

  Status fetch(std::uint64_t job, std::span<float> tensor) noexcept override {
    if (tensor.size() != count_) return Unexpected(Errc::bad_input);
    const auto picture = decoder_.decode(bytes_of(compressed_[job % compressed_.size()]));
    if (!picture) return Unexpected(picture.error());
    sampler_.sample(*picture, tensor);
    return {};
  }

 private:
  std::size_t count_;
  std::vector<std::string> compressed_;
  PictureDecoder decoder_;
  PictureSampler sampler_;
};

std::string lower_extension(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

Result<std::vector<fs::path>> pictures_in(const fs::path& folder) {
  const auto unreadable = [&](const std::error_code& error) {
    return fail(Errc::bad_input, folder.string() + ": cannot be read: " + error.message());
  };
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string extension = lower_extension(entry->path());
    if (extension == ".jpg" || extension == ".jpeg" || extension == ".png") files.push_back(entry->path());
  }
  if (error) return unreadable(error);
  if (files.empty()) return fail(Errc::bad_input, folder.string() + ": holds no .jpg, .jpeg or .png file");
  std::ranges::sort(files);
  return files;
}

Result<std::unique_ptr<InputSource>> make_tensor(const fs::path& path, std::span<const std::int64_t> shape) {
  auto tensor = read_npy(path);
  if (!tensor) return Unexpected(tensor.error());
  if (!std::ranges::equal(tensor->shape, shape))
    return fail(Errc::bad_input, path.string() + ": has shape " + to_string(tensor->shape) +
                                     ", but the network's input is " + to_string(Shape(shape.begin(), shape.end())));
  return std::make_unique<FixedTensor>(std::move(tensor->values));
}

Result<std::unique_ptr<InputSource>> make_pictures(const fs::path& path, std::span<const std::int64_t> shape,
                                                   const Normalization& normalization) {
  constexpr std::int64_t kLargestSide = 16384;
  if (shape.size() != 4 || shape[0] != 1 || shape[1] != 3 || shape[2] > kLargestSide || shape[3] > kLargestSide)
    return fail(Errc::bad_input,
                path.string() + ": pictures need an input of shape [1, 3, height, width], but the network's is " +
                    to_string(Shape(shape.begin(), shape.end())) + "; give a .npy tensor, or none for seeded noise");
  auto files = fs::is_directory(path) ? pictures_in(path) : std::vector{path};
  if (!files) return Unexpected(files.error());
  auto pictures =
      std::make_unique<Pictures>(Extent{static_cast<int>(shape[3]), static_cast<int>(shape[2])}, normalization);
  for (const auto& file : *files)
    if (auto added = pictures->add(file); !added) return Unexpected(added.error());
  return pictures;
}

} // namespace

Result<std::unique_ptr<InputSource>> make_input(const fs::path& input, std::span<const std::int64_t> shape,
                                                const Normalization& normalization) {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    if (size <= 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(size), &count))
      return fail(Errc::bad_input,
                  "an input of shape " + to_string(Shape(shape.begin(), shape.end())) + " cannot be filled");
  if (input.empty()) return std::make_unique<Noise>(count);
  std::error_code error;
  if (!fs::exists(input, error)) return fail(Errc::bad_input, input.string() + ": does not exist");
  if (lower_extension(input) == ".npy") return make_tensor(input, shape);
  return make_pictures(input, shape, normalization);
}

} // namespace rtexec::tasks
