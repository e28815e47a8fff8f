import type { Route } from '../../core/route.ts'

/** The differences between Gemini models. */
export interface ChatTraits {
  /** False: the system prompt is put in front of the first user part. */
  readonly systemInstruction: boolean
  /** The form in which thinking is requested: a number of tokens, a level, or not at all. */
  readonly thinking: 'none' | 'budget' | 'level'
  /** Bounds of a budget. */
  readonly minBudget: number
  readonly maxBudget: number
  /** True when a thinking budget of 0 is allowed. */
  readonly thinkingOff: boolean
  /** Efforts whose levels it knows; absent: all. */
  readonly efforts: readonly string[] | undefined
  readonly penalties: boolean
  /** True when a function call of the history must carry the thought signature it came with. */
  readonly signatures: boolean
  /** Largest `candidateCount`. */
  readonly maxChoices: number
}

/** Reads what is known of a model; of others the provider's own refusal is passed on. */
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
