#include "properties/driver/property_main.h"

namespace flashproof::cpu {
std::span<const KernelDeclaration> stranger_kernels();
}  // namespace flashproof::cpu

int main(int argc, char** argv) { return flashproof::property_main(argc, argv, flashproof::cpu::stranger_kernels()); }
