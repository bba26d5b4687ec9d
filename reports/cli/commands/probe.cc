// probe: certifies the arithmetic of the GPU it runs on, prints a table, writes the profile that native math's bounds use.
#include <fmt/format.h>

#include <cstdio>

#include "kernels/probe/probe.h"
#include "reference/system/atomic_file.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/report.h"
#include "reports/run/environment.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/gpu_server.h"

namespace flashproof {

int probe_command(const std::string& out_file) {
  if (!out_file.empty()) require_writable_file(out_file, "--out");
  std::string why;
  if (cuda_devices_elsewhere(&why) == 0) {
    say("skipped: the probe needs a GPU (" + why + ")");
    return kExitSkipped;
  }
  const Environment environment = this_environment(true);
  probe::ProbeResult result = probe::probe_gpu([](const std::string& what) { say("probing " + what); });
  Profile& profile = result.profile;
  constexpr std::string_view kDriver = ", driver ";
  const std::size_t driver = environment.gpu.find(kDriver);
  profile.driver = driver == std::string::npos ? "unknown" : environment.gpu.substr(driver + kDriver.size());
  profile.cuda = environment.cuda_compiler;
  profile.date = environment.date;
  profile.revision = environment.revision;
  const std::string table = probe::profile_table(profile) + probe::special_table(profile.gpu, result.special);
  std::fwrite(table.data(), 1, table.size(), stdout);
  if (!out_file.empty()) {
    write_atomically(out_file, profile_json(profile));
    say("wrote " + one_line(out_file));
  }
  for (const std::string& complaint : result.complaints) say(complaint);
  return result.complaints.empty() ? kExitFine : kExitFinding;
}

}  // namespace flashproof
