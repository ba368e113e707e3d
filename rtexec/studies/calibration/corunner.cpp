#include "rtexec/studies/calibration/corunner.hpp"

#include "tasks/loads/traffic/caches.hpp"

#include <string>
#include <utility>

namespace rtexec::study {
namespace {

class GeneratorOnCore final : public Corunner {
 public:
  explicit GeneratorOnCore(tasks::GeneratorThread thread) : thread_(std::move(thread)) {}
  Bytes moved() const override { return thread_.so_far().moved; }

 private:
  tasks::GeneratorThread thread_;
};

template <class Kind> Result<std::unique_ptr<tasks::Generator>> as_generator(Result<std::unique_ptr<Kind>> made) {
  if (!made) return Unexpected(made.error());
  return std::move(*made);
}

} // namespace

StartCorunner corunners_of_this_machine(CorunnerKind kind, Bytes line) {
  const Bytes buffer = tasks::sweep_size(tasks::cache_facts());
  return [kind, line, buffer](unsigned core, tasks::GeneratorHooks hooks) -> Result<std::unique_ptr<Corunner>> {
    auto generator = kind == CorunnerKind::pages
                         ? as_generator(tasks::PageGenerator::make())
                         : as_generator(tasks::LineGenerator::make(TrafficPattern::write, buffer, line));
    if (!generator) return Unexpected(generator.error());
    const hal::ThreadSettings settings{.name = "corun-" + std::to_string(core), .core = core, .reservation = {}};
    auto thread = tasks::GeneratorThread::start(std::move(*generator), settings, {}, std::move(hooks));
    if (!thread) return Unexpected(thread.error());
    return std::make_unique<GeneratorOnCore>(std::move(*thread));
  };
}

} // namespace rtexec::study
