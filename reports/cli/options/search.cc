// Commands that search and measure: attack, certify, probe, traffic, experiment.
#include "reports/cli/options/parts.h"
#include "reports/traffic/traffic.h"

namespace flashproof {
namespace {

void add_attack(CLI::App& app, Options& o, Command& command) {
  AttackArguments& a = o.attack;
  CLI::App* attack =
      add_command(app, "attack", "search for the largest error/bound per kernel, format and term; the ledger",
                  "At shapes that every kernel takes, going on from the [ledger](reports/ledger/README.md) "
                  "([how](reports/attack/README.md)); `--update` "
                  "writes it.",
                  "1 if a hardened kernel left its bound");
  add_declared(attack, "attack", "--kernel", a.kernels);
  add_declared(attack, "attack", "--format", a.formats);
  add_declared(attack, "attack", "--seconds", a.seconds);
  add_declared(attack, "attack", "--jobs", a.jobs);
  add_declared(attack, "attack", "--seed", a.seed);
  a.ledger = default_ledger();
  attack->add_option("--ledger", a.ledger, "what is known and goes on; default reports/ledger/ledger.tsv of the source")
      ->type_name("FILE");
  attack->add_flag("--update", a.update, "write the ledger; needs --reason");
  attack->add_option("--reason", a.reason, "why its figures move")->type_name("TEXT");
  attack->add_option("--out", a.out, "directory for witnesses of violations; default out")->type_name("DIR");
  attack->add_option("--export", a.export_to, "write the ledger's cases there as witnesses, for explain")
      ->type_name("DIR");
  add_legal(attack, "--validate", a.validate, "CASES", whole_number(1, 10'000'000),
            "no search: so many small cases per kernel, format and family; counts results outside their bound");
  attack->callback([&] { command = [&] { return attack_command(o.attack); }; });
}

void add_certify(CLI::App& app, Options& o, Command& command) {
  CertifyArguments& a = o.certify;
  CLI::App* certify =
      add_command(app, "certify", "attention of production size: every row on a GPU, or a sample of rows",
                  "The share whose radius is narrow, what the rest needs, TFLOP/s.",
                  "1 if the tiers disagree, a planted error goes unnoticed or no row has a radius; 4 without a GPU for "
                  "`--exec cuda`");
  const auto number = [&](const char* flag, std::int64_t& to, std::uint64_t least, std::uint64_t most,
                          const char* help) { add_legal(certify, flag, to, "N", whole_number(least, most), help); };
  constexpr std::uint64_t kMostRows = 1 << 20;
  number("--heads", a.heads, 1, 65535, "query heads; default 8");
  number("--kv-heads", a.kv_heads, 1, 65535, "heads of K and V, a divisor of --heads; default as many");
  number("--length", a.length, 1, kMostRows, "queries and keys; default 8192");
  number("--dim", a.dim, 1, 128, "head dimension; default 128");
  add_declared(certify, "certify", "--format", a.formats);
  certify->add_flag("--causal", a.causal, "query i sees the keys up to i");
  add_declared(certify, "certify", "--seed", a.seed);
  add_executor(certify, a.executor);
  number("--rows", a.rows, 1, kMostRows, "rows of every head that the CPU certifies; default 256");
  number("--sample", a.sample, 1, kMostRows, "rows that the CPU recomputes for the GPU; default 64");
  add_memory(certify, a.memory_gib);
  certify->add_option("--cublas", a.cublas, "library whose dgemm to measure; default libcublas.so.13 or .12")
      ->type_name("FILE");
  certify->callback([&] { command = [&] { return certify_command(o.certify); }; });
}

void add_probe(CLI::App& app, Options& o, Command& command) {
  CLI::App* probe = add_command(app, "probe", "certify the arithmetic of this GPU: functions and matrix units",
                                "Its own exponential, logarithm, reciprocal and matrix units, on every f32 and bit for "
                                "bit; the profile that the bounds of `--math "
                                "native` take their errors from ([how](kernels/probe/README.md)).",
                                "1 if a unit does not behave as its model, 4 without a GPU");
  probe->add_option("--out", o.file, "profile (JSON) to write, for --profile")->type_name("FILE");
  probe->callback([&] { command = [&] { return probe_command(o.file); }; });
}

void add_traffic(CLI::App& app, Options& o, Command& command) {
  CLI::App* traffic = add_command(
      app, "traffic", "global memory traffic of the softmax kernels: claimed, counted, measured",
      "Elements read and written as claimed, as counted on the CPU executor, and as a GPU's counters measured.", "");
  add_declared(traffic, "traffic", "--kernel", o.traffic.kernels);
  add_declared(traffic, "traffic", "--format", o.traffic.format);
  const LegalValue extent = whole_number(1, kMostTrafficElements);
  add_legal(traffic, "--rows", o.traffic.rows, "M", extent, "M; default 16");
  add_legal(traffic, "--cols", o.traffic.cols, "N", extent, "N; default 2048; M * N at most 2097152");
  traffic->add_option("--measured", o.traffic.measured, "CSV of a GPU's counters, from reports/traffic/traffic_gpu.sh")
      ->type_name("FILE");
  traffic->callback([&] { command = [&] { return traffic_command(o.traffic); }; });
}

void add_experiment(CLI::App& app, Options& o, Command& command) {
  CLI::App* experiment = add_command(app, "experiment", "known results of the literature, measured again; Markdown",
                                     "Each beside its bound.", "");
  experiment
      ->add_option("NAME", o.experiment.names,
                   "fused_exponent, one_signed_v, merge_orders, biased_output, outlier_rmse; default all of them")
      ->type_name("");
  add_declared(experiment, "experiment", "--seed", o.experiment.seed);
  experiment->callback([&] { command = [&] { return experiment_command(o.experiment); }; });
}

}  // namespace

void add_search_commands(CLI::App& app, Options& o, Command& command) {
  add_attack(app, o, command);
  add_certify(app, o, command);
  add_probe(app, o, command);
  add_traffic(app, o, command);
  add_experiment(app, o, command);
}

}  // namespace flashproof
