/**
 * The chat-completions dialect as servers really speak it: only the fields we read, all optional and of type
 * unknown, because servers omit them or send null or other types.
 */

export interface WireAnswer {
  id?: unknown
  model?: unknown
  created?: unknown
  service_tier?: unknown
  system_fingerprint?: unknown
  choices?: unknown
  usage?: unknown
  error?: unknown
}

export interface WireChoice {
  index?: unknown
  finish_reason?: unknown
  stop_reason?: unknown
  matched_stop?: unknown
  logprobs?: unknown
  /** In a chunk. */
  delta?: unknown
  /** In a complete answer. */
  message?: unknown
  /** In a text completion, instead of `delta` and `message`. */
  text?: unknown
}

export interface WireDelta {
  role?: unknown
  content?: unknown
  refusal?: unknown
  reasoning_content?: unknown
  reasoning?: unknown
  audio?: unknown
  annotations?: unknown
  tool_calls?: unknown
  function_call?: unknown
  thinking_blocks?: unknown
  reasoning_details?: unknown
}

export interface WireToolCall {
  index?: unknown
  id?: unknown
  type?: unknown
  function?: unknown
  custom?: unknown
}
