/** Parses times on a command line. */

import { parseIsoDate } from '../core/parse-iso-date.ts'
import { CommandError } from '../process/terminal.ts'

const hourMs = 3_600_000

/**
 * Parses `30d` and `12h`, counted from now into the past or the future, and ISO 8601 dates.
 *
 * @returns Unix milliseconds; NaN for anything else
 */
export function parseDate (text: string, nowMs: number, direction: 'ago' | 'ahead'): number {
  const [, count, unit] = /^(\d{1,6})([dh])$/.exec(text) ?? []
  if (count === undefined) return writtenMoment(text)
  const spanMs = Number(count) * (unit === 'd' ? 24 * hourMs : hourMs)
  return direction === 'ago' ? nowMs - spanMs : nowMs + spanMs
}

/**
 * Parses an option for a time in the past.
 *
 * @throws CommandError for anything else
 */
export function momentOf (option: string, text: string): number {
  const ms = parseDate(text, Date.now(), 'ago')
  if (Number.isNaN(ms)) {
    throw new CommandError(`${option} must be a date (2025-11-01), a time (2025-11-01T08:00:00Z) or a duration (7d, 12h), not "${text}"`, {
      exitCode: 2
    })
  }
  return ms
}

/**
 * Parses the value of `--expires`.
 *
 * @throws CommandError for an invalid time, and for one in the past
 */
export function parseExpiry (text: string): number {
  const nowMs = Date.now()
  const expiresAtMs = parseDate(text, nowMs, 'ahead')
  if (Number.isNaN(expiresAtMs)) {
    throw new CommandError(`--expires must be a date (2030-12-31), a time (2030-12-31T18:00:00Z) or a duration (30d, 12h), not "${text}"`, {
      exitCode: 2
    })
  }
  if (expiresAtMs <= nowMs) throw new CommandError(`--expires "${text}" is in the past`, { exitCode: 2 })
  return expiresAtMs
}

function writtenMoment (text: string): number {
  return /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? parseIsoDate(text) : NaN
}
