/* SPDX-License-Identifier: Apache-2.0
 * Many texts at once: batch [MODEL.gguf]. Each line of standard input is a prompt; texts are
 * printed as they are finished, with the number of their line. What a text says does not depend on
 * the others. */
#include <bittern/bittern.h>
#include <stdio.h>
#include <string.h>

static void done(void* user, uint64_t request, bittern_status status, bittern_result* result) {
  const char* text = NULL;
  int* failed = user;
  if (status != BITTERN_OK) {
    fprintf(stderr, "%llu: %s\n", (unsigned long long)request, bittern_error_message());
    *failed = 1;
    return;
  }
  bittern_result_text(result, &text, NULL);
  printf("%llu:%s\n", (unsigned long long)request, text);
  bittern_result_free(result);
}

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, bittern_error_message());
  return 1;
}

int main(int argc, char** argv) {
  bittern_model* model = NULL;
  bittern_engine* engine = NULL;
  bittern_options* options = NULL;
  char line[4096];
  int failed = 0;
  const bittern_status loaded = argc > 1 ? bittern_model_load(argv[1], NULL, NULL, NULL, &model)
                                         : bittern_model_load_builtin(NULL, &model);
  if (loaded != BITTERN_OK) return fail("load");
  bittern_options_create(&options);
  bittern_options_set(options, "n_predict", "12");
  bittern_options_set(options, "temperature", "0");
  bittern_options_set(options, "max_sequences", "16");
  if (bittern_engine_create(model, options, &engine) != BITTERN_OK) return fail("engine");
  while (fgets(line, sizeof line, stdin) != NULL) {
    bittern_result* tokens = NULL;
    const int32_t* ids = NULL;
    size_t count = 0;
    if (bittern_tokenize(model, line, strcspn(line, "\r\n"), BITTERN_TOKENIZE_BOS, &tokens) !=
        BITTERN_OK)
      return fail("tokenize");
    bittern_result_ids(tokens, &ids, &count);
    if (bittern_engine_submit(engine, ids, count, options, NULL, done, &failed, NULL) != BITTERN_OK)
      return fail("submit");
    bittern_result_free(tokens);
  }
  if (bittern_engine_run(engine) != BITTERN_OK) return fail("run");
  bittern_engine_free(engine);
  bittern_options_free(options);
  bittern_model_free(model);
  return failed;
}
