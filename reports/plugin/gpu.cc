#include "reports/plugin/gpu.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/plugin/device_driver.h"
#include "reference/problem/descriptor.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {

bool any_gpu_elsewhere(std::string* why) {
  int ends[2];
  if (::pipe(ends) != 0) throw InfrastructureError(std::string("pipe: ") + std::strerror(errno));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) throw InfrastructureError(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    std::string reason;
    const bool any = device::count(&reason) > 0;
    reason.resize(std::min<std::size_t>(reason.size(), 500));  // one write, whole
    const bool told = ::write(to.get(), reason.data(), reason.size()) == static_cast<ssize_t>(reason.size());
    ::_exit(any && told ? 0 : 1);
  }
  to.close();
  char text[512];
  ssize_t length = 0;
  do {
    length = ::read(from.get(), text, sizeof text);
  } while (length < 0 && errno == EINTR);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  *why = length > 0 ? printable(std::string_view(text, static_cast<std::size_t>(length)), 500)
                    : "the CUDA driver ended the process that asked it";
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace flashproof
