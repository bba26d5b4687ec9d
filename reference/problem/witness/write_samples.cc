// write_samples DIRECTORY: writes the witnesses of samples.h there, for the Python test and for fuzz/corpus/witness.
#include <cstdio>
#include <exception>

#include "reference/problem/witness/samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_samples DIRECTORY\n");
    return 2;
  }
  try {
    for (const auto& [name, witness] : flashproof::samples()) {
      flashproof::write_witness(std::filesystem::path(argv[1]) / (name + ".safetensors"), witness);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_samples: %s\n", error.what());
    return 3;
  }
  return 0;
}
