/* SPDX-License-Identifier: Apache-2.0
 * Continues a text: hello [MODEL.gguf]. Without a model, the one that is part of the library. */
#include <bittern/bittern.h>
#include <stdio.h>

static int32_t show(void* user, const char* text, size_t size) {
  fwrite(text, 1, size, user);
  return fflush(user); /* non-zero would end the text */
}

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, bittern_error_message());
  return 1;
}

int main(int argc, char** argv) {
  bittern_model* model = NULL;
  bittern_options* options = NULL;
  bittern_result* result = NULL;
  const bittern_status loaded = argc > 1 ? bittern_model_load(argv[1], NULL, NULL, NULL, &model)
                                         : bittern_model_load_builtin(NULL, &model);
  if (loaded != BITTERN_OK) return fail("load");
  bittern_options_create(&options);
  bittern_options_set(options, "n_predict", "20");
  bittern_options_set(options, "temperature", "0");
  if (bittern_generate(model, "A tern is", 9, options, show, stdout, &result) != BITTERN_OK)
    return fail("generate");
  putchar('\n');
  bittern_result_free(result);
  bittern_options_free(options);
  bittern_model_free(model);
  return 0;
}
