#include "tasks/engine/cuda/network_kernel_images.hpp"

#include "tasks/engine/cuda/conv_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::tasks::cuda {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Returns the images of all components.
const std::vector<KernelImage>& all_images() {
  static const std::vector<KernelImage> images = [] {
    std::vector<KernelImage> all;
    for (const auto& room : {hal::cuda::kernel_images(), kernel_images()})
      all.insert(all.end(), room.begin(), room.end());
    return all;
  }();
  return images;
}

std::string_view bytes(const KernelImage& image) { return {static_cast<const char*>(image.data), image.size}; }

std::string label(const KernelImage& image) {
  return std::string(image.name) + ".sm_" + std::to_string(image.architecture) + (image.ptx ? " (PTX)" : " (cubin)");
}

/// Returns every word of `text` between `before` and one of the characters `after`.
Names words(std::string_view text, std::string_view before, std::string_view after) {
  Names found;
  for (auto at = text.find(before); at != text.npos; at = text.find(before, at)) {
    at += before.size();
    const auto end = text.find_first_of(after, at);
    if (end != text.npos) found.emplace(text.substr(at, end - at));
  }
  return found;
}

/// Returns the names of an image's kernels. PTX declares ".entry NAME("; a cubin has a section ".text.NAME" for each.
Names kernels_of(const KernelImage& image) {
  if (image.ptx) return words(bytes(image), ".entry ", "( \n");
  using namespace std::string_view_literals;
  return words(bytes(image), "\0.text."sv, "\0"sv);
}

class KernelImages : public testing::Test {
 protected:
  void SetUp() override {
    if (all_images().empty()) GTEST_SKIP() << "built without device kernels";
  }
};

TEST_F(KernelImages, MatchDeclaredFormatAndArchitecture) {
  for (const auto& image : all_images()) {
    EXPECT_GE(image.architecture, 62) << label(image);
    if (!image.ptx) {
      EXPECT_EQ(bytes(image).substr(0, 4), "\177ELF") << label(image);
      continue;
    }
    EXPECT_EQ(static_cast<const char*>(image.data)[image.size], '\0') << label(image);
    EXPECT_EQ(bytes(image).find('\0'), std::string_view::npos) << label(image);
    EXPECT_TRUE(words(bytes(image), ".target ", ",\n").contains("sm_" + std::to_string(image.architecture)))
        << label(image);
  }
}

// The driver of JetPack 4 (CUDA 10.2) reads PTX 6.5 and older, that of JetPack 5 (CUDA 11.4) 7.4 and older.
TEST_F(KernelImages, PtxVersionFitsDriversOfOldBoards) {
  const std::map<int, double> newest{{62, 6.5}, {72, 7.4}};
  for (const auto& image : all_images()) {
    const auto limit = newest.find(image.architecture);
    if (!image.ptx || limit == newest.end()) continue;
    const auto versions = words(bytes(image), ".version ", "\n");
    ASSERT_EQ(versions.size(), 1U) << label(image);
    EXPECT_LE(std::stod(*versions.begin()), limit->second) << label(image);
  }
}

TEST_F(KernelImages, HaveSameKernelsForEachArchitecture) {
  std::map<std::string_view, Names> first;
  for (const auto& image : all_images()) {
    const Names kernels = kernels_of(image);
    EXPECT_FALSE(kernels.empty()) << label(image);
    EXPECT_EQ(first.try_emplace(image.name, kernels).first->second, kernels) << label(image);
  }
}

TEST_F(KernelImages, ExistForEveryFileAndArchitecture) {
  std::map<std::pair<int, bool>, Names> files;
  for (const auto& image : all_images()) files[{image.architecture, image.ptx}].emplace(image.name);
  for (const auto& [architecture, names] : files)
    EXPECT_EQ(names, files.begin()->second) << "sm_" << architecture.first;
}

TEST_F(KernelImages, NameEachKernelOnce) {
  std::map<std::pair<int, bool>, Names> seen;
  for (const auto& image : all_images())
    for (const auto& kernel : kernels_of(image)) {
      const bool first = seen[{image.architecture, image.ptx}].insert(kernel).second;
      EXPECT_TRUE(first) << kernel << " is in two files, one of them " << label(image);
    }
}

TEST_F(KernelImages, ExistForHalAndTasks) {
  EXPECT_FALSE(hal::cuda::kernel_images().empty());
  EXPECT_FALSE(kernel_images().empty());
  for (const auto& image : hal::cuda::kernel_images()) EXPECT_EQ(kernels_of(image), Names{"digest"}) << label(image);
}

TEST_F(KernelImages, ContainEveryConvolutionVariant) {
  Names all;
  for (const auto& image : all_images()) all.merge(kernels_of(image));
  for (const auto& variant : conv_variants()) EXPECT_TRUE(all.contains(variant.kernel)) << variant.kernel;
}

} // namespace
} // namespace rtexec::tasks::cuda
