// flashproof-cli: the command line. The launcher ./flashproof builds this program and hands its arguments over. The
// only file that includes CLI11.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>

#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/commands/commands.h"
#include "reports/exit_codes.h"
#include "reports/text.h"

namespace flashproof {
namespace {

struct Options {
  SweepArguments sweep;
  ReplayArguments replay;
  TruthArguments truth;
  CertifyArguments certify;
  std::string what, file;
  bool json = false;
};

/// An option that may be given several times, each time with one value, so that it never swallows a positional.
CLI::Option* many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  return app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

// CLI11's own numbers take "-1" and what else strtoull takes.
void add_seed(CLI::App* app, std::uint64_t& seed, const std::string& help) {
  app->add_option_function<std::string>(
         "--seed",
         [&seed](const std::string& text) {
           const auto value = parse_u64(text);
           if (!value) throw CLI::ValidationError("--seed " + quote(text) + ": must be 0..18446744073709551615");
           seed = *value;
         },
         help)
      ->type_name("N");
}

void add_filters(CLI::App* app, SweepArguments& a, bool kernel_option) {
  if (kernel_option) many(app, "--kernel", a.filters.kernels, "kernels to run (* and ?); default all");
  many(app, "--family", a.filters.families, "input families; default all");
  many(app, "--format", a.filters.formats, "storage formats f32, f16, bf16, ...; default all");
  auto* quick = app->add_flag("--quick", a.quick, "fewer seeds");
  app->add_flag("--nightly", a.nightly, "many seeds; inconclusive counts as a finding")->excludes(quick);
  add_seed(app, a.seed, "first seed");
  app->add_option("--jobs", a.jobs, "worker processes; default one per core")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
}

void add_executor(CLI::App* app, std::string& executor) {
  app->add_option("--exec", executor, "cpu, cuda or all")
      ->check(CLI::IsMember({"cpu", "cuda", "all"}))
      ->type_name("EXEC");
}

void add_certify(CLI::App* app, CertifyArguments& a) {
  const auto number = [&](const char* flag, std::int64_t& to, std::int64_t least, std::int64_t most, const char* help) {
    app->add_option(flag, to, help)->check(CLI::Range(least, most))->type_name("N");
  };
  constexpr std::int64_t kMostRows = 1 << 20;
  number("--heads", a.heads, 1, 65535, "query heads; default 8");
  number("--kv-heads", a.kv_heads, 1, 65535, "heads of K and V, a divisor of --heads; default as many");
  number("--length", a.length, 1, kMostRows, "queries and keys; default 8192");
  number("--dim", a.dim, 1, 128, "head dimension; default 128");
  many(app, "--format", a.formats, "f16, bf16 or f32; default all three")->type_name("FORMAT");
  app->add_flag("--causal", a.causal, "query i sees the keys up to i");
  add_seed(app, a.seed, "of the data");
  app->add_option("--exec", a.executor, "cpu, cuda or auto (the GPU if there is one); default auto")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->type_name("EXEC");
  number("--rows", a.rows, 1, kMostRows, "rows of every head that the CPU certifies; default 256");
  number("--sample", a.sample, 1, kMostRows, "rows that the CPU recomputes for the GPU; default 64");
  app->add_option("--memory", a.memory_gib, "refuse what needs more GiB of the host's memory than this; default 8")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("GIB");
  app->add_option("--cublas", a.cublas, "library whose dgemm to measure; default libcublas.so.13 or .12")
      ->type_name("FILE");
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Numerical analysis and fuzz testing of online softmax, LSE merge and flash attention kernels.",
               "flashproof"};
  app.require_subcommand(1);
  Options o;
  std::function<int()> command;
  for (int i = 0; i < argc; ++i) o.sweep.command_line += (i == 0 ? "flashproof" : " " + one_line(argv[i]));

  auto* report = app.add_subcommand("report", "run every kernel on every input family and write the error table");
  add_filters(report, o.sweep, true);
  add_executor(report, o.sweep.executor);
  report->add_option("--out", o.sweep.out, "directory for report.json, report.md and witnesses; default out")
      ->type_name("DIR");
  report->callback([&] { command = [&] { return report_command(o.sweep); }; });

  auto* list = app.add_subcommand("list", "kernels, families or laws");
  list->add_option("what", o.what, "kernels, families or laws")->required();
  list->add_flag("--json", o.json, "for programs");
  list->callback([&] { command = [&] { return list_command(o.what, o.json); }; });

  auto* check = app.add_subcommand("check", "every finding of some kernels, element by element");
  check->add_option("KERNEL", o.sweep.filters.kernels, "kernel ids or globs")->required()->type_name("");
  add_filters(check, o.sweep, false);
  add_executor(check, o.sweep.executor);
  check->callback([&] { command = [&] { return check_command(o.sweep); }; });

  auto* truth = app.add_subcommand("truth", "the exact answer of a case, value and radius, as .safetensors");
  truth->add_option("CASE", o.truth.target, "a .safetensors file or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  truth->add_option("--out", o.truth.out_file, "file to write")->required()->type_name("FILE");
  truth->add_option("--ulp", o.truth.ulp, "radii at most 2^-12 ulp of this format; default f32")->type_name("FORMAT");
  truth->add_option("--threads", o.truth.threads, "default one per core; the numbers do not depend on it")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  truth->add_option("--memory", o.truth.memory_gib, "refuse what needs more GiB of memory than this; default 8")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("GIB");
  truth->callback([&] { command = [&] { return truth_command(o.truth); }; });

  auto* replay = app.add_subcommand("replay", "run one case again");
  replay->add_option("CASE", o.replay.target, "a .safetensors witness or problem:family:seed[:key=value,...]")
      ->required()
      ->type_name("");
  many(replay, "--kernel", o.replay.kernels, "kernels; default the witness's, else all of the problem");
  add_executor(replay, o.replay.executor);
  replay->add_option("--schedule", o.replay.schedule, "fifo, lifo, random:SEED or bytes:HEX")->type_name("SCHEDULE");
  replay->callback([&] { command = [&] { return replay_command(o.replay); }; });

  auto* twin = app.add_subcommand("twin", "compare the bits of both executors");
  add_filters(twin, o.sweep, true);
  twin->add_option("--out", o.file, "Markdown file to write")->type_name("FILE");
  twin->footer(
      "The table names the revision that the program was built from: the environment variable FLASHPROOF_REVISION if "
      "it "
      "is set, else that of the checkout that the program lies in.");
  twin->callback([&] { command = [&] { return twin_command(o.sweep, o.file); }; });

  auto* certify =
      app.add_subcommand("certify", "attention of production size: every row on a GPU, or a sample of rows");
  add_certify(certify, o.certify);
  certify->callback([&] { command = [&] { return certify_command(o.certify); }; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    throw UsageError(std::string(e.what()) + " (see --help)");
  }
  return command();
}

/// A descriptor that is closed would be given to the next file opened, and messages would go into it.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);  // takes the lowest free one: fd
  }
}

int flush_stdout(int code) {
  const bool before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !before) return code;
  throw InfrastructureError(errno != 0 ? fmt::format("stdout: cannot be written: {}", std::strerror(errno))
                                       : "stdout: cannot be written");
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  using namespace flashproof;
  open_standard_descriptors();
  const auto complain = [](const char* what) { std::fprintf(stderr, "flashproof: %s\n", one_line(what).c_str()); };
  try {
    return flush_stdout(parse_and_run(argc, argv));
  } catch (const UsageError& e) {
    complain(e.what());
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return kExitInfrastructure;
}
