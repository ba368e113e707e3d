// Tests the table of the preloaded library against NVIDIA's headers, if a CUDA toolkit is installed. Every function is
// either intercepted or left alone for a reason, every version of an intercepted one has a row, and each row has its
// ABI.
#include "rtexec/sharing/preload/call_table.hpp"
#include "rtexec/sharing/preload/signatures.hpp"
#include "test/hal/same_function.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL // the declarations of all versions
#include <cuda.h>
#endif

#if __has_include(<cuda.h>) && CUDA_VERSION < 13050 // functions that the toolkit does not declare yet
extern "C" {
using namespace rtexec::preload::abi;
CUresult cuGraphAddNode_v3(void*, GraphHandle, const void*, const void*, std::size_t, void*);
CUresult cuGraphNodeSetParams_v2(void*, void*);
CUresult cuFabricCpyBatchAsync(std::size_t, void*, unsigned long long, Stream);
CUresult cuFabricCpyBatchAsync_ptsz(std::size_t, void*, unsigned long long, Stream);
CUresult cuMemcpy3DWithAttributesAsync(void*, unsigned long long, Stream);
CUresult cuMemcpy3DWithAttributesAsync_ptsz(void*, unsigned long long, Stream);
CUresult cuMemcpyWithAttributesAsync(DevicePointer, DevicePointer, std::size_t, void*, Stream);
CUresult cuMemcpyWithAttributesAsync_ptsz(DevicePointer, DevicePointer, std::size_t, void*, Stream);
CUresult cuStreamBeginRecaptureToGraph(Stream, int, GraphHandle, void*, void*);
CUresult cuStreamBeginRecaptureToGraph_ptsz(Stream, int, GraphHandle, void*, void*);
}
#endif

namespace rtexec::preload {
namespace {

#if __has_include(<cuda.h>) && CUDA_VERSION >= 13000
using namespace abi;
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) \
  static_assert(hal::test::same_function<Code(*) arguments, decltype(&::symbol)>, #symbol);
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
#endif

struct LeftAlone {
  std::string_view name, reason;
  [[nodiscard]] bool has(std::string_view function) const {
    return name.ends_with('*') ? function.starts_with(name.substr(0, name.size() - 1)) : function == name;
  }
};
constexpr LeftAlone left_alone[] = {
#define LEFT_ALONE(name, reason) {#name, reason},
#include "rtexec/sharing/preload/left_alone.inc"
#undef LEFT_ALONE
};

class PreloadTable : public testing::Test {
 protected:
  /// Returns a header of CUDA without its comments. Skips the test if there is none.
  static std::string header(const std::string& name) {
    const char* home = std::getenv("CUDA_HOME");
    std::ifstream file(std::filesystem::path(home != nullptr ? home : "/usr/local/cuda") / "include" / name);
    std::ostringstream text;
    text << file.rdbuf();
    std::string out, all = text.str();
    for (std::size_t at = 0; at < all.size();) {
      if (all.compare(at, 2, "/*") == 0) {
        at = std::min(all.find("*/", at), all.size() - 2) + 2;
      } else if (all.compare(at, 2, "//") == 0) {
        at = std::min(all.find('\n', at), all.size());
      } else {
        out += all[at++];
      }
    }
    return out;
  }
  static std::set<std::string> names(const std::string& text, const std::regex& declaration) {
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) found.insert((*at)[1]);
    return found;
  }
  static bool treated(const std::string& asked) {
    return std::ranges::any_of(rows(), [&](const Row& row) { return row.asked == asked; });
  }
  static bool is_left_alone(const std::string& name) {
    return std::ranges::any_of(left_alone, [&](const LeftAlone& entry) { return entry.has(name); });
  }
};

TEST_F(PreloadTable, FindsEachOfItsSymbols) {
  std::set<std::string_view> symbols;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    EXPECT_EQ(find_symbol(rows()[i].symbol), static_cast<Id>(i));
    EXPECT_TRUE(symbols.insert(rows()[i].symbol).second) << rows()[i].symbol;
    EXPECT_TRUE(std::string_view(rows()[i].symbol).starts_with(rows()[i].asked));
  }
  for (const char* other : {"", "cu", "cuMemAlloc", "cuMemAlloc_v2 ", "cuMemAlloc_v", "zz", "dlsym"}) {
    EXPECT_FALSE(find_symbol(other)) << other;
  }
}

TEST_F(PreloadTable, GivesReasonForEachFunctionLeftAlone) {
  for (const auto& entry : left_alone) EXPECT_FALSE(entry.reason.empty()) << entry.name;
}

TEST_F(PreloadTable, KnowsEveryFunctionOfTheDriver) {
  const auto text = header("cuda.h");
  if (text.empty()) GTEST_SKIP() << "no CUDA toolkit";
  static const std::regex version("(_v[0-9])?(_ptds|_ptsz)?$");
  int seen = 0;
  for (const auto& name : names(text, std::regex(R"(CUDAAPI\s+(cu\w+)\s*\()"))) {
    const auto base = std::regex_replace(name, version, "", std::regex_constants::format_first_only);
    EXPECT_NE(treated(base), is_left_alone(base)) << base << " has to be in one list, and not in both";
    ++seen;
  }
  EXPECT_GT(seen, 400);
}

TEST_F(PreloadTable, KnowsEveryFunctionOfTheRuntime) {
  const auto text = header("cuda_runtime_api.h");
  if (text.empty()) GTEST_SKIP() << "no CUDA toolkit";
  int seen = 0;
  for (const auto& name : names(text, std::regex(R"(CUDARTAPI\s+(cuda\w+)\s*\()"))) {
    EXPECT_TRUE(is_left_alone(name)) << name;
    ++seen;
  }
  EXPECT_GT(seen, 200);
}

TEST_F(PreloadTable, CoversEveryVersionOfInterceptedFunctions) {
  const auto text = header("cudaTypedefs.h");
  if (text.empty()) GTEST_SKIP() << "no CUDA toolkit";
  static const std::regex pointer(R"(\*PFN_(cu\w+?)_v([0-9]+)(_ptsz|_ptds)?\)\()");
  int seen = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), pointer), end; at != end; ++at) {
    const std::string asked = (*at)[1];
    const int since = std::stoi((*at)[2]);
    const auto streams = (*at)[3].matched ? Streams::own : Streams::shared;
    if (!treated(asked)) continue;
    const auto is_it = [&](const Row& row) {
      return row.asked == asked && row.since == since && row.streams == streams;
    };
    // Before CUDA 3.2 addresses had 32 bits: 64-bit programs cannot use those versions.
    const bool old = since < 3020 && std::ranges::any_of(rows(), [&](const Row& row) {
                       return row.asked == asked && row.since == 3020;
                     });
    EXPECT_NE(std::ranges::any_of(rows(), is_it), old) << asked << " of version " << since << (*at)[3];
    ++seen;
  }
  const std::string of = header("cuda.h");
  std::smatch version;
  ASSERT_TRUE(std::regex_search(of, version, std::regex(R"(#define CUDA_VERSION (\d+))")));
  const int toolkit = std::stoi(version[1]);
  EXPECT_GE(seen, std::ranges::count_if(rows(), [&](const Row& row) { return row.since <= toolkit; }));
}

} // namespace
} // namespace rtexec::preload
