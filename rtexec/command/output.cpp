#include "rtexec/command/command.hpp"

#include "config/files.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

namespace rtexec::command {
namespace {

/// Anything else that has a name (a pipe, a terminal, what a descriptor leads to) is written as it is.
bool is_file(const std::string& path) {
  if (path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/"))
    return false;
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

Unexpected<Error> json_failure(const std::string& file) {
  return fail(Errc::refused, "cannot write JSON to '" + file + "': " + std::strerror(errno != 0 ? errno : EIO));
}

} // namespace

int report(const Error& error) {
  std::cout.flush();
  std::istringstream lines(error.what);
  for (std::string line; std::getline(lines, line);) std::cerr << "rtexec: " << line << '\n';
  return exit_code(error.code);
}

void add_json_option(CLI::App& command, std::string& file) {
  command.add_option("--json", file, "Write the result as JSON to FILE (- for standard output)")->type_name("FILE");
}

Result<> check_json(const std::string& file) {
  if (file.empty() || file == "-") return {};
  if (is_file(file)) {
    const auto created = AtomicFile::create(file);
    return created ? Result<>() : Unexpected(created.error());
  }
  errno = 0;
  if (::access(file.c_str(), W_OK) == 0) return {}; // a pipe that is opened and closed has ended for its reader
  return json_failure(file);
}

Result<> write_json(const std::string& file, const nlohmann::json& json) {
  if (file.empty()) return {};
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (file != "-" && is_file(file)) return config::replace_file(file, text);
  errno = 0;
  if (file == "-") {
    if (std::cout << text << std::flush) return {};
  } else if (std::ofstream out(file, std::ios::app); out << text << std::flush) {
    return {};
  }
  return json_failure(file);
}

} // namespace rtexec::command
