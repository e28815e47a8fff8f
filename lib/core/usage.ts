/** Tokens as the provider counted them. Absent and zero differ: absent was not reported. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  readonly cachedTokens?: number
  readonly cacheWriteTokens?: number
  readonly promptAudioTokens?: number
  readonly reasoningTokens?: number
  readonly completionAudioTokens?: number
  readonly acceptedPredictionTokens?: number
  readonly rejectedPredictionTokens?: number
}

/** Adds up what the turns of an answer used; what none of them reported stays absent. */
export function addUsage (sum: Usage | undefined, usage: Usage | undefined): Usage | undefined {
  if (sum === undefined || usage === undefined) return sum ?? usage
  const total: Record<string, number> = {}
  for (const part of [sum, usage]) {
    for (const [name, tokens] of Object.entries(part)) total[name] = (total[name] ?? 0) + Number(tokens)
  }
  return { ...sum, ...total }
}
