#include "reference/system/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// A descriptor that is closed would be given to the next file opened, and messages would go into it.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDWR);  // takes the lowest free one: fd
  }
}

/// Arrays of a case are freed and allocated again by the thousand: given back to the kernel each time, their pages were a seventh of
/// the time of a check.
void keep_freed_memory() {
  constexpr int kMiB = 1 << 20;
  ::mallopt(M_TRIM_THRESHOLD, 1024 * kMiB);
  ::mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the most that it takes
  ::mallopt(M_TOP_PAD, 16 * kMiB);
}

int flush_stdout(int code) {
  errno = 0;
  const bool before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !before) return code;
  if (errno == 0) {  // an earlier write failed, and its reason was not kept: the next one fails for the same
    std::clearerr(stdout);
    if (std::fputc('\n', stdout) != EOF) std::fflush(stdout);
  }
  throw InfrastructureError(errno != 0 ? fmt::format("stdout: cannot be written: {}", std::strerror(errno))
                                       : "stdout: cannot be written");
}

}  // namespace

int run_program(const std::function<int()>& body) {
  open_standard_descriptors();
  keep_freed_memory();
  std::signal(SIGCHLD, SIG_DFL);  // a parent that ignored it left that to us: no child could be waited for
  const auto complain = [](const char* what) { std::fprintf(stderr, "flashproof: %s\n", one_line(what).c_str()); };
  try {
    return flush_stdout(body());
  } catch (const UsageError& e) {
    complain(e.what());
    return kExitUsage;
  } catch (const std::filesystem::filesystem_error& e) {
    complain(fmt::format("{}: {}", legible(e.path1().string(), 200), e.code().message()).c_str());
    const bool wrong_name =
        e.code() == std::errc::filename_too_long || e.code() == std::errc::too_many_symbolic_link_levels;
    return wrong_name ? kExitUsage : kExitInfrastructure;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return kExitInfrastructure;
}

}  // namespace flashproof
