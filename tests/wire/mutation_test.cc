// Seeded mutations of valid messages through the fuzz entry. Run under AddressSanitizer this is the
// check that no message reads outside its buffer.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "tests/wire/samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hotrow::wire {
namespace {

constexpr int kMutations = 100'000;
constexpr uint32_t kSeed = 1;

using Random = std::mt19937;

// Varints at the edges of their widths, as lengths and counts go wrong.
const std::string& EdgeVarint(Random& random) {
  static const std::vector<std::string> edges = {std::string(1, '\0'),
                                                 "\x7f",
                                                 "\x80\x01",
                                                 "\xff\xff\xff\xff\x07",
                                                 "\xff\xff\xff\xff\x0f",
                                                 "\x80\x80\x80\x80\x10",
                                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                                 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"};
  return edges[random() % edges.size()];
}

void MutateOnce(std::string& bytes, const std::string& other, Random& random) {
  const size_t at = random() % (bytes.size() + 1);
  const size_t length = 1 + random() % 16;
  switch (random() % 6) {
    case 0:  // flip a bit
      if (at < bytes.size()) bytes[at] ^= static_cast<char>(1U << random() % 8);
      break;
    case 1:  // write a random byte, small ones more often
      if (at < bytes.size()) bytes[at] = static_cast<char>(random() >> random() % 8);
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(random() % (bytes.size() + 1), length));
      break;
    case 4:
      bytes.replace(at, std::min<size_t>(bytes.size() - at, random() % 3), EdgeVarint(random));
      break;
    default:
      bytes.insert(at, other.substr(random() % other.size(), length));
  }
}

TEST(Mutation, NoMutatedMessageBreaksADecoder) {
  std::printf("seed %u\n", kSeed);
  Random random(kSeed);
  const std::vector<EncodedSample>& samples = EncodedSamples();
  for (int i = 0; i < kMutations; ++i) {
    const size_t chosen = random() % samples.size();
    std::string bytes = samples[chosen].bytes;
    // Mostly headers are changed: a payload is bytes that no decoder interprets.
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      MutateOnce(bytes, samples[random() % samples.size()].bytes, random);
    }
    const uint8_t slice_bytes = random() % 4 == 0 ? random() % 40 : 0;
    bytes.insert(0, {static_cast<char>(slice_bytes), static_cast<char>(chosen)});
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

TEST(Mutation, RandomBytesBreakNoDecoder) {
  std::printf("seed %u\n", kSeed);
  for (uint32_t i = 0; i < 20'000; ++i) {
    std::string bytes = MixedBytes(2 + i % 67, kSeed + i);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

TEST(Mutation, TheUnchangedSamplesAreAccepted) {
  for (const EncodedSample& sample : EncodedSamples()) {
    EXPECT_TRUE(sample.decode(BufferOf(sample.bytes, 0)).ok()) << sample.name;
  }
}

}  // namespace
}  // namespace hotrow::wire
