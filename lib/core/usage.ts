/** Tokens as the provider counted them. Absent and zero differ: absent was not reported. */
export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  readonly cachedTokens?: number
  readonly cacheWriteTokens?: number
  /** Part of `cacheWriteTokens`: written for an hour. */
  readonly cacheWriteHourTokens?: number
  readonly promptAudioTokens?: number
  readonly promptImageTokens?: number
  readonly reasoningTokens?: number
  readonly completionAudioTokens?: number
  readonly acceptedPredictionTokens?: number
  readonly rejectedPredictionTokens?: number
  /** Searches of the web, which are paid beside the tokens. */
  readonly searches?: number
}

/** Characters of text that make about one token in most languages: for estimates, where a provider reports nothing. */
export const charactersPerToken = 4

/** Adds up what the turns of an answer used; what none of them reported stays absent. */
export function addUsage (sum: Usage | undefined, usage: Usage | undefined): Usage | undefined {
  if (sum === undefined || usage === undefined) return sum ?? usage
  const total: Record<string, number> = {}
  for (const part of [sum, usage]) {
    for (const [name, tokens] of Object.entries(part)) total[name] = (total[name] ?? 0) + Number(tokens)
  }
  return { ...sum, ...total }
}

/** Units other than tokens that a call is billed by. */
export interface Units {
  readonly images?: Images | undefined
  readonly audioSeconds?: number | undefined
  readonly characters?: number | undefined
  readonly pages?: number | undefined
}

/** Images of one size and quality; `auto` and absent are not known. */
export interface Images {
  readonly count: number
  readonly size?: string | undefined
  readonly quality?: string | undefined
}

/** An estimate of what a request uses: units, or tokens where a model is paid by these. */
export interface EstimatedUnits extends Units {
  readonly promptTokens: number
  readonly completionTokens: number
}
