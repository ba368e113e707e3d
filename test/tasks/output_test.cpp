#include "tasks/media/network_output.hpp"

#include "tasks/media/picture.hpp"
#include "tasks/media/detector.hpp"
#include "tasks/media/draw.hpp"
#include "tasks/media/suppression.hpp"
#include "tasks/base/shape.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/test_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace rtexec::tasks {
namespace {

const Metadata kTinyDetector{{"rtexec.task", "detect"}, {"rtexec.anchors", "10,20 30,40"}};

/// A head with two anchors, three classes, 2 rows and 4 columns of 32 pixels. It detects nothing until put() adds an
/// object.
struct TinyHead {
  static constexpr std::size_t kClasses = 3, kRows = 2, kColumns = 4, kPlane = kRows * kColumns;
  std::vector<float> values = std::vector<float>(2 * (5 + kClasses) * kPlane, -20.0f);

  float& at(std::size_t anchor, std::size_t plane, std::size_t row, std::size_t column) {
    return values[(anchor * (5 + kClasses) + plane) * kPlane + row * kColumns + column];
  }
  void put(std::size_t anchor, std::size_t row, std::size_t column, std::size_t label, float objectness = 20) {
    for (std::size_t plane = 0; plane < 4; ++plane) at(anchor, plane, row, column) = 0;
    at(anchor, 4, row, column) = objectness;
    at(anchor, 5 + label, row, column) = 20;
  }
};

std::vector<rtexec::Tensor> tensors(const std::vector<Shape>& shapes) {
  std::vector<rtexec::Tensor> made;
  for (const auto& shape : shapes) made.push_back({.name = "y", .shape = shape, .bytes = {}});
  return made;
}

Result<std::unique_ptr<OutputDecoder>> decoder_of(const Metadata& metadata, const Shape& input,
                                                  const std::vector<Shape>& outputs) {
  return make_decoder(metadata, tensors({input}), tensors(outputs));
}

/// Returns a tensor that refers to `values`.
rtexec::Tensor tensor_of(std::vector<float>& values) {
  return {.name = "y", .shape = {}, .bytes = std::as_writable_bytes(std::span(values))};
}

std::unique_ptr<OutputDecoder> tiny_decoder() {
  auto decoder = decoder_of(kTinyDetector, {1, 3, 64, 128}, {{1, 16, 2, 4}});
  EXPECT_TRUE(decoder) << decoder.error().what;
  return std::move(*decoder);
}

void decode(OutputDecoder& decoder, std::vector<float> values) {
  const auto output = tensor_of(values);
  decoder.decode({&output, 1});
}

TEST(Detector, GivesSameBoxesForChannelsLastInput) {
  TinyHead head;
  head.put(1, 1, 2, 2);
  const auto boxes = [&](const Shape& input) {
    auto decoder = decoder_of(kTinyDetector, input, {{1, 16, 2, 4}});
    EXPECT_TRUE(decoder) << decoder.error().what;
    decode(**decoder, head.values);
    return std::vector((*decoder)->boxes().begin(), (*decoder)->boxes().end());
  };
  const auto planar = boxes({1, 3, 64, 128}), interleaved = boxes({1, 64, 128, 3});
  ASSERT_EQ(planar.size(), 1u);
  ASSERT_EQ(interleaved.size(), 1u);
  EXPECT_EQ(std::memcmp(planar.data(), interleaved.data(), sizeof(Box)), 0);
}

TEST(Detector, DecodesBoxPositionFromHead) {
  TinyHead head;
  head.put(1, 1, 2, 2);
  head.at(1, 2, 1, 2) = std::log(2.0f); // twice the anchor's width
  const auto decoder = tiny_decoder();
  decode(*decoder, head.values);
  ASSERT_EQ(decoder->boxes().size(), 1u);
  const Box& box = decoder->boxes()[0];
  EXPECT_NEAR(box.left, 80 - 30, 1e-3);
  EXPECT_NEAR(box.right, 80 + 30, 1e-3);
  EXPECT_NEAR(box.top, 48 - 20, 1e-3);
  EXPECT_NEAR(box.bottom, 64, 1e-3); // clipped to the input
  EXPECT_EQ(box.label, 2u);
  EXPECT_NEAR(box.score, 1, 1e-6);
  EXPECT_TRUE(decoder->classes().empty());
}

TEST(Detector, KeepsBestOverlappingBoxAndForgetsLastPicture) {
  TinyHead head;
  head.put(0, 0, 0, 1, 1);
  head.put(0, 0, 2, 1, 3);
  head.put(1, 0, 2, 0, 2);
  head.at(0, 0, 0, 0) = 20, head.at(0, 2, 0, 0) = 1.5f; // reaches beyond the image, but not far enough
  const auto decoder = tiny_decoder();
  decode(*decoder, head.values);
  ASSERT_EQ(decoder->boxes().size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(decoder->boxes(), std::greater{}, &Box::score));

  head.put(0, 0, 3, 1, 2);
  head.at(0, 0, 0, 3) = -20, head.at(0, 0, 0, 2) = 20; // both on the border of their cells: the same position
  decode(*decoder, head.values);
  EXPECT_EQ(decoder->boxes().size(), 3u);
  decode(*decoder, TinyHead{}.values);
  EXPECT_TRUE(decoder->boxes().empty());
}

TEST(Detector, GivesValidBoxesForNonFiniteOutputs) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY, 1e38f})
    for (std::size_t plane = 0; plane < 8; ++plane) {
      TinyHead head;
      head.put(0, 1, 1, 0);
      head.at(0, plane, 1, 1) = value;
      const auto decoder = tiny_decoder();
      decode(*decoder, head.values);
      for (const Box& box : decoder->boxes()) {
        EXPECT_TRUE(box.left >= 0 && box.left < box.right && box.right <= 128) << plane << " " << value;
        EXPECT_TRUE(box.top >= 0 && box.top < box.bottom && box.bottom <= 64) << plane << " " << value;
        EXPECT_TRUE(box.score >= Detector::kThreshold && box.score <= 1);
      }
    }
}

TEST(Detector, LimitsBoxesWithoutAllocatingWhenEveryCellHasOne) {
  const std::vector<Shape> shapes{{1, 255, 13, 13}, {1, 255, 26, 26}};
  const Metadata metadata{{"rtexec.task", "detect"}, {"rtexec.anchors", "8,8 9,9 10,10; 4,4 5,5 6,6"}};
  const auto decoder = decoder_of(metadata, {1, 3, 416, 416}, shapes);
  ASSERT_TRUE(decoder);
  std::mt19937 random(1);
  std::vector<std::vector<float>> values;
  for (const auto& shape : shapes) {
    values.emplace_back(static_cast<std::size_t>(element_count(shape)));
    std::ranges::generate(values.back(), [&] { return static_cast<float>(random() % 1000) / 500 + 1; });
  }
  std::vector<rtexec::Tensor> outputs;
  for (auto& each : values) outputs.push_back(tensor_of(each));
  const auto before = test::allocations();
  (*decoder)->decode(outputs);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ((*decoder)->boxes().size(), Detector::kMostBoxes);
}

/// Computes the definition in double precision: repeatedly keeps the best remaining box, and drops the boxes that it
/// covers.
std::vector<float> suppressed_scores(std::vector<Box> left, double most) {
  const auto cover = [&](const Box& a, const Box& b) {
    const auto span = [](double a1, double a2, double b1, double b2) {
      return std::max(0.0, std::min(a2, b2) - std::max(a1, b1));
    };
    const double both = span(a.left, a.right, b.left, b.right) * span(a.top, a.bottom, b.top, b.bottom);
    const auto area = [](const Box& box) {
      return (double{box.right} - double{box.left}) * (double{box.bottom} - double{box.top});
    };
    return a.label == b.label && both > most * (area(a) + area(b) - both);
  };
  std::vector<float> kept;
  while (!left.empty()) {
    const Box best = *std::ranges::max_element(left, {}, &Box::score);
    kept.push_back(best.score);
    std::erase_if(left, [&](const Box& box) { return box.score == best.score || cover(best, box); });
  }
  return kept;
}

TEST(NonMaxSuppression, MatchesReference) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> unit(0, 1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Box> boxes;
    for (int i = 0; i < round % 60; ++i) {
      const float x = 50 * unit(random), y = 50 * unit(random);
      boxes.push_back({x, y, x + 5 + 30 * unit(random), y + 5 + 30 * unit(random), unit(random),
                       static_cast<std::uint32_t>(random() % 3)});
    }
    const auto expected = suppressed_scores(boxes, 0.45);
    const std::size_t kept = suppress(boxes, 0.45f);
    std::vector<float> scores;
    for (std::size_t i = 0; i < kept; ++i) scores.push_back(boxes[i].score);
    EXPECT_EQ(scores, expected) << round;
  }
}

TEST(Classifier, RanksBySoftmax) {
  const auto decoder = decoder_of({{"rtexec.task", "classify"}}, {1, 3, 8, 8}, {{1, 7}});
  ASSERT_TRUE(decoder);
  std::vector<float> logits{1, 5, -3, 1000, 999, 2, 998};
  const auto output = tensor_of(logits);
  const auto before = test::allocations();
  (*decoder)->decode({&output, 1});
  EXPECT_EQ(test::allocations(), before);
  const auto classes = (*decoder)->classes();
  ASSERT_EQ(classes.size(), 5u);
  const std::uint32_t order[] = {3, 4, 6, 1, 5};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(classes[i].label, order[i]);
  const double sum = 1 + std::exp(-1) + std::exp(-2);
  EXPECT_NEAR(classes[0].score, 1 / sum, 1e-6);
  EXPECT_NEAR(classes[1].score, std::exp(-1) / sum, 1e-6);
  EXPECT_TRUE((*decoder)->boxes().empty());
}

TEST(Classifier, RanksAllClassesWhenThereAreFew) {
  const auto decoder = decoder_of({{"rtexec.task", "classify"}}, {1, 4}, {{1, 2}});
  ASSERT_TRUE(decoder);
  decode(**decoder, {0, 1});
  ASSERT_EQ((*decoder)->classes().size(), 2u);
  EXPECT_EQ((*decoder)->classes()[0].label, 1u);
}

TEST(Metadata, GivesNoDecoderWithoutTask) {
  const auto decoder = decoder_of({}, {1, 3, 8, 8}, {{1, 7}});
  ASSERT_TRUE(decoder);
  EXPECT_EQ(*decoder, nullptr);
}

TEST(Metadata, RejectsInvalidTaskOrAnchors) {
  const auto error = [](const Metadata& metadata, const std::vector<Shape>& outputs) {
    const auto decoder = decoder_of(metadata, {1, 3, 64, 128}, outputs);
    if (decoder) return std::string("was accepted");
    EXPECT_EQ(decoder.error().code, Errc::bad_input);
    return decoder.error().what;
  };
  const auto anchors = [&](const std::string& text) {
    return error({{"rtexec.task", "detect"}, {"rtexec.anchors", text}}, {{1, 16, 2, 4}});
  };
  EXPECT_EQ(error({{"rtexec.task", "segment"}}, {{1, 7}}),
            "metadata rtexec.task = \"segment\": must be \"detect\" or \"classify\"");
  EXPECT_NE(error({{"rtexec.task", "classify"}}, {{1, 7}, {1, 7}}).find("needs one output, not 2"), std::string::npos);
  EXPECT_NE(anchors("").find("has anchors for 0 of the 1 outputs"), std::string::npos);
  EXPECT_NE(anchors("1,2;3,4").find("has anchors for 2 of the 1 outputs"), std::string::npos);
  EXPECT_NE(anchors("1,2 3").find("\"3\" is not WIDTH,HEIGHT"), std::string::npos);
  EXPECT_NE(anchors("1,2 3,-4").find("\"3,-4\" is not WIDTH,HEIGHT"), std::string::npos);
  EXPECT_NE(anchors("1,2 3,nan").find("is not WIDTH,HEIGHT"), std::string::npos);
  EXPECT_NE(anchors(" ").find("an output has no anchor"), std::string::npos);
  EXPECT_NE(anchors("1,2 3,4 5,6").find("output 0 of shape 1x16x2x4 must have anchors"), std::string::npos);
  EXPECT_NE(anchors("1,2 1,2 1,2 1,2").find("must have anchors"), std::string::npos);
}

TEST(Metadata, RequiresFloat32Outputs) {
  auto output = tensors({{1, 7}});
  output.front().type = ElementType::float16;
  const auto decoder = make_decoder({{"rtexec.task", "classify"}}, tensors({{1, 3, 8, 8}}), output);
  ASSERT_FALSE(decoder);
  EXPECT_NE(decoder.error().what.find("needs outputs of float32, and 'y' is of float16"), std::string::npos)
      << decoder.error().what;
}

TEST(Metadata, GivesNormalisationOfPictures) {
  const auto plain = normalization_of({});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->mean, (std::array<float, 3>{0, 0, 0}));
  EXPECT_EQ(plain->deviation, (std::array<float, 3>{1, 1, 1}));
  const auto given = normalization_of({{"rtexec.mean", "0.5,0.25,0"}, {"rtexec.std", "0.5,2,1"}});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->mean, (std::array<float, 3>{0.5f, 0.25f, 0}));
  EXPECT_EQ(given->deviation, (std::array<float, 3>{0.5f, 2, 1}));
  EXPECT_NE(normalization_of({{"rtexec.mean", "0.5"}}).error().what.find("must be three numbers"), std::string::npos);
  EXPECT_NE(normalization_of({{"rtexec.std", "1,1,0"}}).error().what.find("must be above zero"), std::string::npos);
}

TEST(PictureDrawing, DrawsBoxFramesClippedToPicture) {
  Picture picture{{100, 60}, std::vector<std::uint8_t>(100 * 60 * 3, 9)};
  const std::vector<Box> boxes{{20, 30, 60, 50, 0.75f, 1}, {-50, -50, 500, 500, 0.5f, 2}};
  draw(picture, boxes);
  const auto red = [&](int x, int y) { return picture.rgb[static_cast<std::size_t>(y * 100 + x) * 3 + 1]; };
  EXPECT_EQ(red(40, 30), 230); // the frame, in the colour of class 1
  EXPECT_EQ(red(59, 40), 230);
  EXPECT_EQ(red(40, 40), 9); // not the inside of the box
  const std::vector<RankedClass> classes(5, RankedClass{999, 0.25f});
  draw(picture, classes);
  Picture tiny{{1, 1}, {0, 0, 0}};
  draw(tiny, boxes);
  draw(tiny, classes);
}

/// Computes from its edges alone which pixels a box may change, and which of them have its colour.
struct Oracle {
  static constexpr int width = 90, height = 70, line = 2, label_height = 12;
  explicit Oracle(const Box& box) {
    if (!(std::abs(box.left) < 1e30f && std::abs(box.top) < 1e30f && std::abs(box.right) < 1e30f &&
          std::abs(box.bottom) < 1e30f))
      return;
    const double left = std::round(box.left), top = std::round(box.top), right = std::round(box.right),
                 bottom = std::round(box.bottom);
    seen = left < width && top < height && right > 0 && bottom > 0;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const bool inside = x >= left && x < right && y >= top && y < bottom;
        const bool border = x < left + line || x >= right - line || y < top + line || y >= bottom - line;
        const double text = top >= label_height ? top - label_height : std::max(top, 0.0);
        framed.push_back(seen && inside && border);
        labelled.push_back(seen && y >= text && y < text + label_height);
      }
  }
  bool seen = false;
  std::vector<bool> framed, labelled; // by pixel; empty: nothing is drawn
};

TEST(PictureDrawing, PaintsOnlyFrameAndLabelWithinPicture) {
  constexpr std::size_t pixels = Oracle::width * Oracle::height, beyond = 3 * Oracle::width * 20;
  constexpr float none = std::numeric_limits<float>::quiet_NaN(), far = std::numeric_limits<float>::infinity();
  std::mt19937 random(7);
  std::uniform_real_distribution<float> position(-60, 150);
  std::vector<Box> boxes{{0, 0, 90, 70, 1, 0},          {-1, -1, 91, 71, 1, 1}, {89, 69, 90, 70, 1, 2},
                         {90, 0, 120, 70, 1, 3},        {-9, 10, 0, 20, 1, 4},  {10, -9, 20, 0, 1, 5},
                         {10, 70, 20, 90, 1, 6},        {none, 1, 9, 9, 1, 7},  {1, 1, far, far, 1, 8},
                         {-1e9f, -1e9f, 1e9f, 1e9f, 1}, {30, 30, 30, 30, 1, 9}, {-3e9f, 20, 3e9f, 40, 1, 10}};
  for (int i = 0; i < 500; ++i) {
    const float left = position(random), top = position(random);
    boxes.push_back({left, top, left + std::abs(position(random)), top + std::abs(position(random)), 0.5f,
                     static_cast<std::uint32_t>(random() % 80)});
  }
  for (const Box& box : boxes) {
    Picture picture{{Oracle::width, Oracle::height}, std::vector<std::uint8_t>(3 * pixels + beyond, 9)};
    draw(picture, std::span(&box, 1));
    const Oracle oracle(box);
    const std::string what = testing::PrintToString(std::array{box.left, box.top, box.right, box.bottom});
    const auto changed = [&](std::size_t pixel) {
      return std::any_of(&picture.rgb[3 * pixel], &picture.rgb[3 * pixel] + 3, [](auto byte) { return byte != 9; });
    };
    std::size_t wrong = 0;
    for (std::size_t pixel = 0; pixel < pixels && !oracle.framed.empty(); ++pixel)
      if (!oracle.labelled[pixel]) wrong += changed(pixel) != oracle.framed[pixel];
    if (!oracle.seen)
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) wrong += changed(pixel);
    EXPECT_EQ(wrong, 0u) << what;
    for (std::size_t i = 3 * pixels; i < picture.rgb.size(); ++i) ASSERT_EQ(picture.rgb[i], 9) << what;
  }
}

TEST(PictureDrawing, JpegRoundTripChangesPixelsLittle) {
  const test::ScratchFolder folder;
  Picture picture{{64, 48}, std::vector<std::uint8_t>(64 * 48 * 3, 40)};
  draw(picture, std::vector<Box>{{8, 16, 40, 40, 0.5f, 2}});
  std::vector<std::byte> file(3);
  encode_jpeg(picture, file);
  test::write_text(folder / "p.jpg", {reinterpret_cast<const char*>(file.data()), file.size()});
  const auto back = read_picture(folder / "p.jpg");
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_EQ(back->rgb.size(), picture.rgb.size());
  double sum = 0;
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) sum += std::abs(back->rgb[i] - picture.rgb[i]);
  EXPECT_LT(sum / static_cast<double>(picture.rgb.size()), 3);
}

TEST(PictureDrawing, PngRoundTripIsLossless) {
  const test::ScratchFolder folder;
  Picture picture{{31, 7}, {}};
  std::mt19937 random(1);
  for (int i = 0; i < 31 * 7 * 3; ++i) picture.rgb.push_back(static_cast<std::uint8_t>(random()));
  ASSERT_TRUE(write_png(picture, folder / "p.png"));
  const auto back = read_picture(folder / "p.png");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->rgb, picture.rgb);
  EXPECT_EQ(back->size.width, 31);
  EXPECT_NE(write_png(picture, folder / "no/p.png").error().what.find("cannot write it"), std::string::npos);
}

} // namespace
} // namespace rtexec::tasks
