/* SPDX-License-Identifier: Apache-2.0
 * A conversation: chat [MODEL.gguf]. Each line of standard input is a turn. The whole conversation
 * is written by the model's template each time; the sequence keeps what it has read, so that only
 * the new turn is computed. */
#include <bittern/bittern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows. */
struct buffer {
  char* data;
  size_t size;
};

static void append(struct buffer* buffer, const char* text, size_t size) {
  char* data = realloc(buffer->data, buffer->size + size + 1);
  if (data == NULL) abort();
  memcpy(data + buffer->size, text, size);
  buffer->data = data;
  buffer->size += size;
  data[buffer->size] = '\0';
}

/* Appends a text as the inside of a JSON string. */
static void append_escaped(struct buffer* buffer, const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    char escaped[8];
    const unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c == '"' || c == '\\') {
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      append(buffer, escaped, 6);
    } else {
      append(buffer, text + i, 1);
    }
  }
}

static void append_message(struct buffer* messages, const char* role, const char* text,
                           size_t size) {
  const char* begin = messages->size == 0 ? "[{\"role\":\"" : ",{\"role\":\"";
  append(messages, begin, strlen(begin));
  append(messages, role, strlen(role));
  append(messages, "\",\"content\":\"", 13);
  append_escaped(messages, text, size);
  append(messages, "\"}", 2);
}

static int32_t show(void* user, const char* text, size_t size) {
  fwrite(text, 1, size, user);
  return fflush(user);
}

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, bittern_error_message());
  return 1;
}

/* One turn: the conversation so far in, the reply out. */
static bittern_status answer(const bittern_model* model, bittern_sequence* sequence,
                             const bittern_options* options, struct buffer* messages) {
  bittern_result *prompt = NULL, *reply = NULL;
  const int32_t* ids = NULL;
  const char* text = NULL;
  size_t count = 0, size = 0;
  append(messages, "]", 1);
  bittern_status status =
      bittern_apply_template(model, messages->data, messages->size, NULL, &prompt);
  messages->data[--messages->size] = '\0';
  if (status != BITTERN_OK) return status;
  bittern_result_ids(prompt, &ids, &count);
  status = bittern_sequence_set_tokens(sequence, ids, count);
  if (status == BITTERN_OK) {
    status = bittern_sequence_generate(sequence, options, show, stdout, &reply);
  }
  if (status == BITTERN_OK) {
    bittern_result_text(reply, &text, &size);
    append_message(messages, "assistant", text, size);
    putchar('\n');
  }
  bittern_result_free(reply);
  bittern_result_free(prompt);
  return status;
}

int main(int argc, char** argv) {
  bittern_model* model = NULL;
  bittern_sequence* sequence = NULL;
  bittern_options* options = NULL;
  struct buffer messages = {NULL, 0};
  char line[4096];
  const bittern_status loaded = argc > 1 ? bittern_model_load(argv[1], NULL, NULL, NULL, &model)
                                         : bittern_model_load_builtin(NULL, &model);
  if (loaded != BITTERN_OK) return fail("load");
  if (bittern_sequence_create(model, NULL, &sequence) != BITTERN_OK) return fail("sequence");
  bittern_options_create(&options);
  bittern_options_set(options, "n_predict", "256");
  bittern_options_set(options, "temperature", "0");
  while (fgets(line, sizeof line, stdin) != NULL) {
    append_message(&messages, "user", line, strcspn(line, "\r\n"));
    if (answer(model, sequence, options, &messages) != BITTERN_OK) return fail("chat");
  }
  free(messages.data);
  bittern_options_free(options);
  bittern_sequence_free(sequence);
  bittern_model_free(model);
  return 0;
}
