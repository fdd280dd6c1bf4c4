// SPDX-License-Identifier: Apache-2.0
// Types of the package. Settings have the defaults that options() tells; those of a text that are
// not set are what the model's file recommends.

/** Version of the library, "0.1.0". */
export const version: string;

/** A setting, as options() lists it. */
export interface OptionDescription {
  key: string;
  kinds: ('model' | 'sequence' | 'generate' | 'convert' | 'pull' | 'score' | 'doctor' | 'embed' | 'trace')[];
  value: string;
  default: string;
  /** An array may be given. */
  repeated: boolean;
  description: string;
}

/** All settings. */
export function options(): OptionDescription[];

/** A name of bittern.h. */
export type ErrorCode =
  | 'BITTERN_ERROR_ARGUMENT' | 'BITTERN_ERROR_NOT_FOUND' | 'BITTERN_ERROR_IO'
  | 'BITTERN_ERROR_CORRUPT' | 'BITTERN_ERROR_UNSUPPORTED' | 'BITTERN_ERROR_MEMORY'
  | 'BITTERN_ERROR_CONTEXT_FULL' | 'BITTERN_ERROR_CANCELLED' | 'BITTERN_ERROR_INTERNAL'
  | 'BITTERN_ERROR_HANDLE' | 'BITTERN_ERROR_BUSY';

/** Something failed. Values of a wrong type give a TypeError instead. */
export class BitternError extends Error {
  private constructor();
  readonly code: ErrorCode;
  /** What may help, or "". */
  readonly hint: string;
}

/** Ends the work within one layer of the network; the promise then has the signal's reason. */
export interface Cancellable {
  signal?: AbortSignal | null;
}

/** Told the share of the work that is done, 0 to 1. False ends it: BITTERN_ERROR_CANCELLED. */
export interface Progressing {
  progress?: ((done: number) => unknown) | null;
}

export interface ModelSettings {
  /** Threads at most; 0: one per physical core. */
  threads?: number;
  kernel?: 'auto' | 'tile16' | 'tile48' | 'tl1' | 'tl2';
  batchKernel?: 'auto' | 'tile16' | 'vlut';
  head?: 'auto' | 'exact' | 'screened';
  /** Bits of activations, of models that were trained without rounding them. */
  activations?: 'auto' | 'int8' | 'int10' | 'int16';
  zeroSkip?: 'auto' | 'on' | 'off';
  isa?: string;
  overrideKv?: string | string[];
  i2sLayout?: 'x86-128' | 'arm-64' | 'row4' | 'sequential';
  tlTiling?: string | string[];
  /** A file that keeps which layout of weights is faster here; "": nothing is measured or kept.
   * Default: the command line's, in $XDG_CACHE_HOME or ~/.cache. */
  layoutCache?: string;
}

export interface SequenceSettings {
  contextLength?: number;
  kvType?: 'f16' | 'f32' | 'i8';
  batchSize?: number;
  threads?: number;
  maxSequences?: number;
  /** Keep the last hidden state. */
  hidden?: boolean;
}

export interface EngineSettings extends Omit<SequenceSettings, 'hidden'> {
  cacheTokens?: number;
  prefixCache?: boolean;
}

/** Settings of the draw. */
export interface SamplerSettings {
  /** 0 or less: always the most probable token. */
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  repeatPenalty?: number;
  repeatLastN?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  typicalP?: number;
  topNSigma?: number;
  xtcProbability?: number;
  xtcThreshold?: number;
  dynatempRange?: number;
  dynatempExponent?: number;
  dryMultiplier?: number;
  dryBase?: number;
  dryAllowedLength?: number;
  dryPenaltyLastN?: number;
  /** Texts over which DRY does not look back; []: none. */
  drySequenceBreakers?: string | readonly string[];
  mirostat?: 0 | 1 | 2;
  mirostatTau?: number;
  mirostatEta?: number;
  adaptiveTarget?: number;
  adaptiveDecay?: number;
  minKeep?: number;
  /** By token id; false forbids the token. Or texts: "15043+1.5", "318-inf". */
  logitBias?: Readonly<Record<number, number | false>> | string | readonly string[];
  /** The steps and their order; empty: the usual ones. */
  samplers?: string | readonly string[];
  /** 0 to 2^32 - 1; -1: a new one each time. */
  seed?: number;
}

export interface TextSettings extends SamplerSettings {
  /** New tokens at most; -1: until the text ends or the context is full. */
  nPredict?: number;
  stop?: string | string[];
  /** A GBNF grammar that the text obeys. One of grammar, jsonSchema, regex. */
  grammar?: string;
  /** A JSON schema, as an object or its text. */
  jsonSchema?: string | boolean | object;
  /** A regular expression that the text matches from end to end. */
  regex?: string;
  stopOnLoop?: boolean;
  ignoreEos?: boolean;
  special?: boolean;
  /** 0 or more: log-probabilities of the new tokens, and of so many best ones beside each. */
  logprobs?: number;
  speculation?: 'ngram' | 'off' | 'always';
  /** The answer has a receipt, which verify() replays on any machine. */
  receipt?: boolean;
}

export interface EmbedSettings {
  /** The positions of a text that count. 'auto', the default: as the model's file says, else the last. */
  pooling?: 'auto' | 'last' | 'first' | 'mean';
  /** Vectors of length 1. Default: false. */
  normalize?: boolean;
}

export interface ScoreSettings {
  /** Tokens of a window. Default: 512 for texts, the model's limit for questions. */
  window?: number;
  /** Tokens from one window to the next. Default: they lie end to end. */
  stride?: number;
  /** Windows or questions at most. Default: all. */
  most?: number;
  /** Score every token of a text but the first once. */
  everyToken?: boolean;
}

export interface TraceSettings {
  /** Write all values beside the facts, as .npy files. */
  values?: boolean;
}

export interface DoctorSettings {
  /** Where to write the model with all that can be put right put right. */
  fix?: string;
  /** A healthy file or folder to compare with. */
  like?: string;
  overwrite?: boolean;
  threads?: number;
}

export interface ConvertSettings {
  /** Format of the ternary weights: i2_s, tq2_0, safetensors, ... */
  to: string;
  embeddings?: string;
  scaleType?: 'bf16' | 'f32';
  tiling?: string | string[];
  prove?: boolean;
  overwrite?: boolean;
  threads?: number;
  overrideKv?: string | string[];
  i2sLayout?: ModelSettings['i2sLayout'];
  tlTiling?: string | string[];
}

/** A text, its bytes in UTF-8, or token ids. */
export type Prompt = string | Uint8Array | Ids;
export type Ids = readonly number[] | Int32Array;

export interface Message {
  role: string;
  content: unknown;
  [name: string]: unknown;
}

/** Messages; what a user says; or an object with "messages" and further names for the template. */
export type Conversation = string | readonly Message[] | { messages: readonly Message[]; [name: string]: unknown };

export type FinishReason =
  | 'length' | 'end_of_text' | 'stop_string' | 'context_full' | 'cancelled' | 'loop';

export interface Completion {
  text: string;
  ids: number[];
  finishReason: FinishReason;
  seed: number;
  /** Tokens that were guessed and run before they were sampled; those that were sampled then. */
  drafted: number;
  accepted: number;
  logprobs?: TokenLogprobs[];
  /** Where {receipt: true} asked for one: what verify() takes. */
  receipt?: Record<string, unknown>;
}

/** A token and its log-probability (natural logarithm; -9999: it cannot be). */
export interface TokenLogprob {
  id: number;
  token: string;
  bytes: number[];
  logprob: number;
}

export interface TokenLogprobs extends TokenLogprob {
  top_logprobs: TokenLogprob[];
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/** A request as the server takes it: "messages" or "prompt", and further names (docs/serving.md). */
export interface TextRequest {
  messages?: readonly Message[];
  prompt?: string | readonly (number | string)[];
  [name: string]: unknown;
}

/** The answer to one; with several, those of the first, and all of them in `choices`. */
export interface TextAnswer {
  ids: number[];
  text: string;
  finish_reason: FinishReason;
  prompt_tokens: number;
  seed: number;
  logprobs?: { content: TokenLogprobs[] };
  tool_calls?: ToolCall[];
  choices?: Omit<TextAnswer, 'choices'>[];
}

/** A piece of a text with the tokens that were chosen since the piece before. */
export interface TextPart {
  text: string;
  ids: number[];
  /** Where the setting logprobs asks for them: one a token. */
  logprobs?: Completion['logprobs'];
}

/**
 * A text that is being written: pieces of whole characters, as they come. It begins when the first
 * piece or `result` is asked for. Leaving the loop ends it.
 */
export class Generation implements AsyncIterableIterator<string> {
  private constructor();
  /** All of the text. */
  readonly result: Promise<Completion>;
  /** The same pieces with their tokens. Read either these or the texts alone. */
  parts(): AsyncIterableIterator<TextPart>;
  /** Ends the text; `result` has what was made until then. */
  cancel(): void;
  next(): Promise<IteratorResult<string, undefined>>;
  return(value?: any): Promise<IteratorResult<string, any>>;
  [Symbol.asyncIterator](): this;
}

export interface Decision {
  subject: string;
  choice: string;
  reason: string;
  hint: string;
  notable: boolean;
}

export interface ModelInfo {
  path: string;
  kind: string;
  architecture: string;
  name: string;
  bytes: number;
  parameters: number;
  isa: string;
  layout: string;
  loadSeconds: number;
  decisions: Decision[];
}

export interface ChatCompletionRequest extends Cancellable {
  messages: Conversation;
  max_tokens?: number;
  temperature?: number;
  top_p?: number;
  top_k?: number;
  min_p?: number;
  stop?: string | string[];
  seed?: number;
  n?: number;
  tools?: readonly object[];
  tool_choice?: string | object;
  response_format?: object;
  logprobs?: boolean;
  top_logprobs?: number;
  /** Whatever else the server takes. */
  [name: string]: unknown;
}

export interface ChatCompletion {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: {
    index: number;
    finish_reason: 'stop' | 'length' | 'tool_calls';
    message: { role: 'assistant'; content: string; tool_calls?: ToolCall[] };
    logprobs?: { content: TokenLogprobs[] };
  }[];
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export interface ChatCompletionChunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: number;
    finish_reason: 'stop' | 'length' | 'tool_calls' | null;
    delta: { role?: 'assistant'; content?: string; tool_calls?: (ToolCall & { index: number })[] };
  }[];
}

export type ModelSource =
  | { path?: string | URL; data?: undefined; name?: undefined }
  /** The bytes of a GGUF file, which are copied. */
  | { path?: undefined; data: Uint8Array; name?: string };

/** A model with its tokenizer; never changed. */
export class Model {
  private constructor();
  /** Loads a GGUF file, a Hugging Face folder, or without either the small built-in model. */
  static load(options?: ModelSource & ModelSettings & Progressing & Cancellable): Promise<Model>;

  /**
   * The model of a name, as pull() takes it: from the cache, or downloaded where it is not there.
   * `progress` is told of the download, then again of the loading.
   */
  static fromPretrained(name: string,
    options?: PullSettings & ModelSettings & Progressing & Cancellable): Promise<Model>;

  readonly info: ModelInfo;
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly hiddenSize: number;
  readonly numLayers: number;
  /** -1: none. */
  readonly bosId: number;
  /** -1: none. */
  readonly eosId: number;
  readonly addsBos: boolean;
  /** A metadata value of the file. BITTERN_ERROR_NOT_FOUND where there is none. */
  metadata(key: string): any;
  metadataKeys(): string[];

  /** `bos` (true): put BOS in front where the model wants one; `special` (false): read special tokens
   * written in the text as such; `eos` (false): put EOS behind where the model wants one. */
  tokenize(text: string | Uint8Array, options?: { bos?: boolean; special?: boolean; eos?: boolean }): Promise<number[]>;
  detokenize(ids: Ids, options?: { special?: boolean }): Promise<string>;
  tokenBytes(id: number): Uint8Array;
  tokenIsEnd(id: number): boolean;
  applyTemplate(messages: Conversation, options?: { chatTemplate?: string }): Promise<{ text: string; ids: number[] }>;

  generate(prompt: Prompt, options?: TextSettings & SequenceSettings & Cancellable): Generation;
  complete(prompt: Prompt, options?: TextSettings & SequenceSettings & Cancellable): Promise<Completion>;
  chat(messages: Conversation, options?: TextSettings & SequenceSettings & Cancellable & { chatTemplate?: string }): Generation;
  completeChat(messages: Conversation, options?: TextSettings & SequenceSettings & Cancellable & { chatTemplate?: string }): Promise<Completion>;
  createChatCompletion(request: ChatCompletionRequest & { stream: true }): Promise<AsyncGenerator<ChatCompletionChunk>>;
  createChatCompletion(request: ChatCompletionRequest & { stream?: false }): Promise<ChatCompletion>;

  /** The logits after a prompt: vocabSize floats. */
  logits(prompt: Prompt, options?: SequenceSettings & Cancellable): Promise<Float32Array>;
  /** A text as one vector: hidden states after the final norm, pooled; hiddenSize floats. */
  embedding(prompt: Prompt, options?: EmbedSettings & Omit<SequenceSettings, 'hidden'> & Cancellable): Promise<Float32Array>;
  /** The calls of functions in a text that the model has made. */
  parseAnswer(text: string | Uint8Array): { text: string; toolCalls: ToolCall[] };
  /** Perplexity of a text, and more. */
  scoreText(text: string | Uint8Array, options?: ScoreSettings & SequenceSettings & Progressing & Cancellable): Promise<Record<string, unknown> & { perplexity: number }>;
  /** The share of multiple-choice questions (a JSON object a line) that it answers rightly. */
  scoreChoices(lines: string | Uint8Array, options?: ScoreSettings & SequenceSettings & Progressing & Cancellable): Promise<Record<string, unknown> & { acc: number }>;
  /** Replays the answers that receipts stand for: a text or an object that holds some. */
  verify(receipts: string | Uint8Array | object): Promise<{ identical: boolean; what: string }>;
  sequence(options?: SequenceSettings): Promise<Sequence>;
  engine(options?: EngineSettings): Promise<Engine>;
  /** What each operation computes for a prompt: a line each, for its last token. `folder` gets the
   * trace of all tokens, as `bittern trace --dump` writes it. */
  trace(prompt: Prompt, options?: Pick<SequenceSettings, 'threads' | 'kvType'> & TraceSettings & { folder?: string | URL } & Cancellable): Promise<string>;
  /** The line that is the same on every machine where the model answers alike. */
  certify(options?: Pick<SequenceSettings, 'threads' | 'batchSize' | 'kvType'> & Progressing & Cancellable): Promise<string>;
  /** Gives the memory back; sequences and engines keep what they need. */
  close(): void;
  [Symbol.dispose](): void;
}

/** A text being read and made, token by token. Calls of a sequence and its forks are done in turn. */
export class Sequence {
  private constructor();
  length(): Promise<number>;
  tokens(): Promise<number[]>;
  /** Reads ids behind those that are held. */
  eval(ids: Ids, options?: Cancellable): Promise<void>;
  /** Makes the sequence hold exactly these ids; what it holds already is not read again. */
  setTokens(ids: Ids, options?: Cancellable): Promise<void>;
  /** Reads ids and gives the logits of each: vocabSize floats a token. */
  evalAll(ids: Ids, options?: Cancellable): Promise<Float32Array[]>;
  /** Reads ids and gives the hidden state of each: hiddenSize floats a token. */
  evalHidden(ids: Ids, options?: Cancellable): Promise<Float32Array[]>;
  /** The logits of the last position. */
  logits(): Promise<Float32Array>;
  /** The last hidden state; needs {hidden: true}. */
  hidden(): Promise<Float32Array>;
  /** Forgets what lies behind the first `length` tokens. */
  truncate(length: number): Promise<void>;
  /** Another sequence with the first `length` tokens, or all. Forks have room together for
   * maxSequences contexts. */
  fork(length?: number): Promise<Sequence>;
  /** The state, for restore() in another process of this library. */
  save(): Promise<Uint8Array>;
  restore(state: Uint8Array): Promise<void>;
  generate(options?: TextSettings & Cancellable): Generation;
  complete(options?: TextSettings & Cancellable): Promise<Completion>;
  /** Ends the calls of this sequence that run or wait. */
  cancel(): void;
  /** Ends what runs and gives the memory back; forks stay. */
  close(): void;
  [Symbol.dispose](): void;
}

export interface EngineStats {
  steps: number;
  rows: number;
  running: number;
  waiting: number;
  pages: number;
  freePages: number;
  pageBytes: number;
  preemptions: number;
  prefixAskedTokens: number;
  prefixFoundTokens: number;
  prefixBytes: number;
}

/** Many requests at the same time on one model. A request's text does not depend on others. */
export class Engine {
  private constructor();
  generate(prompt: Prompt, options?: TextSettings & Cancellable): Generation;
  complete(prompt: Prompt, options?: TextSettings & Cancellable): Promise<Completion>;
  answer(request: TextRequest,
    options?: TextSettings & Cancellable & { onText?: (text: string) => void }): Promise<TextAnswer>;
  stats(): Promise<EngineStats>;
  /** Ends what has not ended and gives the memory back. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Chooses tokens from logits that a program may change. */
export class Sampler {
  /** With a model it has its vocabulary and recommendations, and obeys grammars. */
  constructor(options?: SamplerSettings, model?: Model);
  /** Tells it of a token in the text: those of the prompt, and each one that was chosen. */
  accept(id: number): void;
  sample(logits: Float32Array): number;
  close(): void;
  [Symbol.dispose](): void;
}

export interface ConvertReport {
  kind: string;
  bytes: number;
  ternaryTensors: number;
  ternaryWeights: number;
  plainTensors: number;
  notes: string[];
}

/** Something that the library decided or doubts. */
export interface LogEntry {
  level: 'warning' | 'info';
  message: string;
}

/** Has a listener told of all models of this process, in place of the one before; null: nobody. */
export function setLog(listener: ((entry: LogEntry) => unknown) | null): void;

/** A file's contents, without loading it, as `bittern inspect --json` prints it. */
export function inspect(source: string | URL, options?: Pick<ModelSettings, 'overrideKv' | 'i2sLayout' | 'tlTiling'>): Promise<Record<string, unknown>>;

/** Why a model talks nonsense, as `bittern doctor --json` prints it. */
export function doctor(source: string | URL, options?: DoctorSettings & Pick<ModelSettings, 'overrideKv' | 'i2sLayout' | 'tlTiling'>): Promise<Record<string, unknown> & { verdict: string; summary: string }>;

/** Converts a model file or folder. The output gets its name when it is complete. */
export function convert(source: string | URL, target: string | URL, options: ConvertSettings & Progressing & Cancellable): Promise<ConvertReport>;

export interface PullSettings {
  /** Folder of downloaded models. Default: HF_HUB_CACHE, or what else Hugging Face's programs use. */
  cache?: string;
  /** Address of the hub. Default: HF_ENDPOINT, else https://huggingface.co. */
  endpoint?: string;
  /** For private and gated repositories. Default: HF_TOKEN, else the file of a log-in. */
  token?: string;
  /** Use downloaded models only. */
  offline?: boolean;
  /** Ask the hub for the newest state; false: only where the cache lacks the model. */
  update?: boolean;
  /** Connections for one file, 1 to 16. */
  connections?: number;
  /** Tries in a row that may bring nothing before it is given up. */
  retries?: number;
}

/**
 * Finds a model by its name in Hugging Face's cache folder, or fetches it; its path. `name`:
 * "USER/REPO", "USER/REPO:FILE" (a path, or a word of the file's name as "i2_s"),
 * "USER/REPO@REVISION", a short name as "bitnet-2b", or an address of huggingface.co.
 */
export function pull(name: string, options?: PullSettings & Progressing & Cancellable): Promise<string>;
