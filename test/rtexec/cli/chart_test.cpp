// Tests charts of studies: curves with equal values are all visible, and each is named at its end.
#include "rtexec/cli/text/chart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using Points = std::vector<std::pair<double, double>>;

std::vector<Points> curves_of(const std::string& picture) {
  std::vector<Points> curves;
  const std::regex polyline("<polyline points=\"([^\"]*)\"");
  for (std::sregex_iterator found(picture.begin(), picture.end(), polyline), end; found != end; ++found) {
    std::istringstream text((*found)[1].str());
    char comma = 0;
    Points& points = curves.emplace_back();
    for (double x = 0, y = 0; text >> x >> comma >> y;) points.emplace_back(x, y);
  }
  return curves;
}

/// Returns the vertical position of a text.
double height_of(const std::string& picture, const std::string& text) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(picture, found, std::regex(" y=\"([0-9.]+)\"[^>]*>" + text + "</text>"))) << text;
  return found.empty() ? 0 : std::stod(found[1]);
}

Panel panel_of(std::vector<std::vector<double>> values) {
  Panel panel{.title = "a title", .x_label = "n", .y_label = "percent", .categories = {"4", "5", "6"}, .reach = 100};
  for (auto& each : values)
    panel.curves.push_back({.name = "curve " + std::to_string(panel.curves.size()), .values = std::move(each)});
  return panel;
}

TEST(Chart, DrawsCoincidingCurvesSideBySide) {
  const Panel panel = panel_of({{100, 60, 0}, {100, 60, 0}, {100, 60, 0}, {100, 100, 100}, {100, 100, 100}});
  const std::string picture = svg({&panel, 1});
  const auto curves = curves_of(picture);
  ASSERT_EQ(curves.size(), 5u);
  for (std::size_t a = 0; a < curves.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(std::abs(curves[a][i].second - curves[b][i].second), 2.99);
  EXPECT_THAT(picture, HasSubstr("drawn side by side"));
  EXPECT_THAT(picture, HasSubstr("<title>curve 1, 5: 60</title>"));
}

TEST(Chart, DrawsSeparateCurvesAtTheirValues) {
  const Panel panel = panel_of({{0, 50, 100}, {100, 0, 50}});
  const std::string picture = svg({&panel, 1});
  const auto curves = curves_of(picture);
  EXPECT_DOUBLE_EQ(curves[0][0].second, curves[1][1].second);
  EXPECT_DOUBLE_EQ(curves[0][2].second, curves[1][0].second);
  EXPECT_DOUBLE_EQ(curves[0][1].second, curves[1][2].second);
  EXPECT_THAT(picture, Not(HasSubstr("drawn side by side")));
}

TEST(Chart, PlacesNamesAtCurveEndsWithoutOverlap) {
  const Panel panel = panel_of({{100, 60, 0}, {100, 60, 0}, {100, 60, 1}, {100, 100, 100}, {100, 100, 50}});
  const std::string picture = svg({&panel, 1});
  std::vector<double> heights;
  for (int i = 0; i < 5; ++i) heights.push_back(height_of(picture, "curve " + std::to_string(i)));
  EXPECT_NEAR(heights[4], curves_of(picture)[4].back().second, 5);
  EXPECT_NEAR(heights[3], curves_of(picture)[3].back().second, 5);
  EXPECT_GT(heights[0], heights[1]); // the least value is the lowest
  EXPECT_GT(heights[1], heights[2]);
  std::ranges::sort(heights);
  for (std::size_t i = 1; i < heights.size(); ++i) EXPECT_GE(heights[i] - heights[i - 1], 14);
}

TEST(Chart, PlacesNameOfRightAxisCurveBelowOthers) {
  Panel panel = panel_of({{1, 2, 3}, {1, 2, 3}});
  panel.right_label = "other";
  panel.curves[1].right = true;
  const Panel panels[] = {panel, panel};
  const std::string picture = svg(panels);
  EXPECT_EQ(curves_of(picture).size(), 4u);
  EXPECT_GT(height_of(picture, "curve 1"), height_of(picture, "curve 0"));
}

TEST(Chart, SetsViewBoxToItsSize) {
  const Panel panel = panel_of({{1, 2, 3}});
  std::smatch found;
  const std::string picture = svg({&panel, 1});
  ASSERT_TRUE(std::regex_search(
      picture, found, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\" viewBox=\"0 0 ([0-9.]+) ([0-9.]+)\"")));
  EXPECT_EQ(found[1], found[3]);
  EXPECT_EQ(found[2], found[4]);
}

TEST(Chart, IsValidWithoutCurves) {
  EXPECT_THAT(svg({}), HasSubstr("</svg>"));
  const Panel panel = panel_of({{}, {}});
  EXPECT_THAT(svg({&panel, 1}), HasSubstr("</svg>"));
}

} // namespace
} // namespace rtexec::report
