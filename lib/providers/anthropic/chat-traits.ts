import type { Route } from '../../core/route.ts'

/** The fields a model accepts: the server refuses a request that asks for more. */
export interface ChatTraits {
  /** Tokens of one answer, thinking included; absent when not known. */
  readonly maxOutputTokens?: number | undefined
  /** Takes temperature, top_p and top_k. */
  readonly sampling: boolean
  /** Thinks within a budget of tokens. */
  readonly budgets: boolean
  /** Decides by itself how long to think, guided by an effort. */
  readonly adaptive: boolean
  /** Efforts it knows. */
  readonly efforts: readonly string[]
  /** Takes an explicit order not to think. */
  readonly thinkingOff: boolean
  /** Can be forced to use a tool. */
  readonly forcedTools: boolean
}

/**
 * Reads what is known of a model. Of other servers that speak this API little is: everything is
 * tried, and their refusals are passed on.
 */
export function chatTraits ({ traits = {} }: Route): ChatTraits {
  const {
    maxOutputTokens,
    sampling = true,
    thinking = ['budget'],
    efforts = ['low', 'medium', 'high'],
    thinkingOff = true,
    forcedTools = true
  } = traits
  return {
    maxOutputTokens,
    sampling,
    budgets: thinking.includes('budget'),
    adaptive: thinking.includes('adaptive'),
    efforts,
    thinkingOff,
    forcedTools
  }
}
