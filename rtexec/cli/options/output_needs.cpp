#include "rtexec/cli/options/output_needs.hpp"

#include "hal/machine_files.hpp"
#include "rtexec/runtime/channels/run_folder.hpp"
#include "rtexec/cli/options/output_file.hpp"

#include <algorithm>

namespace rtexec::command {
namespace {

using executive::Requirement;

Requirement need(const char* key, const Result<>& outcome, const std::string& file) {
  const std::string subject = std::string("[output] ") + key;
  if (outcome) return executive::given(subject, file + " can be written");
  Requirement refused = executive::refused(subject, outcome.error());
  refused.indispensable = true;
  return refused;
}

void add_file(std::vector<Requirement>& needs, const char* key, const std::filesystem::path& file) {
  if (file.empty()) return;
  const auto opened = OutputFile::open(file);
  needs.push_back(need(key, opened ? Result<>() : Result<>(Unexpected(opened.error())), file.string()));
}

Result<> check_recorder() {
  const auto findings = hal::Machine().probe();
  const auto recorder = std::ranges::find(findings, "LTTng", &hal::Finding::subject);
  if (recorder == findings.end() || recorder->grade == hal::Finding::Grade::ok) return {};
  return fail(Errc::refused, recorder->state + '\n' + recorder->advice);
}

} // namespace

std::vector<Requirement> find_output_needs(const OutputOptions& output) {
  std::vector<Requirement> needs;
  if (output.json == "-" && output.jobs == "-")
    needs.push_back(need(
        "jobs", fail(Errc::bad_input, "json and jobs cannot both use standard output: give one of them a file"), ""));
  add_file(needs, "json", output.json);
  add_file(needs, "jobs", output.jobs);
  if (output.trace.empty()) return needs;
  needs.push_back(need("trace", channels::RunFolder(output.trace).check(), output.trace.string()));
  if (const auto recorder = check_recorder(); !recorder) needs.push_back(need("trace", recorder, ""));
  return needs;
}

} // namespace rtexec::command
