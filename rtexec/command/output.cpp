#include "rtexec/command/command.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rtexec::command {

int report(const Error& error) {
  std::cout.flush();
  std::istringstream lines(error.what);
  for (std::string line; std::getline(lines, line);) std::cerr << "rtexec: " << line << '\n';
  return exit_code(error.code);
}

void add_json_option(CLI::App& command, std::string& file) {
  command.add_option("--json", file, "Write the result as JSON to FILE (- for standard output)")->type_name("FILE");
}

Result<> write_json(const std::string& file, const nlohmann::json& json) {
  if (file.empty()) return {};
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  errno = 0;
  if (file == "-") {
    std::cout << text << std::flush;
    if (std::cout) return {};
  } else {
    std::ofstream out(file);
    if (out << text << std::flush) return {};
  }
  return fail(Errc::refused, "cannot write JSON to '" + file + "': " + std::strerror(errno != 0 ? errno : EIO));
}

} // namespace rtexec::command
