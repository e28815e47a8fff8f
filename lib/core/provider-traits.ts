/** Parts of a history that only the provider that made them can check or continue. */
export type HistoryMark = 'signed_thinking' | 'thought_signature' | 'stored_audio' | 'reasoning_item'

/**
 * Facts about the API of a provider that steps outside its adapters depend on. Plain data, set by the kind
 * of provider in `providers/kinds`. Absent facts are as for most servers.
 */
export interface ProviderTraits {
  /** The network of the server: the operator's own, or the one its address is in. Default: the internet. */
  readonly network?: 'internal' | 'by_address'
  /** Marks in its answers that it alone can check or continue. Default: none. */
  readonly historyMarks?: readonly HistoryMark[]
  /**
   * True when it takes a system message anywhere; templates of other servers fail on one that is not the
   * first.
   */
  readonly systemAnywhere?: boolean
  /** True when a system message may have several parts; templates of many servers take a text only. */
  readonly systemParts?: boolean
  /** False when it ignores an answer that the caller began, and writes a new one. */
  readonly prefill?: boolean
  /** True when it has fields for the caller's cache and user (`prompt_cache_key`, `safety_identifier`). */
  readonly callerFields?: boolean
  /** True when it reads `cache_control`; others refuse fields they do not know. */
  readonly cacheMarks?: boolean
  /** True when the gateway can set such marks (`cache_marks`). */
  readonly marksPrompts?: boolean
  /** True when it reads `thinking` and every effort; others know `reasoning_effort` at most. */
  readonly thinking?: boolean
  /** The field that says which form the answer must have. Default: `response_format`. */
  readonly answerFormat?: 'generation_config'
  /** Maximum stop sequences per request. Default: 4. */
  readonly maxStops?: number
  /** True when it knows `disable_automatic_function_calling`, which leaves tool calls to the caller. */
  readonly automaticFunctionCalling?: boolean
}
