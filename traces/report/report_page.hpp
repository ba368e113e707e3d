// The files report_page.html, .css and .js of this folder, as they were when the library was built.
#pragma once

#include <string_view>

namespace rtexec::traces {

struct PageFiles {
  std::string_view html; // with the marks @STYLE@, @DATA@ and @SCRIPT@, once each and in this order
  std::string_view css;
  std::string_view js;
};

[[nodiscard]] PageFiles page_files();

} // namespace rtexec::traces
