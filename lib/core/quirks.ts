/**
 * How a server deviates from the dialect it speaks. Data, set by the kind of server in
 * `providers/index` and by the operator in the configuration.
 */
export interface Quirks {
  /** The only token-limit field it knows. Default: whichever the caller used. */
  readonly tokenLimitField?: 'max_tokens' | 'max_completion_tokens'
  /** Fields of a chat request it refuses; left out. */
  readonly omit?: readonly string[]
  /** False when it does not know `stream_options`. Default true. */
  readonly streamUsage?: boolean
  /** False when it takes one choice only; more are asked for in parallel. Default true. */
  readonly choices?: boolean
  /** True when a stream may end with `[DONE]` and no finish reason. Default false. */
  readonly lenientFinish?: boolean
  /** `object` sends `reasoning: {effort}`; default sends `reasoning_effort`. */
  readonly reasoningEffort?: 'field' | 'object' | 'omit'
  /** Fields of the request that only this kind of server knows. */
  readonly forward?: readonly string[]
  /** Fields of assistant messages that it wants back in the history. */
  readonly echo?: readonly string[]
  /** True when it pads stream chunks with random text unless told not to. */
  readonly obfuscation?: boolean
  /** False when custom (free-form) tools are refused. Default true. */
  readonly customTools?: boolean
  /** True when it knows the deprecated `functions`. Default false: they are sent as tools. */
  readonly legacyFunctions?: boolean
  /** Fields of the request that it calls otherwise: ours to its. */
  readonly rename?: Readonly<Record<string, string>>
  /** Letters and digits an id of a tool call must have; others are replaced in the history. */
  readonly toolCallIdLength?: number
  /** False when no message of the user may follow those of tools, which is how their pictures travel. Default true. */
  readonly toolImages?: boolean
  /** False when it does not know base64 embeddings; the gateway makes them. Default true. */
  readonly base64Embeddings?: boolean
}
