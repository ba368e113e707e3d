#include "test/tasks/isolated_nodes.hpp"

#include "tasks/dnn/graph/passes.hpp"
#include "tasks/dnn/graph/validation.hpp"
#include "tasks/dnn/kernels/aligned.hpp"
#include "tasks/dnn/kernels/element_types.hpp"
#include "tasks/dnn/kernels/evaluate.hpp"
#include "tasks/dnn/kernels/step.hpp"
#include "tasks/dnn/onnx/onnx_reader.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

namespace rtexec::test {
namespace {

using namespace tasks;

constexpr double small_work = 1e6;

/// Memory of exactly `count` elements, aligned as a step's operands are.
class Elements {
 public:
  Elements(ElementType type, std::size_t count)
      : bytes_(allocate_aligned(count * stored_size(type))), size_(count * stored_size(type)) {}
  [[nodiscard]] std::span<std::byte> bytes() const { return {bytes_.get(), size_}; }
  template <class T> [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(bytes_.get()), size_ / sizeof(T)};
  }

 private:
  AlignedBytes bytes_;
  std::size_t size_;
};

class IsolatedRun {
 public:
  IsolatedRun(const Graph& graph, std::uint64_t seed) : graph_(graph), random_(seed) {}

  void run() {
    for (const auto input : graph_.inputs) fill(place(input), graph_.tensors[input].type);
    for (const auto& node : graph_.nodes) run(node);
  }

 private:
  float number() {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float hostile[] = {nan, inf, -inf, 3e38F, -3e38F, 0x1p31F, 0x1p63F, -0x1p63F, 1e-40F};
    if (random_() % 8 == 0) return hostile[random_() % std::size(hostile)];
    return static_cast<float>(random_() % 9) - 3;
  }

  std::int64_t integer() {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t hostile[] = {most, -most - 1, 1 << 24, (1 << 24) + 1, -(std::int64_t{1} << 31)};
    if (random_() % 8 == 0) return hostile[random_() % std::size(hostile)];
    return static_cast<std::int64_t>(random_() % 9) - 3;
  }

  void fill(const Elements& elements, ElementType type) {
    if (!is_integer(type)) return void(std::ranges::generate(elements.as<float>(), [&] { return number(); }));
    const bool truth = type == ElementType::boolean;
    kernels::for_integer(type, [&]<class T>() {
      for (auto& each : elements.as<T>()) each = static_cast<T>(truth ? integer() & 1 : integer());
    });
  }

  Elements& place(TensorId id) {
    const auto& tensor = graph_.tensors[id];
    const auto count = static_cast<std::size_t>(element_count(tensor.shape));
    const auto [found, is_new] = places_.try_emplace(id, tensor.type, count);
    if (!is_new || !tensor.constant()) return found->second;
    if (!is_integer(tensor.type)) std::ranges::copy(tensor.values, found->second.as<float>().data());
    else
      kernels::for_integer(tensor.type, [&]<class T>() {
        std::ranges::transform(tensor.integers, found->second.as<T>().data(),
                               [](std::int64_t each) { return static_cast<T>(each); });
      });
    return found->second;
  }

  void run(const Node& node) {
    if (const auto misfit = find_misfit(graph_, node)) throw std::logic_error("node " + node.name + ": " + *misfit);
    auto& output = place(node.output);
    const auto step = prepare(graph_, node);
    if (!step) return void(std::ranges::copy(place(node.inputs[0]).bytes(), output.bytes().data())); // a Reshape
    std::vector<const void*> inputs;
    for (const auto input : node.inputs) inputs.push_back(place(input).bytes().data());
    std::optional<Elements> packed;
    if (!step->packing().empty()) {
      const auto values = step->pack(graph_.tensors[node.inputs[1]].values);
      std::ranges::copy(values, packed.emplace(ElementType::float32, values.size()).as<float>().data());
      inputs[1] = packed->bytes().data();
    }
    if (node.residual) inputs.push_back(place(*node.residual).bytes().data());
    const Elements workspace(ElementType::float32, step->workspace());
    step->run({inputs, output.bytes().data(), workspace.as<float>().data()});
  }

  const Graph& graph_;
  std::mt19937_64 random_;
  std::map<TensorId, Elements> places_;
};

bool is_small(const Graph& graph) {
  double total = 0;
  for (const auto& node : graph.nodes) total += work(graph, node);
  for (const auto& tensor : graph.tensors) total += static_cast<double>(element_count(tensor.shape));
  return total <= small_work;
}

} // namespace

void run_isolated(const Graph& graph, std::uint64_t seed) { IsolatedRun(graph, seed).run(); }

std::string try_model(std::span<const std::byte> model, std::uint64_t seed) {
  auto graph = parse_onnx(model);
  if (!graph && graph.error().what.empty()) throw std::logic_error("refused without a reason");
  if (!graph) return "refused";
  const bool small = is_small(*graph);
  if (small) run_isolated(*graph, seed);
  optimise(*graph);
  if (small) run_isolated(*graph, seed);
  return small ? "run" : "large";
}

} // namespace rtexec::test
