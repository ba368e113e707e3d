// Fuzzes the ONNX reader: any bytes give a graph or an error. A graph can be simplified and built, and is run if it is
// small.
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"
#include "tasks/engine/host/host_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "tasks/engine/graph/passes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

using namespace rtexec::tasks;

constexpr double small_work = 2e6;
constexpr std::size_t small_memory = std::size_t{1} << 24;

double work_of(const Graph& graph) {
  double total = 0;
  for (const auto& node : graph.nodes) total += work(graph, node);
  for (const auto& tensor : graph.tensors) total += static_cast<double>(element_count(tensor.shape));
  return total;
}

void run(HostNetwork& network) {
  const auto constants = allocate_aligned(network.constants().size());
  std::copy(network.constants().begin(), network.constants().end(), constants.get());
  const auto scratch = allocate_aligned(network.scratch().count);
  // NaN: an element must be written before it is read.
  std::fill_n(scratch.get(), network.scratch().count, std::byte{0xff});
  network.bind(constants.get(), scratch.get());
  if (!network.run()) std::abort();
}

/// A folder with the data file that seeds refer to. The destructor removes it.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("onnx-fuzz-" + std::to_string(::getpid()));
  Folder() {
    std::filesystem::create_directory(path);
    std::ofstream(path / "data") << std::string(4096, '\x3f');
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  auto graph = parse_onnx(std::as_bytes(std::span(data, size)), "model", folder.path);
  if (!graph) {
    if (graph.error().what.empty()) std::abort();
    return 0;
  }
  const bool small = work_of(*graph) <= small_work;
  optimise(*graph);
  if (!small) return 0;
  auto network = HostNetwork::build(*graph);
  if (network && (*network)->scratch().count <= small_memory) run(**network);
  return 0;
}
