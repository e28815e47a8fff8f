/**
 * Orders routes by what a call needs of a model (`agent_attributes`) and what models are like
 * (`model_attributes` and others). Everything is a number from 0 to 1.
 *
 *     score = Σ weight × min(needed, had) ÷ Σ weight × needed
 *
 * the share of what is needed that the model has; exceeding it earns nothing. Of
 * `cost` less is better, so it counts as `1 - cost`. A model with an unknown attribute is
 * taken to have half of what is needed of it. Equal scores leave the order as it was.
 */

import type { Route, ScoreTerm } from '../core/route.ts'
import type { Attributes } from '../core/model.ts'

/** A route, with what is known of its model. */
export interface RankingCandidate {
  readonly route: Route
  readonly attributes: Attributes
}

interface Need {
  readonly attribute: string
  /** The weight; for `cost`, that of cheapness. */
  readonly amount: number
  readonly weight: number
}

/** Maps an agent attribute to model attributes; other names stay as they are. */
function needsOf ([name, amount]: [string, number]): Need[] {
  switch (name) {
    case 'complexity':
      return [{ attribute: 'intelligence', amount, weight: 1 }]
    case 'efficiency':
      return [
        { attribute: 'speed', amount, weight: 0.5 },
        { attribute: 'cost', amount, weight: 0.5 }
      ]
    case 'cost':
      return [{ attribute: 'cost', amount: 1 - amount, weight: 1 }]
    default:
      return [{ attribute: name, amount, weight: 1 }]
  }
}

/**
 * Returns the same routes, best first, each with its score; unchanged if nothing is needed.
 *
 * @param named attributes that the request mentions, for calls that do not state their needs
 */
export function rank (
  candidates: readonly RankingCandidate[], agent: Attributes | undefined, named: Iterable<string>
): Route[] {
  const needs = agent === undefined
    ? [...named].map((attribute): Need => ({ attribute, amount: 1, weight: 1 }))
    : Object.entries(agent).flatMap(needsOf)
  const needed = needs.reduce((sum, { amount, weight }) => sum + weight * amount, 0)
  if (needed === 0) return candidates.map(({ route }) => route)
  return candidates
    .map(({ route, attributes }) => {
      const terms = needs.map(need => termOf(need, attributes, needed))
      return { route, terms, score: rounded(terms.reduce((sum, { share }) => sum + share, 0)) }
    })
    .toSorted((a, b) => b.score - a.score)
    .map(({ route, terms, score }): Route => ({ ...route, ranked: { by: 'score', value: score, terms } }))
}

/** Rounds to a millionth: rounding errors of sums would otherwise order equal scores. */
function rounded (score: number): number {
  return Math.round(score * 1e6) / 1e6
}

function termOf ({ attribute, amount, weight }: Need, attributes: Attributes, needed: number): ScoreTerm {
  const value = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
  const actual = value !== undefined && attribute === 'cost' ? 1 - value : value
  const met = actual === undefined ? amount / 2 : Math.min(amount, actual)
  return {
    attribute,
    required: amount,
    weight,
    ...actual !== undefined && { actual },
    share: (weight * met) / needed
  }
}
