import type { Route } from '../../core/route.ts'

/** Differences between Gemini models. */
export interface ChatTraits {
  /** False: the system prompt is prepended to the first user part. */
  readonly systemInstruction: boolean
  /** How thinking is requested: a token budget, a level, or not at all. */
  readonly thinking: 'none' | 'budget' | 'level'
  /** Bounds of the budget. */
  readonly minBudget: number
  readonly maxBudget: number
  /** True if a thinking budget of 0 is allowed. */
  readonly thinkingOff: boolean
  /** Supported efforts; absent: all. */
  readonly efforts: readonly string[] | undefined
  readonly penalties: boolean
  /** True if function calls in the history must carry their original thought signature. */
  readonly signatures: boolean
  /** Maximum `candidateCount`. */
  readonly maxChoices: number
}

/** Returns the traits of a model; for unknown models, the provider's errors are passed on. */
export function chatTraits ({ traits = {} }: Route): ChatTraits {
  const {
    systemInstruction = true,
    thinking: ways = [],
    thinkingOff = false,
    efforts,
    penalties = true,
    thoughtSignatures = false,
    maxChoices = 8,
    thinkingBudget: { min: minBudget = 0, max: maxBudget = Infinity } = {}
  } = traits
  const thinking = ways.includes('level') ? 'level' : ways.includes('budget') ? 'budget' : 'none'
  return {
    systemInstruction,
    thinking,
    minBudget,
    maxBudget,
    thinkingOff,
    efforts,
    penalties,
    signatures: thoughtSignatures,
    maxChoices
  }
}
