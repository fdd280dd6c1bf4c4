// SPDX-License-Identifier: Apache-2.0
// Work in a child of fork(), for tests on systems of POSIX.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace bittern {

/// Runs `work` in a child process, which has ten seconds. Its exit code; -1: it did not end.
template <class Work>
int InForkedChild(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace bittern
