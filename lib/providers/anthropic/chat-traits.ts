import type { Route } from '../../core/route.ts'

/** The fields a model accepts; the server rejects any others. */
export interface ChatTraits {
  /** Maximum tokens of an answer, including thinking; absent if unknown. */
  readonly maxOutputTokens?: number | undefined
  /** Accepts temperature, top_p and top_k. */
  readonly sampling: boolean
  /** Supports a token budget for thinking. */
  readonly budgets: boolean
  /** Decides how long to think, guided by an effort. */
  readonly adaptive: boolean
  /** Thinks adaptively if the request does not say whether to think. */
  readonly thinksByDefault: boolean
  /** Supported efforts. */
  readonly efforts: readonly string[]
  /** Allows thinking to be disabled explicitly. */
  readonly thinkingOff: boolean
  /** Allows a tool call to be forced. */
  readonly forcedTools: boolean
}

/**
 * Returns the traits of a model. For other servers with this API, little is known: every field is sent, and
 * their errors are passed on.
 */
export function chatTraits ({ traits = {} }: Route): ChatTraits {
  const {
    maxOutputTokens,
    sampling = true,
    thinking = ['budget'],
    efforts = ['low', 'medium', 'high'],
    defaultEffort,
    thinkingOff = true,
    forcedTools = true
  } = traits
  return {
    maxOutputTokens,
    sampling,
    budgets: thinking.includes('budget'),
    adaptive: thinking.includes('adaptive'),
    thinksByDefault: thinking.includes('adaptive') && defaultEffort !== 'none',
    efforts,
    thinkingOff,
    forcedTools
  }
}
