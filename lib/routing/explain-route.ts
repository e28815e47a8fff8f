/**
 * Why a model was chosen, in words short enough for a header: made only when somebody reads them.
 */

import type { CallRecord, FailedAttempt } from '../core/record.ts'
import type { Ranked, Route } from '../core/route.ts'

const longest = 512
const mostCandidates = 8

/** What gave a route its place among others. */
export function rankText ({ ranked }: Route, index: number): string {
  if (ranked !== undefined) return printRanked(ranked)
  return index === 0 ? 'asked first' : 'next in order'
}

/**
 * Who was tried and why it failed, then who answered and why it was asked:
 * `openai/gpt-5: upstream_timeout; anthropic/claude-sonnet-4-5: score 0.71`.
 *
 * Printable ASCII, at most 512 characters. Nothing where there was nothing to choose.
 */
export function explainRoute ({ routes, chosen, failedAttempts }: CallRecord): string | undefined {
  if (failedAttempts === undefined && (routes === undefined || routes.length < 2)) return undefined
  const steps = printAttempts(failedAttempts ?? [])
  if (chosen !== undefined) steps.push(`${chosen.modelId}: ${rankText(chosen, routes?.indexOf(chosen) ?? 0)}`)
  const text = steps.join('; ').replace(/[^\x20-\x7e]/g, '?')
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}

/** The routes of a call and what ordered them, best first; nothing where there was only one. */
export function candidatesOf ({ routes }: CallRecord): string[] | undefined {
  if (routes === undefined || routes.length < 2) return undefined
  return routes.slice(0, mostCandidates).map((route, index) => `${route.modelId}: ${rankText(route, index)}`)
}

/** `openai/gpt-5: upstream_timeout` */
export function printAttempts (attempts: readonly FailedAttempt[]): string[] {
  return attempts.map(({ route, why }) => `${route.modelId}: ${why}`)
}

function printRanked ({ by, value }: Ranked): string {
  if (value === undefined) return `${by} unknown`
  switch (by) {
    case 'score': return `score ${value.toFixed(2)}`
    case 'weight': return `weight ${value}`
    case 'price': return `price ${value.toFixed(2)}`
    case 'first byte': return `first byte ${Math.round(value)} ms`
  }
}
