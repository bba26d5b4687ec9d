// traffic: how often the softmax kernels read and write global memory, beside what the documents claim.
#include <cstdio>

#include <fmt/format.h>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/run/plan.h"
#include "reports/traffic/traffic.h"

namespace flashproof {

int traffic_command(const TrafficArguments& arguments) {
  const auto format = parse_format(arguments.format);
  if (!format || (*format != Format::f32 && *format != Format::f16 && *format != Format::bf16)) {
    throw UsageError("--format " + quote(arguments.format) + ": f32, f16 or bf16");
  }
  if (arguments.rows * arguments.cols > kMostTrafficElements) {
    throw UsageError(
        fmt::format("--rows {} --cols {}: at most {} elements", arguments.rows, arguments.cols, kMostTrafficElements));
  }
  std::vector<const Kernel*> kernels = select_kernels(arguments.kernels);
  std::erase_if(kernels, [&](const Kernel* kernel) {
    return kernel->problem != ProblemKind::softmax || !kernel->supports(*format);
  });
  if (kernels.empty()) throw UsageError("traffic: no selected kernel is a softmax of this format");
  std::map<std::string, MeasuredTraffic> measured;
  if (!arguments.measured.empty()) {
    measured = option_file("--measured", [&] { return read_measured(arguments.measured, *format); });
  }
  const std::string table = traffic_table(kernels, *format, arguments.rows, arguments.cols, measured);
  std::fwrite(table.data(), 1, table.size(), stdout);
  return kExitFine;
}

}  // namespace flashproof
