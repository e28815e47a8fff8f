/** Facts about the APIs of providers, and how servers deviate from the dialects that they speak. */

import type { ProviderConfig } from '../../schemas/config/providers.ts'
import type { CamelCased } from './camel-cased.ts'

/** Parts of a history that only the provider that created them can verify or continue. */
export type HistoryMark = 'signed_thinking' | 'thought_signature' | 'stored_audio' | 'reasoning_item'

/**
 * Facts about the API of a provider that stages outside its adapters depend on. Plain data, set by the kind
 * of provider in `providers/kinds`. The default of each is what most servers do.
 */
export interface ProviderTraits {
  /**
   * `internal`: software that operators run themselves, in their own network. `anywhere`: the same, in the
   * network of its address. `internet`: never in the operator's network, whatever its address. Default: a
   * service on the internet, unless the operator set an address that is not public.
   */
  readonly network?: 'internal' | 'anywhere' | 'internet'
  /** Parts of its answers that only this provider can verify or continue. Default: none. */
  readonly historyMarks?: readonly HistoryMark[]
  /**
   * True if system messages may be anywhere; templates of other servers fail on one that is not the first.
   */
  readonly systemAnywhere?: boolean
  /** True if a system message may have several parts; templates of many servers accept only a text. */
  readonly systemParts?: boolean
  /** False if it ignores an answer that the caller began, and writes a new one. */
  readonly prefill?: boolean
  /** True if it has fields for the caller's cache and user (`prompt_cache_key`, `safety_identifier`). */
  readonly callerFields?: boolean
  /**
   * True if it reads `cache_control`. `in_chat`: it may, as a proxy does; requests of its own dialect, chat
   * completions, keep theirs. Other servers refuse unknown fields.
   */
  readonly cacheMarks?: true | 'in_chat'
  /** True if the gateway can set such marks (`cache_marks`). */
  readonly marksPrompts?: boolean
  /** True if it reads `thinking` and every effort; other servers know only `reasoning_effort`, if that. */
  readonly thinking?: boolean
  /**
   * The field in which callers of chat completions set the format of the answer; `response_format` is then
   * refused. Default: `response_format`.
   */
  readonly answerFormat?: 'generation_config'
  /** Maximum stop sequences per request. Default: 4. */
  readonly maxStops?: number
  /** True if it supports `disable_automatic_function_calling`, which leaves tool calls to the caller. */
  readonly automaticFunctionCalling?: boolean
}

/**
 * How a server deviates from the dialect it speaks. Data, set by the kind of server in `providers/kinds` and
 * by the operator in the configuration, whose schema describes each quirk.
 */
export type Quirks = CamelCased<ProviderConfig['quirks']>
