/**
 * Returns the limits of a key in Anthropic's headers, made of those in OpenAI's.
 *
 * @param limits `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`
 */
export function rateLimitHeaders (limits: Readonly<Record<string, string>> = {}, nowMs = Date.now()): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(limits)) {
    const [, what, unit] = /^x-ratelimit-(limit|remaining|reset)-(requests|tokens)$/.exec(name) ?? []
    if (what === undefined) continue
    // A point in time here, a duration there.
    headers[`anthropic-ratelimit-${unit}-${what}`] = what === 'reset' ? new Date(nowMs + durationMs(value)).toISOString() : value
  }
  return headers
}

/** Reads `20ms`, `1.5s` and `6m0s`. */
function durationMs (text: string): number {
  const [, minutes = '0', amount = '0', unit] = /^(?:(\d+)m(?=\d))?([\d.]+)(ms|s)$/.exec(text) ?? []
  return Number(minutes) * 60_000 + Number(amount) * (unit === 'ms' ? 1 : 1000)
}
