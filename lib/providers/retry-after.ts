/** Reads when to retry, and the rate limits, from the headers of a provider. */

/**
 * Reads how long a provider asks us to wait.
 *
 * `retry-after-ms` beats `retry-after` (seconds or an HTTP date). A date is relative to the response's `date`
 * header if present, because clocks differ. Official clients sleep for as long as the header says, so the
 * value is clamped.
 *
 * @returns whole seconds from 1 to 60, or `undefined` without a usable value
 */
export function retryAfterSeconds (
  headers: Readonly<Record<string, string | string[] | undefined>>,
  nowMs: number = Date.now()
): number | undefined {
  const ms = Number(first(headers['retry-after-ms']) ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return clampSeconds(ms / 1000)
  const given = first(headers['retry-after'])
  if (given === undefined || given.trim() === '') return undefined
  const seconds = Number(given)
  if (Number.isFinite(seconds)) return seconds >= 0 ? clampSeconds(seconds) : undefined
  const untilMs = Date.parse(given)
  const sentAtMs = Date.parse(first(headers['date']) ?? '')
  return Number.isNaN(untilMs)
    ? undefined
    : clampSeconds((untilMs - (Number.isNaN(sentAtMs) ? nowMs : sentAtMs)) / 1000)
}

/**
 * Copies the provider's `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, which clients read by name.
 * Counts, durations and times start with a digit; anything else is dropped because it might be a secret.
 */
export function rateLimitsIn (
  headers: Readonly<Record<string, string | string[] | undefined>>
): Record<string, string> {
  const limits: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const text = first(value) ?? ''
    if (
      /^x-ratelimit-(limit|remaining|reset)-(requests|tokens)$/.test(name) &&
      /^-?\d[\w.:+-]{0,63}$/.test(text)
    ) {
      limits[name] = text
    }
  }
  return limits
}

export function clampSeconds (seconds: number): number {
  return Math.min(60, Math.max(1, Math.ceil(seconds)))
}

function first (value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
