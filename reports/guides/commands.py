"""Every command of the documents, and what the test does with it (commands_test.py): run it, or say why not.

A key is the command as the document has it, without its comment. RUN: the exit code, and what is run in its place where it would take
long or name something that is not there; commands of one document run in its order, in one folder. LISTED: why it is not run; its options
are held against the program's help all the same.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Run:
    """needs: what may be missing (commands_test.py, missing()); code: without a GPU, where it takes one."""

    def __init__(self, code=0, instead=None, nightly=False, needs=None):
        self.code, self.instead, self.nightly, self.needs = code, instead, nightly, needs


class Listed:
    def __init__(self, why):
        self.why = why


SLURM = Listed("needs a Slurm cluster; the test fuzz/campaign submits to one of its own")
GPU = Listed("needs a GPU")
NVCC = Listed("needs nvcc and libLLVM; cli_ptx_test runs it where they are")
BENCH = Listed("builds the benchmarks and runs for minutes; cli_checkout_test runs bench on a small tree")
REVISIONS = Listed("builds two revisions; compare_revisions_test does, of a small repository")
INSTALLED = Listed("configures, builds and installs; properties/driver/test/downstream_test.cmake does, step by step")
RECIPE = Listed("contributing_test.py follows the recipes, in a copy of the tree")
PLUGIN = Listed("plugin_guide_test.py runs every command of that guide")
MAPPED = Listed("reports/plugin/test/mapped_ptx_test.cc runs it, on copies")
PTX = Listed("is of a program of its own; kernels/ptx/test and launcher_test run it")
SMALL = "--quick --family mask_first_tile --format f32"
SHARD = "--quick --kernel merge.pairwise_stable.hardened --family normal --format f32"
# A campaign of the driver on a target without kernels: those with kernels are built with clang 19, and run in .ci/run.
FUZZ = "--seconds 1 --jobs 1 --kernel fake.steady --format f32"
ONLINE = "attention.online_chunk"
POLICY = ROOT / "properties/examples/compare-policy.toml"

COMMANDS = {
    # README.md
    "git clone <this repository> flashproof && cd flashproof":
        Run(instead=f"git clone --quiet 'file://{ROOT}' clone && cd clone && ./flashproof --help", needs="checkout"),
    "./flashproof report": Run(instead=f"./flashproof report {SMALL} --kernel '{ONLINE}.*'"),
    "./flashproof test": Listed("runs this test"),
    f"./flashproof check {ONLINE}.published": Run(1, instead=f"./flashproof check {ONLINE}.published {SMALL}"),
    f"./flashproof replay out/witnesses/{ONLINE}.published.f32.mask_first_tile.safetensors": Run(1),
    f"./flashproof replay attention:mask_first_tile:0:format=f32 --kernel {ONLINE}.published": Run(1),
    "./flashproof render out/report.json": Run(),
    "./flashproof merge a/report.json b/report.json --out both":
        Run(instead=f"for seed in 0 12; do ./flashproof report --seed $seed {SHARD} --out s$seed; done; "
                    "./flashproof merge s0/report.json s12/report.json --out both"),
    "./flashproof compare HEAD . --kernel 'softmax.*' --quick": REVISIONS,
    "./flashproof ledger out/report.json": Run(),
    "./flashproof check '<problem>.<algorithm>.*'":
        Run(instead=f"./flashproof check 'softmax.online_two_pass.hardened' {SMALL}"),
    "./flashproof check KERNEL --exec ptx": NVCC,
    "./flashproof twin --exec ptx": NVCC,
    "./flashproof report --exec all": Run(instead=f"./flashproof report --exec all {SMALL} --kernel '{ONLINE}.*' --out out/all"),
    "./flashproof setup --cuda": Listed("installs a compiler from the network; launcher_test covers what it says"),
    "./flashproof list man >flashproof.1": Run(),
    "./flashproof check ./mine.so": Listed("recording_test compiles a kernel and does it"),
    "./flashproof suggest ./my.so": PLUGIN,
    # kernels/ptx/README.md
    "./flashproof list kernels/ptx/test/kernels/softmax_online_two_pass.ptx": PTX,
    "./flashproof run MY.ptx --entry scale --grid 4 --block 256 --arg in:f32:1024:random:1 --arg out:f32:1024 --arg 2.5": PTX,
    "./flashproof check kernels/examples/ptx/softmax.ptx --map kernels/examples/ptx/softmax.toml": MAPPED,
    "nvcc -std=c++17 -O2 -arch=sm_80 -ptx -o softmax.ptx softmax.cu": Listed("needs nvcc; its PTX is there"),
    # CONTRIBUTING.md
    "./flashproof test --nightly": Listed("runs this test"),
    "cp properties/examples/contributing/serial_row.cu kernels/softmax/": RECIPE,
    "./flashproof check softmax.serial_row.hardened --quick": RECIPE,
    "cp properties/examples/contributing/merge_reverses.cc properties/laws/keys/": RECIPE,
    "./flashproof properties --law merge_reverses --kernel merge.pairwise_stable.hardened --cases 20": RECIPE,
    "./flashproof properties --law merge_reverses --kernel merge.broken.misprinted_lse --cases 20": RECIPE,
    "cp properties/examples/contributing/alternating.cc properties/generators/numbers/": RECIPE,
    "./flashproof check softmax.serial_row.hardened --family alternating": RECIPE,
    "sed 's/unknown/libm_row/' kernels/examples/c_softmax/c_softmax.c >my_row.c": RECIPE,
    "cc -std=c11 -O2 -fPIC -shared -I . -o my_row.so my_row.c -lm": RECIPE,
    "./flashproof check ./my_row.so --quick": RECIPE,
    # SECURITY.md, .github/ISSUE_TEMPLATE
    "./flashproof --version": Run(),
    "./flashproof doctor": Listed("the launcher's own; launcher_test runs it"),
    # reports/guides/plugin.md
    'cc -std=c11 -O2 -fPIC -shared -I "$FP" -o my_softmax.so my_softmax.c -lm': PLUGIN,
    "./flashproof check ./my_softmax.so": PLUGIN,
    'cc -std=c11 -O2 -fPIC -shared -I "$FP" -o my_backward.so my_backward.c -lm': PLUGIN,
    "./flashproof check ./my_backward.so --quick": PLUGIN,
    'cc -std=c11 -O2 -fPIC -shared -DFORGET_THE_MAXIMUM -I "$FP" -o broken.so my_softmax.c -lm': PLUGIN,
    "./flashproof check ./broken.so": PLUGIN,
    "./flashproof replay softmax:near_ties:5:format=f32 --plugin ./broken.so": PLUGIN,
    "./flashproof suggest ./my_softmax.so --cases 1": PLUGIN,
    "./flashproof check ./my_softmax.so --declare mine.toml --quick": PLUGIN,
    "./flashproof export WITNESS --out DIR": Run(instead="./flashproof export merge:lse_gaps:0:format=f32 --out out/lse_gaps"),
    'c++ -std=c++17 -O2 -fPIC -shared -I "$FP" -o my_attention.so my_attention.cc': PLUGIN,
    "./flashproof list ./my_attention.so": PLUGIN,
    "./flashproof check ./my_attention.so --quick": PLUGIN,
    'nvcc -O2 -arch=native -shared -Xcompiler=-fPIC -I "$FP" -o my_kernel.so my_kernel.cu': PLUGIN,
    "./flashproof check ./my_kernel.so": PLUGIN,
    "./flashproof check ./my.so": PLUGIN,
    # reports/guides/ci.md
    "./flashproof list laws": Run(),
    "cmake --preset cpu && cmake --build build/cpu --target flashproof_property_driver": INSTALLED,
    "cmake --preset cpu -DFLASHPROOF_TESTS=OFF && cmake --build build/cpu --target flashproof_cudart":
        Listed("builds; kernels/ptx/runtime/CMakeLists.txt has programs of nvcc that are linked to it, as tests"),
    'cmake --install build/cpu --prefix "$HOME/fp"': INSTALLED,
    'cmake -S . -B build -DCMAKE_PREFIX_PATH="$HOME/fp" && cmake --build build': INSTALLED,
    "ctest --test-dir build -L softmax --output-on-failure --output-junit ctest.xml": INSTALLED,
    "./flashproof properties --kernel softmax.online_two_pass.hardened --law within_bound --cases 2 --seed 1": Run(),
    "./flashproof properties --kernel softmax.online_two_pass.hardened --replay softmax:huge:725459358:format=bf16": Run(),
    "./flashproof export softmax:huge:725459358:format=bf16 --kernel softmax.naive.published --out out/for-upstream": Run(),
    "python3 out/for-upstream/reproduce.py recorded": Run(1, needs="numpy"),
    # reports/guides/campaign.md
    "./flashproof fuzz attention --seconds 3600 --jobs 8": Run(instead=f"./flashproof fuzz attention {FUZZ}"),
    "./flashproof fuzz --status out/fuzz/attention": Run(),
    "./flashproof replay merge:lse_gaps:0:format=f32 --kernel merge.ring_update.published": Run(1),
    "./flashproof explain merge.ring_update.published --case merge:lse_gaps:0:format=f32": Run(),
    "./flashproof export merge:lse_gaps:0:format=f32 --kernel merge.ring_update.published --out out/ring": Run(),
    "./flashproof campaign attention --shards 64 --seconds 14400 --out /shared/attention --exec cuda --partition gpu":
        Run(instead="./flashproof campaign attention --shards 64 --seconds 14400 --out shared --exec cuda --partition gpu --dry-run"),
    "./flashproof campaign --status /shared/attention": SLURM,
    "./flashproof attack --kernel 'merge.pairwise_stable.hardened' --format f32 --seconds 600 --out out/attack":
        Run(instead="./flashproof attack --kernel merge.pairwise_stable.hardened --format f32 --seconds 0.2 --out out/attack"),
    "./flashproof report --kernel 'merge.pairwise_stable.hardened' --out out/merge":
        Run(instead="./flashproof report --quick --kernel 'merge.pairwise_stable.hardened' --format f32 --family normal "
                    "--out out/merge"),
    "./flashproof ledger out/merge/report.json": Run(),
    './flashproof ledger out/merge/report.json --update --reason "report, seed 0"':
        Run(instead='./flashproof ledger out/merge/report.json --ledger mine.tsv --update --reason "report, seed 0"'),
    './flashproof ledger out/fuzz/attention --update --reason "a night of fuzz"':
        Listed("takes worst cases of real kernels; reports_cli_test has a campaign with some"),
    './flashproof attack --seconds 3600 --update --reason "an hour more"':
        Run(instead="./flashproof attack --kernel merge.pairwise_stable.hardened --format f32 --seconds 0.2 --ledger a.tsv "
                    '--update --reason "an hour more"'),
    # reports/guides/change.md
    f"./flashproof report --kernel '{ONLINE}.*' --out out/base":
        Run(instead=f"./flashproof report {SMALL} --kernel '{ONLINE}.*' --out out/base"),
    f"./flashproof report --kernel '{ONLINE}.*' --out out/head":
        Run(instead=f"./flashproof report {SMALL} --kernel '{ONLINE}.*' --out out/head"),
    "./flashproof compare HEAD . --quick": REVISIONS,
    "./flashproof compare out/base/report.json out/head/report.json": Run(),
    "./flashproof compare out/base/report.json out/head/report.json --gate properties/examples/compare-policy.toml":
        Run(instead=f"./flashproof compare out/base/report.json out/head/report.json --gate '{POLICY}'"),
    "./flashproof compare out/base/report.json out/head/report.json --gate properties/examples/compare-policy.toml --waivers waivers.toml":
        Run(instead=f"./flashproof compare out/base/report.json out/head/report.json --gate '{POLICY}' --waivers waivers.toml "
                    "--today 2026-12-31"),
    "./flashproof bench --compare base.json head.json": Run(),
    f"./flashproof check {ONLINE}.hardened --family logit_spread --format f32 --quick": Run(),
    f"./flashproof explain {ONLINE}.hardened --case attention:logit_spread:3:format=f32": Run(),
    f"./flashproof explain {ONLINE}.hardened --case attention:logit_spread:3:format=f32 --element lse:0": Run(),
    "./flashproof bench --benchmark_filter=attention --benchmark_repetitions=20 --out base.json":
        BENCH,
    "./flashproof bench --benchmark_filter=attention --benchmark_repetitions=20 --compare base.json":
        BENCH,
    "./flashproof export attention:mask_first_tile:0:format=f32 --kernel attention.online_element.published --out out/upstream":
        Run(),
    "python3 out/upstream/reproduce.py recorded": Run(1, needs="numpy"),
    "python3 out/upstream/reproduce.py": Run(needs="numpy"),
    "./flashproof truth attention:mask_first_tile:0:format=f32 --out out/truth.safetensors": Run(),
    # reports/guides/reading.md
    f"./flashproof explain {ONLINE}.hardened --case attention:normal:2:format=bf16": Run(),
    "./flashproof explain attention.online_element.published --case attention:mask_first_tile:0:format=f32": Run(),
    # fuzz/
    "./flashproof fuzz attention --seconds 60": Run(instead=f"./flashproof fuzz attention {FUZZ}"),
    "./flashproof replay out/fuzz/attention/findings/…":
        Run(1, "./flashproof replay merge:lse_gaps:0:format=f32 --kernel merge.ring_update.published"),
    "./flashproof fuzz softmax --seconds 300 --jobs 4": Run(instead=f"./flashproof fuzz softmax {FUZZ}"),
    "./flashproof fuzz --status out/fuzz/softmax": Run(),
    "./flashproof fuzz softmax --seconds 300 --shard I/N --out DIR/shard-I":
        Run(instead=f"for i in 0 1; do ./flashproof fuzz softmax {FUZZ} --shard $i/2 --out shards/shard-$i || exit; done"),
    "build/fuzz/fuzz/flashproof-fuzz merge NEW_OUT OLD_OUT":
        Run(instead="build/fuzz/fuzz/flashproof-fuzz merge out/new out/fuzz/softmax"),
    "build/fuzz/fuzz/flashproof-fuzz merge DIR DIR/shard-*":
        Run(instead="build/fuzz/fuzz/flashproof-fuzz merge shards shards/shard-*"),
    "build/fuzz/fuzz/flashproof-fuzz regressions out/fuzz/attention out/fuzz/backward …":
        Listed("takes worst cases of real kernels; regressions_test makes such lines"),
    "build/cpu/fuzz/flashproof-fuzz seed out/witnesses/….safetensors merge:huge:7:n=5":
        Run(instead="mkdir seeds && build/cpu/fuzz/flashproof-fuzz seed out/witnesses/*.safetensors merge:huge:7:n=5 --to seeds"),
    "./flashproof campaign attention --shards 64 --seconds 14400 --out /shared/attention --exec cuda --partition gpu "
    "--sbatch-option --account=numerics":
        Run(instead="./flashproof campaign attention --shards 64 --seconds 14400 --out shared --exec cuda --partition gpu "
                    "--sbatch-option --account=numerics --dry-run"),
    # reports/
    "./flashproof report --seed 0  --out a": Run(instead=f"./flashproof report --seed 0 {SHARD} --out a"),
    "./flashproof report --seed 12 --out b": Run(instead=f"./flashproof report --seed 12 {SHARD} --out b"),
    "./flashproof render out/report.json --json out/full.json":
        Run(instead=f"./flashproof report {SHARD} && ./flashproof render out/report.json --json out/full.json"),
    "python3 -m jsonschema -i out/full.json reports/schema/report-5.schema.json":
        Run(instead=f"./flashproof report {SHARD} && ./flashproof render out/report.json --json out/full.json && "
                    f"python3 -m jsonschema -i out/report.json '{ROOT}/reports/schema/report-6.schema.json' && "
                    f"python3 -m jsonschema -i out/full.json '{ROOT}/reports/schema/report-5.schema.json'", needs="jsonschema"),
    "./flashproof compare main .": REVISIONS,
    "./flashproof compare base/report.json head/report.json":
        Run(instead=f"for side in base head; do ./flashproof report {SHARD} --out $side; done; "
                    "./flashproof compare base/report.json head/report.json"),
    "./flashproof compare softmax.online_block.hardened softmax.split_row.hardened":
        Run(instead="./flashproof compare softmax.online_block.hardened softmax.split_row.hardened --quick --family normal --format f32"),
    "./flashproof compare --bench base.json head.json": Run(),
    # the others
    './flashproof ledger OTHER.tsv --update --reason "..."':
        Run(instead=f"./flashproof ledger {ROOT}/reports/ledger/ledger.tsv --ledger other.tsv --update --reason '...'"),
    './flashproof attack --seconds 0 --update --reason "..."':
        Run(instead="./flashproof attack --kernel merge.pairwise_stable.hardened --format f32 --seconds 0 --ledger b.tsv "
                    '--update --reason "..."'),
    "./flashproof bench --exec cuda": GPU,
    "./flashproof list coverage": Run(),
    "python3 -m venv ~/flashproof-python && . ~/flashproof-python/bin/activate":
        Listed(".ci/bare runs it as it stands, in a bare root"),
    "./flashproof list families": Run(),
    "./flashproof list kernels": Run(),
    "./flashproof probe": Run(4, needs="no GPU"),
    "./flashproof probe [--out FILE]": Run(4, "./flashproof probe --out profile.json", needs="no GPU"),
    "./flashproof properties": Run(instead="./flashproof properties --kernel softmax.online_two_pass.hardened --family normal "
                                           "--law within_bound --cases 1"),
    "./flashproof report --exec all [--math native]": GPU,
    "./flashproof report --faults": Run(instead="./flashproof report --faults --kernel 'softmax.broken.tail_*' --jobs 2", nightly=True),
    "./flashproof traffic [--measured FILE]": Run(instead="./flashproof traffic --kernel softmax.safe.published --rows 2 --cols 64"),
    "./flashproof twin [--math native]": Run(4, instead="./flashproof twin --math native", needs="no GPU"),
}
