// Headers of the standard library that most files include, parsed once per build instead of once per file. The compiler
// includes them before each source file by itself. Every file still includes the headers that it uses: builds under
// sanitizers, which do not use this header, find the files that do not.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
