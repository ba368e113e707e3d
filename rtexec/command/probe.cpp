#include "hal/machine.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/text.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace rtexec::command {

namespace {

struct Options {
  std::string root = "/";
  std::string json;
};

const char* name(hal::Finding::Grade grade) {
  switch (grade) {
  case hal::Finding::Grade::ok:
    return "ok";
  case hal::Finding::Grade::note:
    return "note";
  case hal::Finding::Grade::missing:
    return "missing";
  }
  return "?";
}

int probe(const Options& options) {
  std::ostream& out = text_output(options.json);
  nlohmann::json json = nlohmann::json::array();
  const auto findings = hal::Machine(options.root).probe();
  for (const hal::Finding& finding : findings) {
    out << "[" << name(finding.grade) << "] " << finding.subject << ": " << finding.state << '\n';
    if (!finding.advice.empty()) out << "    " << finding.advice << '\n';
    json.push_back({{"subject", finding.subject}, {"grade", name(finding.grade)}, {"state", finding.state}, {"advice", finding.advice}});
  }
  if (const auto written = write_json(options.json, json); !written) return report(written.error());
  return 0;
}

} // namespace

void add_probe(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand("probe", "Say what this machine can and cannot do for real time, and what to change");
  const auto options = std::make_shared<Options>();
  command->add_option("--root", options->root, "Folder that stands in for / when files under /sys and /proc are read")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  add_json_option(*command, options->json);
  command->callback([options, &exit_code] { exit_code = probe(*options); });
}

} // namespace rtexec::command
