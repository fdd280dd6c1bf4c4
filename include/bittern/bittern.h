/* SPDX-License-Identifier: Apache-2.0
 *
 * Bittern's C interface: ternary language models on CPUs, for other programs.
 *
 * The rules, which hold for every function:
 *
 * - A function that can fail returns a bittern_status, BITTERN_OK (0) or an error. What it gives
 *   back goes to pointers, which are left untouched when it fails. bittern_error_message() says
 *   what went wrong; it belongs to the calling thread.
 * - Things are handles. A handle is not a pointer to memory: a NULL one, one that was freed and one
 *   of another kind are all told apart and give BITTERN_ERROR_HANDLE. Freeing NULL does nothing.
 *   A handle may be freed while another thread still uses it; that call then ends as usual.
 * - Texts are UTF-8 with their length in bytes. Texts that are given back also end with a zero.
 * - Settings are texts under string keys (bittern_options_set). bittern_options_describe() lists
 *   them. New settings come as new keys, so that programs built with an older header go on working.
 * - Nothing is printed, no exception leaves the library, no environment variable is read, and no
 *   file is written but those that a call names. bittern_pull reads the variables that it is given;
 *   libcurl, which does the downloads, looks for proxies by its own rules.
 * - Models, options and results work in a child process (fork) as in its parent. Sequences,
 * samplers and engines belong to the process that made them: in another one every call gives
 *   BITTERN_ERROR_UNSUPPORTED, and freeing them does nothing.
 * - A callback gets back the pointer it was given along. It may return non-zero to cancel; the call
 *   then ends early, in the way its description says. Callbacks must not free the handle of the
 *   call that they are made from, and must not throw or longjmp.
 *
 * Compatibility: before 1.0, programs built with version 0.y.z run with every later 0.y of the same
 * y: functions, numbers and meanings stay, and new ones may come. A new y may change them; its
 * shared library has another name (libbittern.so.0.y), so that both can be installed.
 *
 * "Threads" says for each group which calls may be made at the same time. Where a call would have
 * to wait for another one of the same handle, it waits, but for calls from inside a callback of
 * that handle: those give BITTERN_ERROR_BUSY.
 */
#ifndef BITTERN_BITTERN_H
#define BITTERN_BITTERN_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(BITTERN_EXPORTS)
#define BITTERN_API __declspec(dllexport)
#elif defined(_WIN32) || defined(BITTERN_STATIC)
#define BITTERN_API
#else
#define BITTERN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version -------------------------------------------------------------------------------- */

/** The version of this header: major * 10000 + minor * 100 + patch. */
#define BITTERN_VERSION_NUMBER 100

/** The version of the library that runs, as BITTERN_VERSION_NUMBER. Any thread. */
BITTERN_API int32_t bittern_version_number(void);
/** The same as text, "0.1.0". Lives forever. Any thread. */
BITTERN_API const char* bittern_version(void);

/* ---- Errors --------------------------------------------------------------------------------- */

/** What became of a call. Numbers never change; later versions may add some. */
typedef int32_t bittern_status;
#define BITTERN_OK 0
#define BITTERN_ERROR_ARGUMENT 1     /**< a value that the caller chose is not acceptable */
#define BITTERN_ERROR_NOT_FOUND 2    /**< a file, key or name does not exist */
#define BITTERN_ERROR_IO 3           /**< the operating system refused */
#define BITTERN_ERROR_CORRUPT 4      /**< a file contradicts itself or its format */
#define BITTERN_ERROR_UNSUPPORTED 5  /**< well-formed, but this version cannot do it */
#define BITTERN_ERROR_MEMORY 6       /**< out of memory or of threads */
#define BITTERN_ERROR_CONTEXT_FULL 7 /**< no room is left for tokens */
#define BITTERN_ERROR_CANCELLED 8    /**< a callback or bittern_..._cancel asked to stop */
#define BITTERN_ERROR_INTERNAL 9     /**< a defect in Bittern */
#define BITTERN_ERROR_HANDLE 10      /**< a handle is NULL, freed or of another kind */
#define BITTERN_ERROR_BUSY 11        /**< called from inside a callback of the same handle */

/** "BITTERN_ERROR_IO" and so on; "unknown" for other numbers. Lives forever. Any thread. */
BITTERN_API const char* bittern_status_name(bittern_status status);
/** The status of the last call of this thread that failed; BITTERN_OK if none has. */
BITTERN_API bittern_status bittern_error_status(void);
/** What failed in that call, in one sentence: the thing, what was expected, what was found. Never
 * NULL. Lives until the next call that fails in this thread. */
BITTERN_API const char* bittern_error_message(void);
/** What may help, or "". Names settings as key=value. Lives as long as the message. */
BITTERN_API const char* bittern_error_hint(void);

/* ---- Results -------------------------------------------------------------------------------- *
 * What larger calls give back: a text, token ids, and everything else as a JSON object.
 *
 * Threads: any number at the same time. Pointers live until the result is freed.
 */
typedef struct bittern_result bittern_result;

/** The text and its bytes; "" where the call gives none. `size` may be NULL. */
BITTERN_API bittern_status bittern_result_text(const bittern_result* result, const char** text,
                                               size_t* size);
/** The token ids; none where the call gives none. `ids` may be NULL. */
BITTERN_API bittern_status bittern_result_ids(const bittern_result* result, const int32_t** ids,
                                              size_t* count);
/** The floats; none where the call gives none. `floats` may be NULL. */
BITTERN_API bittern_status bittern_result_floats(const bittern_result* result, const float** floats,
                                                 size_t* count);
/** The JSON object; its members are described where the result is made. `size` may be NULL. */
BITTERN_API bittern_status bittern_result_json(const bittern_result* result, const char** json,
                                               size_t* size);
/** Frees a result. */
BITTERN_API void bittern_result_free(bittern_result* result);

/* ---- Options -------------------------------------------------------------------------------- *
 * A set of settings. NULL stands for an empty set wherever options are taken, and a setting that is
 * not in the set has its default. One set may hold settings of several kinds ("model", "sequence",
 * "generate", "convert", "pull"); a function looks at those of its own kind and passes over the
 * others.
 *
 * Threads: one at a time with a set that is being changed. Functions read a set while they run.
 */
typedef struct bittern_options bittern_options;

/** Makes an empty set. */
BITTERN_API bittern_status bittern_options_create(bittern_options** options);
/** The value of a key, as the result's text: what was set, else the default in words. The JSON:
 * {"values": [...]}, all that were set. Error BITTERN_ERROR_NOT_FOUND: no such key. */
BITTERN_API bittern_status bittern_options_get(const bittern_options* options, const char* key,
                                               bittern_result** result);
/** Sets a key. A key that says "may be repeated" adds to what is there. Errors, with nothing
 * changed: BITTERN_ERROR_NOT_FOUND (no such key), BITTERN_ERROR_ARGUMENT (not a value of it; the
 * message says what is). */
BITTERN_API bittern_status bittern_options_set(bittern_options* options, const char* key,
                                               const char* value);
/** Frees a set. */
BITTERN_API void bittern_options_free(bittern_options* options);
/** All keys as JSON: [{"key", "kinds", "value", "default", "repeated", "description"}, ...].
 * "value" says in words what is accepted. Lives forever. Any thread. */
BITTERN_API const char* bittern_options_describe(void);

/* ---- Log ------------------------------------------------------------------------------------ */

#define BITTERN_LOG_WARNING 1 /**< a guess about a model, an answer of the hub: worth a look */
#define BITTERN_LOG_INFO 2    /**< what was decided while a model was loaded, and why */

/** Gets a sentence, which also ends with a zero. `level`: BITTERN_LOG_...; pass over other ones.
 * Called by the thread whose call it is about, at any time during the call. */
typedef void (*bittern_log_fn)(void* user, int32_t level, const char* text, size_t size);
/** Sets the listener of this process in place of the one before; NULL: none, as at the beginning.
 * Any thread. A call of the former listener that runs in another thread may end after this one. */
BITTERN_API bittern_status bittern_set_log(bittern_log_fn function, void* user);

/* ---- Callbacks ------------------------------------------------------------------------------ */

/** Told the share of a long work that is done, 0 to 1. Non-zero cancels. */
typedef int32_t (*bittern_progress_fn)(void* user, double done);
/** Gets new text as it is made: whole UTF-8 characters, not ended by a zero. Non-zero ends the
 * text; what was made until then is a result like any other. */
typedef int32_t (*bittern_text_fn)(void* user, const char* text, size_t size);
/** From inside a bittern_text_fn: more about the text that it was given. The result's text is that
 * text; its ids are the tokens that were sampled since the last part (none where held back text
 * comes out at the end); its JSON is {"logprobs": [...]} where the setting logprobs asks for them,
 * one entry a token, else {}. Error BITTERN_ERROR_ARGUMENT: this thread is in no such callback. */
BITTERN_API bittern_status bittern_text_part(bittern_result** result);

/* ---- Models --------------------------------------------------------------------------------- *
 * A model with its tokenizer, loaded once and never changed. Whatever uses a model keeps what it
 * needs of it, so a model may be freed before its sequences and engines.
 *
 * Settings (kind "model"): threads, kernel, batch_kernel, head, zero_skip, activations, isa,
 * override_kv, i2s_layout, tl_tiling, layout_cache.
 *
 * Threads: any number at the same time.
 */
typedef struct bittern_model bittern_model;

/** Loads a GGUF file or a Hugging Face folder. `progress` may be NULL; when it cancels, the load
 * ends with BITTERN_ERROR_CANCELLED. Loading takes about as long as reading the file. */
BITTERN_API bittern_status bittern_model_load(const char* path, const bittern_options* options,
                                              bittern_progress_fn progress, void* user,
                                              bittern_model** model);
/** The same from a GGUF file that lies in memory, which is copied. `name` stands in messages where
 * a path would. */
BITTERN_API bittern_status bittern_model_load_memory(const void* data, size_t size,
                                                     const char* name,
                                                     const bittern_options* options,
                                                     bittern_progress_fn progress, void* user,
                                                     bittern_model** model);
/** The same with the small model that is part of the library: for trying things out. */
BITTERN_API bittern_status bittern_model_load_builtin(const bittern_options* options,
                                                      bittern_model** model);
/** Frees a model. */
BITTERN_API void bittern_model_free(bittern_model* model);

/** A number that is part of the model: "vocab_size", "context_length", "hidden_size", "num_layers",
 * "bos_id", "eos_id" (-1: none), "adds_bos" (0, 1). Error BITTERN_ERROR_NOT_FOUND: another name. */
BITTERN_API bittern_status bittern_model_number(const bittern_model* model, const char* name,
                                                int64_t* value);
/** The memory that a sequence or an engine with these options would take beside the model, in the
 * result's JSON: {"context_length", "pages", "page_bytes", "kv_bytes" (all pages), "state_bytes"
 * (of a sequence of a network with delta layers; else 0), "scratch_bytes" (at most, for each call
 * at the same time), "threads", "model_bytes" (the file's tensors)}. Settings: kind "sequence".
 * Errors: as bittern_sequence_create. */
BITTERN_API bittern_status bittern_model_memory(const bittern_model* model,
                                                const bittern_options* options,
                                                bittern_result** result);
/** What is known about the model, in the result's JSON: {"path", "kind", "architecture", "name",
 * "bytes", "parameters", "isa", "layout", "load_s", "decisions": [{"subject", "choice", "reason",
 * "hint", "notable"}]}. */
BITTERN_API bittern_status bittern_model_info(const bittern_model* model, bittern_result** result);
/** Number of metadata keys in the file. */
BITTERN_API bittern_status bittern_model_metadata_count(const bittern_model* model, size_t* count);
/** The key at `index`. Lives until the model is freed. */
BITTERN_API bittern_status bittern_model_metadata_key(const bittern_model* model, size_t index,
                                                      const char** key);
/** The value of a key: as text where it is a string, and as {"value"} in the JSON. Error
 * BITTERN_ERROR_NOT_FOUND: the file has no such key. */
BITTERN_API bittern_status bittern_model_metadata(const bittern_model* model, const char* key,
                                                  bittern_result** result);

/* ---- Tokens and conversations --------------------------------------------------------------- *
 * Threads: as models.
 */
#define BITTERN_TOKENIZE_BOS 1u     /**< put BOS in front where the model wants one */
#define BITTERN_TOKENIZE_SPECIAL 2u /**< read special tokens written in the text as such */
#define BITTERN_TOKENIZE_EOS 4u     /**< put EOS behind where the model wants one (embeddings) */
#define BITTERN_DECODE_SPECIAL 1u   /**< write special tokens out */

/** The ids of a text, as the result's ids. `flags`: BITTERN_TOKENIZE_... or 0. */
BITTERN_API bittern_status bittern_tokenize(const bittern_model* model, const char* text,
                                            size_t size, uint32_t flags, bittern_result** result);
/** The text of ids; bytes that are no UTF-8 become U+FFFD. `flags`: BITTERN_DECODE_SPECIAL or 0.
 * Error BITTERN_ERROR_ARGUMENT: an id outside the vocabulary. */
BITTERN_API bittern_status bittern_detokenize(const bittern_model* model, const int32_t* ids,
                                              size_t count, uint32_t flags,
                                              bittern_result** result);
/** The bytes of one token as they are, special ones too: parts of characters are possible. Lives
 * until the model is freed. */
BITTERN_API bittern_status bittern_token_bytes(const bittern_model* model, int32_t id,
                                               const char** bytes, size_t* size);
/** Sets `*is_end` to 1 for the tokens that end what the model says, else to 0. */
BITTERN_API bittern_status bittern_token_is_end(const bittern_model* model, int32_t id,
                                                int32_t* is_end);
/** A conversation as the model reads it: text and ids. `messages_json`: a list of {"role",
 * "content"}, or an object with "messages" and further names for the template ("tools",
 * "add_generation_prompt", "continue_final_message", "chat_template_kwargs"). The ids are not those
 * of the text as a whole: each answer (role "assistant") is tokenised from where its generation
 * began, so that a conversation that grew by a turn begins with the ids it had, and every program
 * gives the same ones (docs/chat-templates.md). `chat_template`: NULL for the model's own, else
 * "bitnet", "llama3", "chatml" or the source of a Jinja template. */
BITTERN_API bittern_status bittern_apply_template(const bittern_model* model,
                                                  const char* messages_json, size_t size,
                                                  const char* chat_template,
                                                  bittern_result** result);

/* ---- Sequences ------------------------------------------------------------------------------ *
 * A text being read and made, token by token. Forks share threads and memory with the sequence they
 * come from. The logits of a token depend on the tokens before it and on nothing else: not on
 * threads, chunks, forks or the CPU.
 *
 * Settings (kind "sequence"): context_length, kv_type, batch_size, threads, max_sequences, hidden.
 *
 * A sequence has its tokens' memory for itself. It has threads only during a call: sequences of one
 * model lend them to each other, so a thousand idle ones cost no thread.
 *
 * Threads: any, one call at a time in all forks together; further ones wait.
 * bittern_sequence_cancel does not wait.
 */
typedef struct bittern_sequence bittern_sequence;

/** Makes an empty sequence. Addresses for the whole context are reserved, and memory is used as
 * tokens come: 256 of them at a time ("page_bytes" of bittern_model_memory). */
BITTERN_API bittern_status bittern_sequence_create(const bittern_model* model,
                                                   const bittern_options* options,
                                                   bittern_sequence** sequence);
/** Frees a sequence; its forks stay. */
BITTERN_API void bittern_sequence_free(bittern_sequence* sequence);
/** Number of tokens held. */
BITTERN_API bittern_status bittern_sequence_length(const bittern_sequence* sequence,
                                                   size_t* length);
/** The tokens held, as the result's ids. */
BITTERN_API bittern_status bittern_sequence_tokens(const bittern_sequence* sequence,
                                                   bittern_result** result);
/** Reads tokens behind those that are held. Errors: BITTERN_ERROR_ARGUMENT (no token, an id outside
 * the vocabulary) and BITTERN_ERROR_CONTEXT_FULL, with nothing changed; BITTERN_ERROR_CANCELLED,
 * with a part of them read. */
BITTERN_API bittern_status bittern_sequence_eval(bittern_sequence* sequence, const int32_t* ids,
                                                 size_t count);
/** Makes the sequence hold exactly these tokens. What it holds already is kept, so a conversation
 * that grew by a turn costs that turn only. Errors: as bittern_sequence_eval, but tokens that do
 * not agree are forgotten first. */
BITTERN_API bittern_status bittern_sequence_set_tokens(bittern_sequence* sequence,
                                                       const int32_t* ids, size_t count);
/** Gets the logits of a position: float[count], valid during the call. Non-zero cancels. */
typedef int32_t (*bittern_logits_fn)(void* user, size_t position, const float* logits,
                                     size_t count);
/** As bittern_sequence_eval, giving out the logits of every position in order. */
BITTERN_API bittern_status bittern_sequence_eval_all(bittern_sequence* sequence, const int32_t* ids,
                                                     size_t count, bittern_logits_fn on_logits,
                                                     void* user);
/** As bittern_sequence_eval, giving out the hidden state of every position after the final norm, in
 * order. The head of the network is left out, so that it costs less than bittern_sequence_eval_all.
 * A callback that returns non-zero ends it with BITTERN_ERROR_CANCELLED and a part of them read. */
BITTERN_API bittern_status bittern_sequence_eval_hidden(bittern_sequence* sequence,
                                                        const int32_t* ids, size_t count,
                                                        bittern_logits_fn on_hidden, void* user);
/** The logits of the last position: float[count], in the sequence's own memory, until its next
 * call. Where the last call left none (generate, fork, truncate, restore), the last token is run
 * again. Error BITTERN_ERROR_ARGUMENT: the sequence holds no token. */
BITTERN_API bittern_status bittern_sequence_logits(const bittern_sequence* sequence,
                                                   const float** logits, size_t* count);
/** The last position's hidden state, after the final norm: float[count], as _logits. Needs the
 * setting hidden=on. */
BITTERN_API bittern_status bittern_sequence_hidden(const bittern_sequence* sequence,
                                                   const float** hidden, size_t* count);
/** Forgets what lies behind the first `length` tokens; does nothing if there are not more. */
BITTERN_API bittern_status bittern_sequence_truncate(bittern_sequence* sequence, size_t length);
/** Makes another sequence with the first `length` tokens, sharing their memory; it can be generated
 * from at once. Error BITTERN_ERROR_ARGUMENT: there are fewer. Forks have room together for
 * max_sequences contexts. */
BITTERN_API bittern_status bittern_sequence_fork(const bittern_sequence* sequence, size_t length,
                                                 bittern_sequence** fork);
/** The state as bytes, the result's text: to go on with in another process of this library. */
BITTERN_API bittern_status bittern_sequence_save(const bittern_sequence* sequence,
                                                 bittern_result** result);
/** Takes a saved state in place of what is held. Errors, with nothing changed:
 * BITTERN_ERROR_CORRUPT, BITTERN_ERROR_ARGUMENT (of another model or kv_type),
 * BITTERN_ERROR_CONTEXT_FULL. */
BITTERN_API bittern_status bittern_sequence_restore(bittern_sequence* sequence, const void* state,
                                                    size_t size);
/** Continues the text from the last token held; it needs one. Settings (kind "generate"):
 * n_predict, stop, stop_on_loop, grammar, json_schema, regex, ignore_eos, special, speculation, and
 * all settings of the draw, named as the fields of a request over HTTP are: seed, temperature,
 * dynatemp_range, dynatemp_exponent, top_k, top_p, min_p, typical_p, top_n_sigma, min_keep,
 * repeat_penalty, frequency_penalty, presence_penalty, repeat_last_n, dry_multiplier, dry_base,
 * dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers, xtc_probability, xtc_threshold,
 * mirostat, mirostat_tau, mirostat_eta, adaptive_target, adaptive_decay, logit_bias ("15043+1.5",
 * "15043-inf"; may be repeated) and samplers ("penalties;top_k;temperature"). Those that are not
 * set are what the model's file recommends, else what bittern_options_describe() says. `on_text`
 * may be NULL. The result has the new text, its ids, and {"finish_reason": "length", "end_of_text",
 * "stop_string", "context_full", "cancelled" or "loop", "seed", "drafted", "accepted"}, and
 * "logprobs" and "receipt" where these settings ask for them. A cancel is a result, not an error.
 */
BITTERN_API bittern_status bittern_sequence_generate(bittern_sequence* sequence,
                                                     const bittern_options* options,
                                                     bittern_text_fn on_text, void* user,
                                                     bittern_result** result);
/** Ends the call that runs with this sequence in another thread, if any, within one layer of the
 * network. Any thread; from a signal handler it is not safe. */
BITTERN_API bittern_status bittern_sequence_cancel(bittern_sequence* sequence);

/** All in one: tokenises `text`, reads it, continues it. Settings of kinds "sequence" and
 * "generate"; callback and result as bittern_sequence_generate. Any thread. */
BITTERN_API bittern_status bittern_generate(const bittern_model* model, const char* text,
                                            size_t size, const bittern_options* options,
                                            bittern_text_fn on_text, void* user,
                                            bittern_result** result);

/** A text as one vector, the result's floats (hidden_size of them): the final norms of its
 * positions, pooled. Give it the ids of bittern_tokenize with BITTERN_TOKENIZE_BOS and
 * BITTERN_TOKENIZE_EOS. Settings (kind "embed"): pooling (auto: as the model's file says, else the
 * last; last, first, mean), normalize; and kind "sequence". Errors: as bittern_sequence_eval. Any
 * thread. */
BITTERN_API bittern_status bittern_embed(const bittern_model* model, const int32_t* ids,
                                         size_t count, const bittern_options* options,
                                         bittern_result** result);
/** The calls of functions in a text that the model has made, as its template writes them: the
 * result's text is what stands beside them, its JSON {"tool_calls": [{"id", "type", "function":
 * {"name", "arguments"}}]}. Any thread. */
BITTERN_API bittern_status bittern_parse_answer(const bittern_model* model, const char* text,
                                                size_t size, bittern_result** result);

/* ---- Sampling ------------------------------------------------------------------------------- *
 * For programs that choose tokens themselves, from logits that they may change.
 *
 * Threads: any, one call at a time with a sampler; further ones wait.
 */
typedef struct bittern_sampler bittern_sampler;

/** Makes a sampler with the settings of the draw (bittern_sequence_generate). It has no vocabulary:
 * dry_sequence_breakers make no difference to it. Error BITTERN_ERROR_ARGUMENT: also grammar,
 * json_schema or regex, which it could not obey. */
BITTERN_API bittern_status bittern_sampler_create(const bittern_options* options,
                                                  bittern_sampler** sampler);
/** Makes one that has a model's vocabulary and recommendations, so that it obeys all settings of
 * the draw and grammar, json_schema, regex and ignore_eos: it chooses as bittern_sequence_generate
 * does. The grammar begins with the first choice. */
BITTERN_API bittern_status bittern_sampler_create_for(const bittern_model* model,
                                                      const bittern_options* options,
                                                      bittern_sampler** sampler);
/** Frees a sampler. */
BITTERN_API void bittern_sampler_free(bittern_sampler* sampler);
/** Tells it of a token in the text: those of the prompt, and each one that was chosen. Error
 * BITTERN_ERROR_ARGUMENT, with nothing changed: after the first choice, a token that the grammar
 * does not allow. */
BITTERN_API bittern_status bittern_sampler_accept(bittern_sampler* sampler, int32_t id);
/** Chooses among float[count] logits; with a grammar, count is the model's vocab_size, and an end
 * token is chosen where nothing may follow. Error BITTERN_ERROR_ARGUMENT: none of those that may be
 * chosen is finite. */
BITTERN_API bittern_status bittern_sampler_sample(bittern_sampler* sampler, const float* logits,
                                                  size_t count, int32_t* id);

/* ---- Engine --------------------------------------------------------------------------------- *
 * Many requests at the same time on one model, with shared threads, memory and prefixes. What a
 * request gives does not depend on its neighbours. A thread of the engine does the work
 * (bittern_engine_start), or its callers do: bittern_engine_step a part, bittern_engine_run all.
 *
 * Settings (kind "sequence"): context_length, kv_type, batch_size, threads, max_sequences,
 * cache_tokens, prefix_cache. Keys and values take memory as they come: 2 GiB at most or one full
 * context, where that is more, unless cache_tokens says otherwise; requests that find no room wait.
 *
 * Threads: any. Submit and cancel may be called while another thread steps, and from inside
 * callbacks; they take effect with the next step. Steps of several threads wait for each other.
 * Callbacks are made by the thread that steps.
 */
typedef struct bittern_engine bittern_engine;

/** Told once how a request ended: a status, and with BITTERN_OK a result as
 * bittern_sequence_generate's, which the callback's owner frees; else NULL and the thread's error
 * message. */
typedef void (*bittern_done_fn)(void* user, uint64_t request, bittern_status status,
                                bittern_result* result);

/** Makes an engine. */
BITTERN_API bittern_status bittern_engine_create(const bittern_model* model,
                                                 const bittern_options* options,
                                                 bittern_engine** engine);
/** Frees an engine. Waits for the end of the step that is on the way, unless a callback of that
 * step calls. Then the on_done of each request that has not ended is told BITTERN_ERROR_CANCELLED,
 * by this thread; after that no callback comes. */
BITTERN_API void bittern_engine_free(bittern_engine* engine);
/** Queues a request: `ids` to read, settings of kind "generate". `on_text` may be NULL. `request`
 * gets a number that no other request of this engine has; it may be NULL. Errors, with nothing
 * queued: BITTERN_ERROR_ARGUMENT, BITTERN_ERROR_CONTEXT_FULL. */
BITTERN_API bittern_status bittern_engine_submit(bittern_engine* engine, const int32_t* ids,
                                                 size_t count, const bittern_options* options,
                                                 bittern_text_fn on_text, bittern_done_fn on_done,
                                                 void* user, uint64_t* request);
/** Queues a request given as JSON: the body of a request to the server's chat or text completions
 * ({"messages" or "prompt", "tools", "response_format", "logprobs", "n", "stop", "temperature",
 * ...}), read by the same code. `options`: settings of kind "generate" for what the body leaves
 * open; may be NULL. `on_text` gets the text of the first choice; may be NULL. The result has text
 * and ids of the first choice; its JSON: {"ids", "text", "finish_reason", "prompt_tokens", "seed"},
 * "logprobs" and "tool_calls" where they were asked for, "choices" with all of several. Errors as
 * bittern_engine_submit; they name the field. */
BITTERN_API bittern_status bittern_engine_submit_json(bittern_engine* engine, const char* body,
                                                      size_t size, const bittern_options* options,
                                                      bittern_text_fn on_text,
                                                      bittern_done_fn on_done, void* user,
                                                      uint64_t* request);
/** Queues line `number` (from 1) of a file for `bittern batch`: a body as
 * bittern_engine_submit_json takes it, with an "id". `options`: settings of kind "generate" for
 * what the line leaves open; the seed is then 0; may be NULL. The result's JSON is the line that
 * `bittern batch` writes, byte for byte, with its end; what is wrong with the line stands in it as
 * "error". Errors, with nothing queued: BITTERN_ERROR_ARGUMENT (the options; no `on_done`). */
BITTERN_API bittern_status bittern_engine_submit_line(bittern_engine* engine, const char* line,
                                                      size_t size, uint64_t number,
                                                      const bittern_options* options,
                                                      bittern_done_fn on_done, void* user,
                                                      uint64_t* request);
/** Ends a request in the next step: its on_done gets the text made until then, which may be empty,
 * as a result with finish_reason "cancelled". Unknown numbers are passed over. */
BITTERN_API bittern_status bittern_engine_cancel(bittern_engine* engine, uint64_t request);
/** Has the engine work by itself from here on, in a thread of its own, which then makes all
 * callbacks; bittern_engine_step and bittern_engine_run give BITTERN_ERROR_BUSY. Once.
 * Error BITTERN_ERROR_MEMORY: no thread can be had. */
BITTERN_API bittern_status bittern_engine_start(bittern_engine* engine);
/** One pass over some of the requests. `more`: 0 if nothing is left to do; may be NULL. */
BITTERN_API bittern_status bittern_engine_step(bittern_engine* engine, int32_t* more);
/** Steps until nothing is left to do. */
BITTERN_API bittern_status bittern_engine_run(bittern_engine* engine);
/** What the engine has done, in the JSON: {"steps", "rows", "running", "waiting", "pages",
 * "free_pages", "page_bytes", "preemptions", "prefix_asked_tokens", "prefix_found_tokens",
 * "prefix_bytes"}. */
BITTERN_API bittern_status bittern_engine_stats(bittern_engine* engine, bittern_result** result);

/* ---- Proof and conversion ------------------------------------------------------------------- *
 * Threads: any number at the same time.
 */

/** Makes the model's certificate: one line, the result's text, that is the same on every machine
 * where the model answers alike. Runs for seconds to minutes. Settings: threads, batch_size,
 * kv_type. Error BITTERN_ERROR_CANCELLED. */
BITTERN_API bittern_status bittern_certify(const bittern_model* model,
                                           const bittern_options* options,
                                           bittern_progress_fn progress, void* user,
                                           bittern_result** result);
/** Replays the answers that receipts stand for: a receipt, or a JSON text that holds some, of any
 * program of Bittern on any machine. JSON: {"identical", "what"}: whether this model gives exactly
 * these answers, and in words what was compared or what differs. Settings: threads. Error
 * BITTERN_ERROR_ARGUMENT: no receipt. */
BITTERN_API bittern_status bittern_verify(const bittern_model* model, const char* receipts,
                                          size_t size, const bittern_options* options,
                                          bittern_result** result);
/** How well the model predicts a text: JSON {"perplexity", "perplexity_error", "bits_per_byte",
 * "nats_per_token", "top1", "tokens", "windows", ...} (docs/eval.md). Settings (kind "score"):
 * window, stride, most, every_token, threads; kv_type and batch_size. Error
 * BITTERN_ERROR_CANCELLED. */
BITTERN_API bittern_status bittern_score_text(const bittern_model* model, const char* text,
                                              size_t size, const bittern_options* options,
                                              bittern_progress_fn progress, void* user,
                                              bittern_result** result);
/** How many multiple-choice questions it answers rightly: JSON {"questions", "acc", "acc_error",
 * "acc_norm", ...}. `lines`: a question a line, as `bittern eval` takes them. */
BITTERN_API bittern_status bittern_score_choices(const bittern_model* model, const char* lines,
                                                 size_t size, const bittern_options* options,
                                                 bittern_progress_fn progress, void* user,
                                                 bittern_result** result);
/** What a model file or folder contains, without loading it: JSON as `bittern inspect --json`
 * prints it. Settings: override_kv, i2s_layout, tl_tiling. */
BITTERN_API bittern_status bittern_inspect(const char* path, const bittern_options* options,
                                           bittern_result** result);
/** Why a model talks nonsense: JSON as `bittern doctor --json` prints it ({"verdict", "summary",
 * "findings", ...}). Settings (kind "doctor"): fix, like, overwrite, threads; override_kv. Takes up
 * to a minute. A file that cannot be read as a model is a verdict, not an error. */
BITTERN_API bittern_status bittern_doctor(const char* path, const bittern_options* options,
                                          bittern_result** result);
/** Runs ids through the model. The result's text has a line for each operation, with what it
 * computed for the last id. `folder`: NULL, or a folder for the trace of all ids, which is made
 * where it is not there: `bittern trace --dump` writes the same (docs/trace.md). Settings: values
 * (kind "trace"), kv_type, threads. Errors: BITTERN_ERROR_ARGUMENT (also: the folder's trace.json
 * is not of an earlier trace), BITTERN_ERROR_IO, BITTERN_ERROR_CONTEXT_FULL. */
BITTERN_API bittern_status bittern_trace(const bittern_model* model, const int32_t* ids,
                                         size_t count, const char* folder,
                                         const bittern_options* options, bittern_result** result);
/** Converts a model file or folder to another format. Settings (kind "convert"): to (needed),
 * embeddings, scale_type, prove, overwrite, threads, override_kv, i2s_layout, tl_tiling. The
 * result's JSON: {"kind", "bytes", "ternary_tensors", "ternary_weights", "plain_tensors",
 * "notes"}. The output gets its name when it is complete. Error BITTERN_ERROR_CANCELLED. */
BITTERN_API bittern_status bittern_convert(const char* input, const char* output,
                                           const bittern_options* options,
                                           bittern_progress_fn progress, void* user,
                                           bittern_result** result);

/* ---- Models by name ------------------------------------------------------------------------- *
 * Settings (kind "pull"): cache, endpoint, token, offline, update, connections, retries.
 *
 * Threads: any number at the same time; those that fetch the same file wait for each other.
 */

/** Finds a model in Hugging Face's cache folder, or fetches it into it and proves it by its hashes.
 * `name`: "USER/REPO", "USER/REPO:FILE" (a path, or a word of the file's name as "i2_s"),
 * "USER/REPO@REVISION", a short name as "bitnet-2b", or an address of huggingface.co.
 * `environment`: texts "NAME=VALUE" with a NULL behind the last, such as `environ`: of these the
 * ones that Hugging Face's programs know hold where a setting is not set (HF_HUB_CACHE, HF_HOME,
 * HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HOME ...). NULL: none; then `cache` is needed. `progress`
 * may be NULL; it is called some twenty times a second, also while nothing comes. The result's text
 * is the path of a file or folder for bittern_model_load; its JSON: {"repo", "commit", "path",
 * "files": [{"file", "bytes", "fetched", "sha256" or "git_sha1"}], "notices": [sentences]}. Errors:
 * BITTERN_ERROR_ARGUMENT (the name, or several files fit), BITTERN_ERROR_NOT_FOUND,
 * BITTERN_ERROR_IO (network, disk), BITTERN_ERROR_CORRUPT (hash, length), BITTERN_ERROR_UNSUPPORTED
 * (no libcurl), BITTERN_ERROR_CANCELLED. The bytes that came are kept, and the next call goes on
 * from there. */
BITTERN_API bittern_status bittern_pull(const char* name, const char* const* environment,
                                        const bittern_options* options,
                                        bittern_progress_fn progress, void* user,
                                        bittern_result** result);

#ifdef __cplusplus
}
#endif

#endif /* BITTERN_BITTERN_H */
