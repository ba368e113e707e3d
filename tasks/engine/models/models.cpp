#include "tasks/engine/models/models.hpp"

#include "tasks/engine/models/networks.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace rtexec::tasks {
namespace {

constexpr int kSmallest = 32, kLargest = 4096; // height and width of inputs in pixels
constexpr int kMostClasses = 100'000;

using Build = void (*)(GraphWriter&, NetworkSize);

struct Entry {
  ModelInfo info;
  Build build;
  int step = 1; // input sizes must be multiples of `step`
};

constexpr std::array kEntries{
    Entry{{"yolov3-tiny", 416, 80, "detector, 8.8 million weights (35 MB), 5.6 GFLOP"}, yolov3_tiny, 32},
    Entry{{"yolov3", 416, 80, "detector, 62.0 million weights (248 MB), 65.9 GFLOP"}, yolov3, 32},
    Entry{{"yolov2", 416, 80, "detector, 51.0 million weights (204 MB), 29.5 GFLOP"}, yolov2, 32},
    Entry{{"detectnet", 416, 1, "detector without decoding, 6.0 million weights (24 MB), 13.4 GFLOP"}, detectnet, 16},
    Entry{{"resnet18", 224, 1000, "classifier, 11.7 million weights (47 MB), 3.6 GFLOP"}, resnet18},
    Entry{{"resnet50", 224, 1000, "classifier, 25.6 million weights (102 MB), 8.2 GFLOP"}, resnet50},
    Entry{{"resnet152", 224, 1000, "classifier, 60.2 million weights (241 MB), 23.0 GFLOP"}, resnet152},
    Entry{{"resnext50", 224, 1000, "classifier with grouped convolutions, 25.0 million weights (100 MB), 8.5 GFLOP"},
          resnext50},
    Entry{{"resnext101-32x8d", 224, 1000,
           "classifier with grouped convolutions, 88.8 million weights (355 MB), 32.8 GFLOP"},
          resnext101_32x8d},
    Entry{{"resnext152-32x4d", 256, 1000,
           "classifier with grouped convolutions, 56.5 million weights (226 MB), 28.2 GFLOP"},
          resnext152_32x4d},
    Entry{{"densenet201", 224, 1000, "classifier with many small layers, 20.0 million weights (80 MB), 8.6 GFLOP"},
          densenet201},
    Entry{{"googlenet", 224, 1000, "classifier with parallel branches, 6.6 million weights (27 MB), 3.0 GFLOP"},
          googlenet},
    Entry{{"mobilenet_v3", 224, 1000, "classifier with depthwise convolutions, 5.5 million weights (22 MB), 0.4 GFLOP"},
          mobilenet_v3},
    Entry{{"efficientnet_b0", 224, 1000,
           "classifier with depthwise convolutions, 5.3 million weights (21 MB), 0.8 GFLOP"},
          efficientnet_b0},
    Entry{{"lenet5", 32, 10, "classifier of two convolutions, 62 thousand weights (0.2 MB), 0.001 GFLOP"}, lenet5},
};

constexpr auto kModels = [] {
  std::array<ModelInfo, kEntries.size()> infos{};
  std::ranges::transform(kEntries, infos.begin(), &Entry::info);
  return infos;
}();

Unexpected<Error> unknown(std::string_view name) {
  std::string known;
  for (const auto& model : kModels) known += (known.empty() ? "" : ", ") + std::string(model.name);
  return fail(Errc::bad_input, "model \"" + std::string(name) + "\" is not known; known are " + known);
}

Result<> check(std::string_view name, NetworkSize size, int step) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::bad_input, "model " + std::string(name) + ": " + why);
  };
  if (size.size < kSmallest || size.size > kLargest || size.size % step != 0)
    return refuse("size " + std::to_string(size.size) + " is not possible; it takes " +
                  (step > 1 ? "multiples of " + std::to_string(step) + " " : "sizes ") + "from " +
                  std::to_string(kSmallest) + " to " + std::to_string(kLargest));
  if (size.classes < 1 || size.classes > kMostClasses)
    return refuse(std::to_string(size.classes) + " classes are not possible; it takes 1 to " +
                  std::to_string(kMostClasses));
  return {};
}

} // namespace

void classify(GraphWriter& graph, const Value& features, int classes) {
  finish_classifier(graph, graph.linear(graph.flatten(graph.global_average_pool(features)), classes));
}

void finish_classifier(GraphWriter& graph, const Value& logits) {
  graph.output(logits);
  graph.metadata("rtexec.task", "classify");
  graph.metadata("rtexec.mean", "0.485,0.456,0.406"); // mean of ImageNet, as torchvision's classifiers expect
  graph.metadata("rtexec.std", "0.229,0.224,0.225");
}

std::span<const ModelInfo> models() { return kModels; }

Result<> write_model(std::string_view name, const ModelOptions& options, const std::filesystem::path& out) {
  const auto found = std::ranges::find(kEntries, name, [](const Entry& entry) { return entry.info.name; });
  if (found == kEntries.end()) return unknown(name);
  const auto& [info, build, step] = *found;
  const NetworkSize size{options.size ? options.size : info.size, options.classes ? options.classes : info.classes};
  if (auto possible = check(name, size, step); !possible) return possible;
  GraphWriter graph(name, options.seed);
  build(graph, size);
  return graph.save(out);
}

} // namespace rtexec::tasks
