// Access to the elements of tensors in every storage, one by one and in chunks of 16 bytes.
#pragma once

#include "tasks/engine/cuda/kernels/primitives.cuh"

namespace rtexec::tasks::cuda {

/// A number of half precision (IEEE binary16), as stored. Arithmetic is in float.
struct Half {
  unsigned short bits;
};

/// An 8-bit integer.
struct Byte {
  signed char value;
};

/// Integers of 2 and 8 bytes, which kernels only move.
struct Short {
  unsigned short bits;
};
struct Wide {
  unsigned long long bits;
};
/// True for the element types to which activations are applied.
template <class Scalar> constexpr bool is_float = sizeof(Scalar) == 4;
template <> constexpr bool is_float<Half> = true;

DEVICE float to_float(float value) { return value; }
DEVICE float to_float(Byte value) { return static_cast<float>(value.value); }
DEVICE float to_float(Short value) { return static_cast<float>(value.bits); }
DEVICE float to_float(Half value) { return half_bits_to_float(value.bits); }

template <class Scalar> DEVICE Scalar from_float(float value);
template <> DEVICE float from_float<float>(float value) { return value; }
template <> DEVICE Half from_float<Half>(float value) { return Half{float_to_half_bits(value)}; }

template <> DEVICE Byte from_float<Byte>(float value) {
  return Byte{static_cast<signed char>(static_cast<int>(value))};
}
template <> DEVICE Short from_float<Short>(float value) {
  return Short{static_cast<unsigned short>(static_cast<int>(value))};
}

/// `words` words of 32 bits that one access reads or writes. Their address is a multiple of their total size.
template <unsigned words> struct alignas(words * 4) Words { unsigned word[words]; };

/// `count` elements, converted to floats, that one access reads or writes. The address must be a multiple of their
/// total size. Elements of type `Wide` stay integers.
template <class Scalar, int count> struct Elements;

template <class Scalar> struct Elements<Scalar, 1> {
  float values[1];
  DEVICE void load(const Scalar* from) { values[0] = to_float(*from); }
  DEVICE void store(Scalar* to) const { *to = from_float<Scalar>(values[0]); }
};

template <> struct Elements<Wide, 1> {
  unsigned long long values[1];
  DEVICE void load(const Wide* from) { values[0] = from->bits; }
  DEVICE void store(Wide* to) const { to->bits = values[0]; }
};

template <unsigned count> struct FloatElements {
  float values[count];
  DEVICE void load(const float* from) {
    must_be_aligned(from, count * 4);
    const auto words = *reinterpret_cast<const Words<count>*>(from);
    for (unsigned i = 0; i < count; ++i) values[i] = bits_float(words.word[i]);
  }
  DEVICE void store(float* to) const {
    Words<count> words;
    for (unsigned i = 0; i < count; ++i) words.word[i] = float_bits(values[i]);
    must_be_aligned(to, count * 4);
    *reinterpret_cast<Words<count>*>(to) = words;
  }
};
template <> struct Elements<float, 2> : FloatElements<2> {};
template <> struct Elements<float, 4> : FloatElements<4> {};

DEVICE float low_half(unsigned word) { return half_bits_to_float(static_cast<unsigned short>(word & 0xffffU)); }
DEVICE float high_half(unsigned word) { return half_bits_to_float(static_cast<unsigned short>(word >> 16U)); }
DEVICE unsigned two_halves(float low, float high) {
  return static_cast<unsigned>(float_to_half_bits(low)) | static_cast<unsigned>(float_to_half_bits(high)) << 16U;
}

template <unsigned count> struct HalfElements {
  float values[count];
  DEVICE void load(const Half* from) {
    must_be_aligned(from, count * 2);
    const auto words = *reinterpret_cast<const Words<count / 2>*>(from);
    for (unsigned i = 0; i < count; i += 2) {
      values[i] = low_half(words.word[i / 2]);
      values[i + 1] = high_half(words.word[i / 2]);
    }
  }
  DEVICE void store(Half* to) const {
    Words<count / 2> words;
    for (unsigned i = 0; i < count; i += 2) words.word[i / 2] = two_halves(values[i], values[i + 1]);
    must_be_aligned(to, count * 2);
    *reinterpret_cast<Words<count / 2>*>(to) = words;
  }
};
template <> struct Elements<Half, 2> : HalfElements<2> {};
template <> struct Elements<Half, 4> : HalfElements<4> {};
template <> struct Elements<Half, 8> : HalfElements<8> {};

template <unsigned count> struct ShortElements {
  float values[count];
  DEVICE void load(const Short* from) {
    must_be_aligned(from, count * 2);
    const auto words = *reinterpret_cast<const Words<count / 2>*>(from);
    for (unsigned i = 0; i < count; ++i) values[i] = static_cast<float>(words.word[i / 2] >> 16U * (i % 2) & 0xffffU);
  }
  DEVICE void store(Short* to) const {
    Words<count / 2> words{};
    for (unsigned i = 0; i < count; ++i) words.word[i / 2] |= static_cast<unsigned>(values[i]) << 16U * (i % 2);
    must_be_aligned(to, count * 2);
    *reinterpret_cast<Words<count / 2>*>(to) = words;
  }
};
template <> struct Elements<Short, 8> : ShortElements<8> {};

template <> struct Elements<Wide, 2> {
  unsigned long long values[2];
  DEVICE void load(const Wide* from) {
    must_be_aligned(from, 16);
    const auto words = *reinterpret_cast<const Words<4>*>(from);
    for (unsigned i = 0; i < 2; ++i)
      values[i] = static_cast<unsigned long long>(words.word[2 * i + 1]) << 32U | words.word[2 * i];
  }
  DEVICE void store(Wide* to) const {
    Words<4> words;
    for (unsigned i = 0; i < 4; ++i) words.word[i] = static_cast<unsigned>(values[i / 2] >> 32U * (i % 2));
    must_be_aligned(to, 16);
    *reinterpret_cast<Words<4>*>(to) = words;
  }
};

DEVICE int byte_of(unsigned word, unsigned i) { return static_cast<signed char>(word >> 8U * i & 0xffU); }

template <unsigned count> struct ByteElements {
  float values[count];
  DEVICE void load(const Byte* from) {
    must_be_aligned(from, count);
    const auto words = *reinterpret_cast<const Words<count / 4>*>(from);
    for (unsigned i = 0; i < count; ++i) values[i] = static_cast<float>(byte_of(words.word[i / 4], i % 4));
  }
  DEVICE void store(Byte* to) const {
    Words<count / 4> words{};
    for (unsigned i = 0; i < count; ++i)
      words.word[i / 4] |= (static_cast<unsigned>(static_cast<int>(values[i])) & 0xffU) << 8U * (i % 4);
    must_be_aligned(to, count);
    *reinterpret_cast<Words<count / 4>*>(to) = words;
  }
};
template <> struct Elements<Byte, 4> : ByteElements<4> {};
template <> struct Elements<Byte, 8> : ByteElements<8> {};
template <> struct Elements<Byte, 16> : ByteElements<16> {};

/// The number of elements in 16 bytes.
template <class Scalar> constexpr int chunk_elements = 16 / static_cast<int>(sizeof(Scalar));

/// `count` neighbouring elements as stored. at() and value() return one element.
template <class Scalar, int count> struct Stored {
  Words<count * sizeof(Scalar) / 4> words;
  DEVICE void load(const void* from) {
    must_be_aligned(from, sizeof words);
    words = *static_cast<const decltype(words)*>(from);
  }
  DEVICE Scalar at(int i) const {
    if constexpr (sizeof(Scalar) == 4) return bits_float(words.word[i]);
    else return Half{static_cast<unsigned short>(i % 2 == 0 ? words.word[i / 2] & 0xffffU : words.word[i / 2] >> 16U)};
  }
  DEVICE float value(int i) const { return to_float(at(i)); }
};
template <> struct Stored<Half, 1> {
  Half only;
  DEVICE void load(const Half* from) { only = *from; }
  DEVICE float value(int) const { return to_float(only); }
};
template <class Scalar> using Chunk = Stored<Scalar, chunk_elements<Scalar>>;

/// True for element types whose products and sums are integers.
template <class Scalar> constexpr bool is_byte = false;
template <> constexpr bool is_byte<Byte> = true;
template <class Scalar> struct SumType { using type = float; };
template <> struct SumType<Byte> { using type = int; };

template <class Pointer> DEVICE bool aligned(Pointer pointer, unsigned bytes = 16) {
  return reinterpret_cast<unsigned long long>(pointer) % bytes == 0;
}

} // namespace rtexec::tasks::cuda
