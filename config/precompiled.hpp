// Headers of the standard library that most files include, parsed once per build instead of once per file. The compiler
// includes this header before each source file. Every file must still include the headers that it uses. Builds with
// sanitizers do not use this header, so they find files with missing includes.
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
