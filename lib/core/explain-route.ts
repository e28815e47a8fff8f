/** Explains why a model was chosen, briefly enough for a header. `docs/routing.md` documents the grammar. */

import { cutName, type CallRecord, type RoutingFacts, type UnusedRoute } from './record.ts'
import type { Ranked, Route } from './route.ts'

const maxLength = 512
const maxCandidates = 8
const maxAttempts = 32

/** Prints what determined the rank of a route. */
export function rankText ({ ranked, preferred }: Route, index: number): string {
  if (preferred !== undefined) return preferred
  if (ranked !== undefined) return printRanked(ranked)
  return index === 0 ? 'first_choice' : 'next_choice'
}

/**
 * Lists the models that were tried or skipped and why, then the one that succeeded and what determined its
 * rank: `openai/gpt-5: upstream_timeout; anthropic/claude-sonnet-5-5: score=0.71`.
 *
 * Printable ASCII, at most 512 characters. Relevant only if there was a choice (`hadChoiceOfRoutes`).
 */
export function explainRoute ({ routing }: CallRecord): string {
  const { chosen, unusedRoutes } = routing
  const steps = printAttempts(unusedRoutes ?? [])
  if (chosen !== undefined) steps.push(`${chosen.modelId}: ${rankText(chosen, rankOf(chosen, routing))}`)
  const text = steps.join('; ').replace(/[^\x20-\x7e]/g, '?')
  return text.length > maxLength ? `${text.slice(0, maxLength - 3)}...` : text
}

/** Returns the index of a route in the order of a call, 0 for the first choice. */
export function rankOf ({ modelId }: Route, { routes }: Pick<RoutingFacts, 'routes'>): number {
  // Not by identity: capping an answer copies its routes.
  return routes?.findIndex(route => route.modelId === modelId) ?? 0
}

/** Lists the routes of a call with what ordered them, best first; `undefined` if there was only one. */
export function candidatesOf ({ routing: { routes } }: CallRecord): string[] | undefined {
  if (routes === undefined || routes.length < 2) return undefined
  return routes
    .slice(0, maxCandidates)
    .map((route, index) => `${cutName(route.modelId)}: ${rankText(route, index)}`)
}

/** Prints `openai/gpt-5: upstream_timeout` for the first attempts: a caller may name thousands of models. */
export function printAttempts (attempts: readonly UnusedRoute[]): string[] {
  return attempts.slice(0, maxAttempts).map(({ route, reason }) => `${cutName(route.modelId)}: ${reason}`)
}

function printRanked ({ by, value }: Ranked): string {
  const name = by === 'first_byte' || by === 'load' ? `${by}_ms` as const : by
  if (value === undefined) return `${name}=unknown`
  switch (by) {
    case 'score':
    case 'price': return `${name}=${value.toFixed(2)}`
    case 'weight': return `${name}=${value}`
    case 'load':
    case 'first_byte': return `${name}=${Math.round(value)}`
  }
}
