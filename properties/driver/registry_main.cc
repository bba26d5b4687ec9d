// Every law on this project's own kernels: the hardened ones, unless --kernel names others. ./flashproof properties
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "kernels/observe.h"
#include "kernels/registry.h"
#include "properties/driver/property_main.h"
#include "properties/laws/race_observer.h"

int main(int argc, char** argv) {
  using namespace flashproof;
  set_race_observer(observe);
  const bool named = std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--kernel"; });
  std::vector<KernelDeclaration> chosen;
  try {
    for (const Kernel& kernel : kernels()) {
      // Seeded faults are for `report --faults`: their dose and their margins come with the registry.
      if (kernel.form == Form::hardened || (named && kernel.form == Form::published)) chosen.push_back(kernel);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "flashproof: %s\n", e.what());
    return 3;
  }
  return property_main(argc, argv, chosen);
}
