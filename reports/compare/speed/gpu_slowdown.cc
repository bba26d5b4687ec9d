// A slowdown that is known, on a GPU: a hardened softmax kernel, the same once more, and the same over PERCENT % more rows, in
// rounds of all three. What `compare --bench` has to say of the three is then known beforehand (gpu_slowdown.sh).
//
//   gpu_slowdown OUT-DIRECTORY [KERNEL [ROUNDS [PERCENT]]]    writes base.json, again.json, slow.json: Google Benchmark's JSON
//   exit                                                      2 usage, 3 the machine failed, 4 no GPU
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/gpu_benchmark/device.h"
#include "kernels/run/run.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/program.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

// 3.3 GB read and written in f32 by a launch, against which its start is nothing; and many more rows than run at once, so that
// the time grows with their number.
constexpr std::int64_t kRows = 100'000, kCols = 4096;
constexpr int kLaunches = 4;  // under one pair of events

struct Options {
  std::filesystem::path out;
  std::string kernel = "softmax.online_two_pass.hardened";
  std::int64_t rounds = 30, percent = 3;
};

std::int64_t number(const char* name, std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = parse_count(text);
  if (!value || *value < least || *value > most) {
    throw UsageError(fmt::format("{} {}: must be {}..{}", name, quote(text), least, most));
  }
  return *value;
}

Options options_of(int count, char** arguments) {
  if (count < 2 || count > 5) throw UsageError("usage: gpu_slowdown OUT-DIRECTORY [KERNEL [ROUNDS [PERCENT]]]");
  Options o;
  o.out = arguments[1];
  if (count > 2) o.kernel = arguments[2];
  if (count > 3) o.rounds = number("ROUNDS", arguments[3], 2, 200);
  if (count > 4) o.percent = number("PERCENT", arguments[4], 0, 100);
  return o;
}

SoftmaxProblem softmax(std::int64_t rows) {
  SoftmaxProblem p;
  p.x = gpu_benchmark::shape_only(Format::f32, {rows, kCols});
  p.plan = ChunkPlan::uniform(kCols, 1024);
  return p;
}

using Json = nlohmann::ordered_json;

Json result_of(const std::string& name, const std::vector<double>& seconds, const std::string& measurement) {
  Json json{{"context", {{"device", gpu_benchmark::device_line()}, {"flashproof_rounds", measurement}}},
            {"benchmarks", Json::array()}};
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    json["benchmarks"].push_back({{"name", name},
                                  {"run_name", name},
                                  {"run_type", "iteration"},
                                  {"repetitions", seconds.size()},
                                  {"repetition_index", i},
                                  {"iterations", kLaunches},
                                  {"real_time", seconds[i] * 1e6},
                                  {"cpu_time", seconds[i] * 1e6},
                                  {"time_unit", "us"}});
  }
  return json;
}

int measure(const Options& o) {
  const Kernel* kernel = find_kernel(o.kernel);
  if (kernel == nullptr || !kernel->has_cuda || kernel->problem != ProblemKind::softmax ||
      !kernel->supports(Format::f32)) {
    throw UsageError("KERNEL " + quote(o.kernel) +
                     ": must be a softmax kernel for f32 with a CUDA build (list kernels)");
  }
  std::string why;
  if (cuda_devices(&why) == 0) {
    std::fprintf(stderr, "gpu_slowdown: skipped: no usable GPU: %s\n", why.c_str());
    return 4;
  }
  std::filesystem::create_directories(o.out);
  const gpu_benchmark::Prepared base(*kernel, kernel->cuda_launch, softmax(kRows));
  const gpu_benchmark::Prepared again(*kernel, kernel->cuda_launch, softmax(kRows));
  const gpu_benchmark::Prepared slow(*kernel, kernel->cuda_launch, softmax(kRows + kRows * o.percent / 100));
  const std::array<const gpu_benchmark::Prepared*, 3> all = {&base, &again, &slow};
  const auto seconds = [](const gpu_benchmark::Prepared& work) {
    return gpu_benchmark::seconds_of([&] {
             for (int i = 0; i < kLaunches; ++i) work.launch();
           }) /
           kLaunches;
  };
  std::array<std::vector<double>, 3> times;
  for (int warm = 0; warm < 3; ++warm) {
    for (const auto* work : all) seconds(*work);
  }
  for (std::int64_t round = 0; round < o.rounds; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {  // each goes first as often as the others
      const std::size_t which = (i + static_cast<std::size_t>(round)) % 3;
      times[which].push_back(seconds(*all[which]));
    }
  }
  const std::string name = fmt::format("{}/det/f32/{}x{}/manual_time", o.kernel, kRows, kCols);
  const std::string measurement = fmt::format("gpu_slowdown, {} rounds", o.rounds);
  const std::array<const char*, 3> files = {"base.json", "again.json", "slow.json"};
  for (std::size_t i = 0; i < 3; ++i) {
    write_atomically(o.out / files[i], result_of(name, times[i], measurement).dump(1) + "\n");
  }
  return 0;
}

}  // namespace
}  // namespace flashproof

int main(int count, char** arguments) {
  return flashproof::run_program([&] { return flashproof::measure(flashproof::options_of(count, arguments)); });
}
