/**
 * Converts a key's limits from OpenAI's to Anthropic's headers.
 *
 * @param limits `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`
 */
export function rateLimitHeaders (
  limits: Readonly<Record<string, string>> = {},
  nowMs = Date.now()
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name in limits) {
    const shown = names.get(name)
    const value = limits[name]
    if (shown === undefined || value === undefined) continue
    // Anthropic sends a time, OpenAI a duration.
    headers[shown] = name.startsWith('x-ratelimit-reset') ? timeText(nowMs + durationMs(value)) : value
  }
  return headers
}

/** Precomputed, because a lookup is cheaper than building the name. */
const names: ReadonlyMap<string, string> = new Map(
  ['requests', 'tokens'].flatMap(unit =>
    ['limit', 'remaining', 'reset'].map(
      what => [`x-ratelimit-${what}-${unit}`, `anthropic-ratelimit-${unit}-${what}`] as const
    )
  )
)

/** Rounds up to full seconds, like Anthropic: `2026-01-01T00:00:00Z`. */
function timeText (ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace('.000', '')
}

/** Parses `20ms`, `1.5s` and `6m0s`. */
function durationMs (text: string): number {
  const [, minutes = '0', amount = '0', unit] = /^(?:(\d+)m(?=\d))?([\d.]+)(ms|s)$/.exec(text) ?? []
  return Number(minutes) * 60_000 + Number(amount) * (unit === 'ms' ? 1 : 1000)
}
