/** Writes limits as clients of this API read them: headers of every answer that was counted. */

import type { Room, Rooms } from './counters.ts'

/** Returns `x-ratelimit-limit-requests`, `-remaining-`, `-reset-`, and the same for tokens. */
export function rateLimitHeaders ({ requests, tokens }: Rooms): Record<string, string> {
  return { ...headersOf('requests', requests), ...headersOf('tokens', tokens) }
}

function headersOf (name: 'requests' | 'tokens', room: Room | undefined): Record<string, string> {
  if (room === undefined) return {}
  return {
    [`x-ratelimit-limit-${name}`]: String(room.limit),
    [`x-ratelimit-remaining-${name}`]: String(room.remaining),
    [`x-ratelimit-reset-${name}`]: durationText(room.resetMs)
  }
}

/** Formats a duration: `20ms`, `1.5s`, `6m0s`. */
export function durationText (ms: number): string {
  if (ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms - minutes * 60_000) / 1000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}
