// Writes what fuzzing of the decoders starts from: every sample message, whole and in slices.
//   decode_seeds FOLDER

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tests/wire/samples.h"

int main(int argc, char** argv) {
  using namespace hotrow::wire;  // NOLINT
  if (argc != 2) {
    std::cerr << "usage: decode_seeds FOLDER\n";
    return EXIT_FAILURE;
  }
  const std::vector<EncodedSample>& samples = EncodedSamples();
  for (size_t i = 0; i < samples.size(); ++i) {
    for (const char slice_bytes : {0, 1, 7, 100}) {
      std::ofstream seed(std::string(argv[1]) + "/" + std::to_string(i) + "_" +
                             std::to_string(static_cast<int>(slice_bytes)),
                         std::ios::binary);
      seed << slice_bytes << static_cast<char>(i) << samples[i].bytes;
      if (!seed.flush()) {
        std::cerr << "cannot write to " << argv[1] << "\n";
        return EXIT_FAILURE;
      }
    }
  }
  return EXIT_SUCCESS;
}
