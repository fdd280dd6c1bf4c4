/* SPDX-License-Identifier: Apache-2.0 */
/* pull_through_c NAME [KEY=VALUE ...] [cancel]: bittern_pull, for bindings_test.py. Prints the path and the JSON; an error's
 * status and words go to standard error. */
#include <bittern/bittern.h>
#include <stdio.h>
#include <string.h>

extern char** environ;

static int32_t on_progress(void* user, double done) {
  (void)done;
  return *(const int32_t*)user;
}

static int fail(void) {
  fprintf(stderr, "%s: %s; %s\n", bittern_status_name(bittern_error_status()),
          bittern_error_message(), bittern_error_hint());
  return 1;
}

int main(int argc, char** argv) {
  bittern_options* options = NULL;
  int32_t cancel = 0;
  int plain = 0;
  if (argc < 2 || bittern_options_create(&options) != BITTERN_OK) return 2;
  for (int i = 2; i < argc; ++i) {
    char* value = strchr(argv[i], '=');
    if (value == NULL) {
      cancel |= strcmp(argv[i], "cancel") == 0;
      plain |= strcmp(argv[i], "no-environment") == 0;
      continue;
    }
    *value++ = '\0';
    if (bittern_options_set(options, argv[i], value) != BITTERN_OK) return fail();
  }
  bittern_result* result = NULL;
  const char *path = "", *json = "";
  if (bittern_pull(argv[1], plain ? NULL : (const char* const*)environ, options, on_progress,
                   &cancel, &result) != BITTERN_OK) {
    return fail();
  }
  bittern_result_text(result, &path, NULL);
  bittern_result_json(result, &json, NULL);
  printf("%s\n%s\n", path, json);
  bittern_result_free(result);
  bittern_options_free(options);
  return 0;
}
