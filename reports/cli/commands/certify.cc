// certify: attention of production size, every row on a GPU or a sample of rows on the CPU; how many rows have a radius
// that is narrow enough, what the rest needs, how fast, and whether the certificate notices what it must.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "reference/oracle/gpu/certification.h"
#include "reference/oracle/gpu/certification_memory.h"
#include "reference/oracle/gpu/production_problem.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"

namespace flashproof {
namespace {

std::string percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  // Not "100 %" for less than all.
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.3f} %", part < whole ? std::min(share, 99.999) : share);
}

std::string rest(const GpuRest& rest) {
  if (rest.total() == 0) return "nothing";
  std::string text;
  const auto add = [&](std::int64_t n, const char* what) {
    if (n > 0) text += fmt::format("{}{} rows {}", text.empty() ? "" : ", ", n, what);
  };
  add(rest.scores, "dd_scores");
  add(rest.sums, "dd");
  add(rest.not_bounded, "dd or exact (no radius)");
  return text;
}

void print_line(const std::string& name, const std::string& value) {
  std::fputs(fmt::format("  {:<34} {}\n", name, value).c_str(), stdout);
}

void print(const Certification& c, Format format, bool gpu, std::int64_t rows_per_head) {
  const GpuShare& s = c.share;
  std::fputs(fmt::format("{}\n", info(format).name).c_str(), stdout);
  print_line("rows", s.rows == c.rows
                         ? fmt::format("{}, every one", s.rows)
                         : fmt::format("{} of {}, a sample of {} per head", s.rows, c.rows, rows_per_head));
  print_line("certified, tolerance C", fmt::format("{} of the rows, {} of the elements", percent(s.rows_c, s.rows),
                                                   percent(s.elements_c, s.elements)));
  print_line("  the rest needs", rest(s.rest_c));
  print_line(fmt::format("certified, 2^-12 ulp of {}", info(format).name),
             fmt::format("{} of the rows, {} of the elements", percent(s.rows_strict, s.rows),
                         percent(s.elements_strict, s.elements)));
  print_line("  the rest needs", rest(s.rest_strict));
  const auto overlapping = [](const Overlap& o) {
    return fmt::format("{} of {} rows overlap, closest {:.3g} of the radii", o.overlapping, o.compared, o.closest);
  };
  print_line("CPU double-double tier", c.dd.compared > 0 ? overlapping(c.dd) : "not compared");
  if (!gpu) {
    print_line("time", fmt::format("{:.1f} ms, {:.4f} TFLOP/s", c.milliseconds, c.teraflops));
    return;
  }
  print_line("time on the device",
             fmt::format("{:.2f} ms (prepare {:.2f}, attention {:.2f}, finish {:.2f}), {:.2f} TFLOP/s", c.milliseconds,
                         c.times.prepare, c.times.attention, c.times.finish, c.teraflops));
  print_line("upload", fmt::format("{:.1f} ms", c.upload_milliseconds));
  print_line("CPU fp64 tier, random rows", overlapping(c.fp64));
  if (c.planted) {
    const auto noticed = [&](std::int64_t n) { return fmt::format("noticed in {} of {} rows", n, c.sampled); };
    print_line("2^-30 planted in Q K^T", noticed(c.planted_scores));
    print_line("2^-30 planted in W V", noticed(c.planted_values));
  }
}

std::vector<Format> formats_of(const std::vector<std::string>& names) {
  std::vector<Format> formats;
  for (const std::string& name : names) {
    const auto format = parse_format(name);
    if (!format || (*format != Format::f16 && *format != Format::bf16 && *format != Format::f32)) {
      throw UsageError("--format " + quote(name) + ": f16, bf16 or f32");
    }
    formats.push_back(*format);
  }
  if (formats.empty()) formats = {Format::f16, Format::bf16, Format::f32};
  return formats;
}

std::int64_t kv_heads_of(const CertifyArguments& a) { return a.kv_heads > 0 ? a.kv_heads : a.heads; }

std::vector<ProductionShape> shapes_of(const CertifyArguments& a) {
  std::vector<ProductionShape> shapes;
  for (const Format format : formats_of(a.formats)) {
    shapes.push_back({.heads = a.heads,
                      .kv_heads = kv_heads_of(a),
                      .length = a.length,
                      .depth = a.dim,
                      .format = format,
                      .causal = a.causal,
                      .seed = a.seed});
    check(shapes.back());
  }
  return shapes;
}

void print_heading(const CertifyArguments& a, bool gpu) {
  const GpuCeiling ceiling = gpu ? gpu_ceiling(a.cublas) : GpuCeiling{};
  std::string text =
      fmt::format("certify: {} heads ({} of K and V), {} x {} x {}, {}, seed {}, on the {}\n", a.heads, kv_heads_of(a),
                  a.length, a.length, a.dim, a.causal ? "causal" : "full", a.seed, gpu ? "GPU" : "CPU");
  if (gpu) {
    text += fmt::format("{}: fp64 matrix instructions on registers {:.1f} TFLOP/s; {}{}\n", ceiling.device,
                        ceiling.registers,
                        ceiling.dgemm > 0 ? fmt::format("dgemm {:.1f} TFLOP/s, ", ceiling.dgemm) : "", ceiling.note);
  }
  text +=
      "tolerance C: radius <= max(2^-12 ulp of f32 at o, 2^-36 sum p|v|); of lse max(2^-12 ulp of f32, 2^-36). A row "
      "is "
      "certified if its lse and every o are.\n";
  std::fputs(text.c_str(), stdout);
}

}  // namespace

int certify_command(const CertifyArguments& arguments) {
  // Every option first: nothing is said, and nothing allocated, before all of them fit.
  const std::string& executor = arguments.executor;
  if (executor != "cpu" && executor != "cuda" && executor != "auto") {
    throw UsageError("--exec " + quote(executor) + ": cpu, cuda or auto");
  }
  const std::vector<ProductionShape> shapes = shapes_of(arguments);
  std::string why;
  const bool gpu = executor != "cpu" && gpu_tier_available(&why);
  const Threads threads(jobs_for(0));
  // One problem at a time. Without the GPU that was asked for nothing is allocated, so there is nothing to refuse.
  if (gpu || executor != "cuda") {
    for (const ProductionShape& shape : shapes) {
      require_certification_memory(shape, {.gpu = gpu, .count = gpu ? arguments.sample : arguments.rows},
                                   threads.count(), arguments.memory_gib << 30);
    }
  }
  if (!gpu && executor == "cuda") {
    say("skipped: certify --exec cuda needs a GPU (" + why + ")");
    return kExitSkipped;
  }
  if (!gpu && executor == "auto") say("no usable GPU (" + why + "), certifying a sample of the rows on the CPU");
  print_heading(arguments, gpu);
  bool sound = true;
  int done = 0;
  for (const ProductionShape& shape : shapes) {
    const Certification result = [&] {
      const Heartbeat heartbeat(fmt::format("{}, {} of {} formats", info(shape.format).name, ++done, shapes.size()));
      Problem problem = production_problem(shape, threads);
      return gpu ? certify_on_gpu(problem, arguments.sample, arguments.seed, threads)
                 : certify_on_cpu(std::move(problem), arguments.rows, arguments.seed, threads);
    }();
    print(result, shape.format, gpu, arguments.rows);
    std::fflush(stdout);
    if (result.sound()) continue;
    say(fmt::format("{}: the certificate is not sound: {}", info(shape.format).name, result.fault()));
    sound = false;
  }
  return sound ? kExitFine : kExitFinding;
}

}  // namespace flashproof
