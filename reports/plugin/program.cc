// flashproof-plugin: kernels behind the C ABI, judged. Links none of this project's own kernels.
#include "reference/system/program.h"
#include "reports/plugin/main.h"

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::plugin_main(argc, argv); });
}
