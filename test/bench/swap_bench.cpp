// The costs of swapping on this machine, compared with the paper's figures: the limits of its bus, exchanges by the
// executive and by the procedures of RT-Swap's paper, memory lost to fragmentation, networks during copies, mapping
// during kernels, and overheads. Each section runs in its own process: it starts with an unused GPU, and however it
// ends, the others are not affected.
#include "tasks/engine/models/models.hpp"
#include "test/bench/swap_ballast.hpp"
#include "test/bench/swap_exchange.hpp"
#include "test/bench/swap_networks.hpp"
#include "test/bench/swap_overheads.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

namespace rtexec::bench {
namespace {

struct Section {
  const char* name;
  Result<json> (*run)(const Context&);
  bool needs_models = false;
};

template <class Body> Result<json> run_section(const Context& context) { return Body(context).run(); }

constexpr Section sections[]{
    {"limit", limit_section},
    {"exchange", run_section<ExchangeSection>},
    {"procedures", run_section<ProceduresSection>, true},
    {"fragmentation", run_section<FragmentationSection>, true},
    {"beside", run_section<BesideSection>, true},
    {"mapping", run_section<MappingSection>, true},
    {"overheads", run_section<OverheadsSection>, true},
};

bool wanted(const Options& options, const Section& section) {
  return options.only.empty() || std::ranges::find(options.only, section.name) != options.only.end();
}

/// The paper's networks, if none were given, in a folder that is removed at the end.
class Models {
 public:
  Result<> write(Options& options) {
    std::string folder = (std::filesystem::temp_directory_path() / "swap-bench-XXXXXX").string();
    if (!mkdtemp(folder.data())) return fail(Errc::refused, folder + ": " + std::strerror(errno));
    folder_ = folder;
    for (const char* name : {"resnet152", "densenet201", "resnext152-32x4d", "yolov3"}) {
      const auto file = folder_ / (std::string(name) + "-416.onnx");
      if (const auto written = tasks::write_model(name, {.size = 416}, file); !written) return written;
      options.models.push_back(file.string());
    }
    return {};
  }
  ~Models() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

 private:
  std::filesystem::path folder_;
};

/// Runs a section in the child. The outcome goes to `result`.
[[noreturn]] void work(const Section& section, const Context& context, std::FILE* result) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  Result<json> outcome;
  try {
    outcome = section.run(context);
  } catch (const std::exception& error) {
    outcome = fail(Errc::out_of_memory, std::string("the section ended early: ") + error.what());
  }
  if (!outcome) std::printf("  skipped: %s\n", outcome.error().what.c_str());
  const std::string text = (outcome ? *outcome : json{{"error", outcome.error().what}}).dump();
  (void)std::fwrite(text.data(), 1, text.size(), result);
  std::fflush(nullptr);
  _exit(0);
}

/// Waits for the child. Returns true if it ended by itself.
bool await(pid_t child, Duration at_most) {
  const Instant end = hal::now() + at_most;
  while (hal::now() < end) {
    if (waitpid(child, nullptr, WNOHANG) != 0) return true;
    (void)usleep(20'000);
  }
  (void)kill(child, SIGKILL);
  (void)waitpid(child, nullptr, 0);
  return false;
}

json run(const Section& section, const Context& context) {
  constexpr Duration timeout = std::chrono::seconds(200);
  std::FILE* const result = std::tmpfile();
  if (!result) return {{"error", std::string("no temporary file: ") + std::strerror(errno)}};
  std::fflush(nullptr);
  const pid_t child = fork(); // this process itself never calls CUDA
  if (child == 0) work(section, context, result);
  json found = {{"error", "fork failed"}};
  if (child > 0) {
    const bool ended = await(child, timeout);
    std::rewind(result);
    found = json::parse(result, nullptr, false);
    if (found.is_discarded()) {
      found = {{"error",
                ended ? "the section's process ended before its result" : "the section took too long and was ended"}};
      std::printf("\n  skipped: %s\n", found["error"].get<std::string>().c_str());
    }
  }
  (void)std::fclose(result);
  return found;
}

int run_all(Options options) {
  Models models;
  const bool needed =
      std::ranges::any_of(sections, [&](const Section& each) { return each.needs_models && wanted(options, each); });
  if (needed && options.models.empty())
    if (const auto written = models.write(options); !written)
      std::printf("no networks: %s\n", written.error().what.c_str());
  json all = json::object();
  for (const Section& section : sections) {
    if (!wanted(options, section)) continue;
    std::printf("%s\n", section.name);
    const Instant begin = hal::now();
    all[section.name] = run(section, Context{options, all});
    std::printf("  (%.1f s)\n\n", milliseconds(hal::now() - begin) * 1e-3);
    std::fflush(stdout);
  }
  if (!options.json.empty() && !(std::ofstream(options.json) << all.dump(2) << '\n'))
    return std::fprintf(stderr, "%s cannot be written\n", options.json.c_str()), 5;
  return 0;
}

} // namespace
} // namespace rtexec::bench

int main(int argc, char** argv) {
  using namespace rtexec::bench;
  if (argc > 2 && std::string_view(argv[1]) == "--ballast") return run_with_ballast(argv[2], argv + 3);
  CLI::App program(
      "What swapping costs: copies, mapping, decisions and memory, beside the figures of RT-Swap's paper\n"
      "swap-bench --ballast SIZE COMMAND... instead runs a command on a GPU of which only SIZE is free");
  Options options;
  std::vector<std::string> names;
  for (const Section& section : sections) names.emplace_back(section.name);
  program.add_option("models", options.models, "Networks (default: the paper's four, written for this run)")
      ->type_name("MODEL.onnx");
  program.add_option("--only", options.only, "These sections")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names))
      ->type_name("SECTION,...");
  program.add_option("--board", options.board, "Of section exchange")->capture_default_str();
  program
      .add_option("--shrink", options.shrink,
                  "Divides the sizes of section exchange, to try it where there is less memory")
      ->check(CLI::Range(1, 1024));
  program.add_option("--json", options.json)->type_name("FILE");
  CLI11_PARSE(program, argc, argv);
  return run_all(options);
}
