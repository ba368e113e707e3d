#include "test/tasks/isolated_nodes.hpp"

#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/graph/validation.hpp"
#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/element_types.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"
#include "tasks/engine/host/kernels/step.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"

#include <algorithm>
#include <bit>
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

/// Memory of exactly `count` elements, aligned as the operands of a kernel.
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

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max(), denormal = std::numeric_limits<float>::denorm_min();
constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t two_to_31 = std::int64_t{1} << 31, two_to_24 = std::int64_t{1} << 24;

/// The values from which inputs are drawn. An empty list stands for any bits.
struct HostileSet {
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  int ordinary = 0; // how many of 8 elements are small numbers instead
};

const std::vector<float> all_floats{nan,      infinity,  -infinity, 0.0F,    -0.0F,   largest,  -largest,
                                    denormal, -denormal, 0x1p31F,   0x1p63F, 0x1p64F, -0x1p63F, 1e-40F};
const std::vector<std::int64_t> all_integers{lowest,         highest,       lowest + 1,    highest - 1,
                                             two_to_24,      two_to_24 + 1, two_to_31,     -two_to_31,
                                             -two_to_31 - 1, two_to_31 - 1, 2 * two_to_31, -1};

const HostileSet& hostile_set(std::size_t number) {
  static const std::vector<HostileSet> sets{
      {{nan}, {lowest}},
      {{infinity}, {highest}},
      {{-infinity}, {-1}},
      {{0.0F}, {0}},
      {{-0.0F}, {two_to_24 + 1}},
      {{largest}, {two_to_31 - 1}},
      {{-largest}, {-two_to_31}},
      {{denormal, -denormal}, {two_to_31}},
      {{infinity, -infinity}, {lowest, highest}},
      {{largest, -largest}, {-two_to_31 - 1, 2 * two_to_31}},
      {{0x1p31F, 0x1p63F, 0x1p64F, -0x1p31F, -0x1p63F}, {-1, -2, -3, -1000}},
      {{0.0F, -0.0F, denormal}, {1000, 32768, 65536, two_to_24}},
      {{}, {}},
      {{nan}, {lowest}, 4},
      {{infinity, -infinity}, {highest}, 4},
      {{0.0F, -0.0F}, {-1, 0}, 4},
      {{}, {}, 4},
      {all_floats, all_integers},
      {all_floats, all_integers, 4},
      {all_floats, all_integers, 7},
  };
  return sets.at(number);
}
static_assert(hostile_sets == 20);

class IsolatedRun {
 public:
  IsolatedRun(const Graph& graph, std::uint64_t seed, std::size_t set)
      : graph_(graph), set_(hostile_set(set)), random_(seed) {}

  void run() {
    for (const auto input : graph_.inputs) fill(place(input), graph_.tensors[input].type);
    for (const auto& node : graph_.nodes) run(node);
  }

 private:
  template <class T> T drawn(const std::vector<T>& hostile) {
    if (static_cast<int>(random_() % 8) < set_.ordinary) return static_cast<T>(static_cast<int>(random_() % 9) - 3);
    if (!hostile.empty()) return hostile[random_() % hostile.size()];
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
    else return static_cast<T>(random_());
  }

  void fill(const Elements& elements, ElementType type) {
    if (!is_integer(type)) return void(std::ranges::generate(elements.as<float>(), [&] { return drawn(set_.floats); }));
    const bool truth = type == ElementType::boolean;
    kernels::for_integer(type, [&]<class T>() {
      for (auto& each : elements.as<T>()) each = static_cast<T>(drawn(set_.integers) & (truth ? 1 : -1));
    });
  }

  Elements& place(TensorId id) {
    const auto& tensor = graph_.tensors[id];
    const auto count = static_cast<std::size_t>(element_count(tensor.shape));
    const auto [found, is_new] = places_.try_emplace(id, tensor.type, count);
    if (!is_new || !tensor.constant()) return found->second;
    std::ranges::copy(stored(tensor), found->second.bytes().data());
    return found->second;
  }

  void run(const Node& node) {
    if (const auto misfit = find_misfit(graph_, node))
      throw std::logic_error("node " + node.name + ": " + misfit->text);
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
  const HostileSet& set_;
  std::mt19937_64 random_;
  std::map<TensorId, Elements> places_;
};

std::size_t bytes_of_constants(const Graph& graph) {
  std::size_t all = 0;
  for (const auto& tensor : graph.tensors) all += tensor.constant() ? bytes_of(tensor) : 0;
  return all;
}

bool is_small(const Graph& graph) {
  double total = 0;
  for (const auto& node : graph.nodes) total += work(graph, node);
  for (const auto& tensor : graph.tensors) total += static_cast<double>(element_count(tensor.shape));
  return total <= small_work;
}

} // namespace

void run_isolated(const Graph& graph, std::uint64_t seed, std::size_t set) { IsolatedRun(graph, seed, set).run(); }

ModelTrial try_model(std::span<const std::byte> model, std::uint64_t seed, std::size_t sets) {
  auto graph = parse_onnx(model);
  if (!graph && graph.error().what.empty()) throw std::logic_error("refused without a reason");
  if (!graph) return {"refused"};
  const bool small = is_small(*graph);
  const auto run = [&] {
    for (std::size_t i = 0; small && i < sets; ++i) run_isolated(*graph, seed, (seed + i) % hostile_sets);
  };
  run();
  optimise(*graph);
  run();
  return {small ? "run" : "large", bytes_of_constants(*graph)};
}

} // namespace rtexec::test
