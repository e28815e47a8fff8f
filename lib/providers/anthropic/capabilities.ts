/** What a model accepts, as data: the server refuses a request that asks for more. */

export interface Capabilities {
  /** Most tokens of an answer, thinking included; absent when not known. */
  readonly maxOutputTokens?: number
  /** Takes temperature, top_p and top_k. */
  readonly sampling: boolean
  /** Thinks within a budget of tokens. */
  readonly budgets: boolean
  /** Decides by itself how long to think, guided by an effort. */
  readonly adaptive: boolean
  /** Takes an explicit order not to think. */
  readonly thinkingOff: boolean
  /** Can be forced to use a tool. */
  readonly forcedTools: boolean
}

const common: Capabilities = {
  maxOutputTokens: 128_000, sampling: false, budgets: true, adaptive: true, thinkingOff: true, forcedTools: true
}
const withSampling: Capabilities = { ...common, sampling: true }
const budgetsOnly: Capabilities = { ...withSampling, adaptive: false }
const neverOff: Capabilities = { ...common, budgets: false, thinkingOff: false, forcedTools: false }
const withoutThinking: Capabilities = { ...budgetsOnly, budgets: false, maxOutputTokens: 4096 }

/** The first row with a name that the model's id contains: longer names stand before shorter. */
const rows: ReadonlyArray<readonly [names: readonly string[], capabilities: Capabilities]> = [
  [['sonnet-5-5', 'opus-5-5'], neverOff],
  [['haiku-5-5'], { ...common, budgets: false }],
  [['opus-5'], { ...common, forcedTools: false }],
  [['fable-5-1', 'fable-5-2'], neverOff],
  [['fable-5'], { ...neverOff, forcedTools: true }],
  [['opus-4-8', 'opus-4-7', 'sonnet-5'], common],
  [['opus-4-6', 'sonnet-4-6'], withSampling],
  [['opus-4-5', 'sonnet-4-5', 'haiku-4-5'], { ...budgetsOnly, maxOutputTokens: 64_000 }],
  [['opus-4-1', 'opus-4'], { ...budgetsOnly, maxOutputTokens: 32_000 }],
  [['sonnet-4'], { ...budgetsOnly, maxOutputTokens: 64_000 }],
  [['claude-3-7'], { ...budgetsOnly, maxOutputTokens: 64_000 }],
  [['claude-3-5'], { ...withoutThinking, maxOutputTokens: 8192 }],
  [['claude-3', 'claude-2', 'claude-instant'], withoutThinking],
  [['claude-'], common]
]

/** Other servers that speak this API: everything is tried, and what they refuse they say. */
const { maxOutputTokens: _, ...permissive } = budgetsOnly

/** @param model the name at the provider, without our prefix */
export function capabilitiesOf (model: string): Capabilities {
  const row = rows.find(([names]) => names.some(name => model.includes(name)))
  return row === undefined ? permissive : row[1]
}
