#include "config/base/text.hpp"
#include "rtexec/cli/command/command.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rtexec::command {

int report(const Error& error) {
  std::cout.flush();
  constexpr std::size_t longest = 4000, most = 200; // maximum bytes of a line; maximum number of lines
  std::istringstream lines(error.what);
  std::string line;
  for (std::size_t shown = 0; shown < most && std::getline(lines, line); ++shown)
    std::cerr << "rtexec: " << config::printable(line, longest) << '\n';
  return exit_code(error.code);
}

Result<> write_json(OutputFile& file, const nlohmann::json& json) {
  if (!file) return {};
  return file.write(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

} // namespace rtexec::command
