/**
 * Simulates a budget shared by gateways in four regions: each takes a share from the home region of the
 * budget before its own share is used up. Nothing is run: calls, costs and distances between regions are
 * numbers.
 */

import { table } from '../support/report.ts'

/** The fraction of all calls in each region, and the round trip to the home region in milliseconds. */
const regions = [
  { demand: 0.6, roundTripMs: 1 },
  { demand: 0.2, roundTripMs: 80 },
  { demand: 0.15, roundTripMs: 90 },
  { demand: 0.05, roundTripMs: 180 }
]
const budget = 1_000_000
const meanCost = 10
const seconds = 60

interface Part {
  left: number
  /** The time at which the requested share arrives. */
  arrivesMs: number
  arriving: number
}

/** @param share of the remainder that a region takes at once, divided by the number of regions */
function simulate (share: number): { waited: number, unused: number, transfers: number } {
  let kept = budget
  let [calls, waited, transfers] = [0, 0, 0]
  const parts: Part[] = regions.map(() => ({ left: 0, arrivesMs: Infinity, arriving: 0 }))
  const random = generator(1)
  const callsPerMs = budget / meanCost / seconds / 1000
  for (let nowMs = 0; ; nowMs++) {
    for (const [index, { demand, roundTripMs }] of regions.entries()) {
      const part = parts[index]
      if (part === undefined) continue
      if (nowMs >= part.arrivesMs) {
        Object.assign(part, { left: part.left + part.arriving, arriving: 0, arrivesMs: Infinity })
      }
      const wanted = callsPerMs * demand
      const arrivals = Math.floor(wanted) + Number(random() < wanted % 1)
      for (let call = 0; call < arrivals; call++) {
        calls++
        const cost = 2 * meanCost * random()
        if (part.left < cost) {
          // Nothing is left anywhere to wait for.
          if (part.arrivesMs === Infinity && kept === 0) {
            return {
              waited: waited / calls,
              unused: parts.reduce((sum, { left, arriving }) => sum + left + arriving, 0) / budget,
              transfers
            }
          }
          waited++
        } else part.left -= cost
      }
      // Requested in time: the usage of two round trips.
      if (
        part.arrivesMs === Infinity &&
        kept > 0 &&
        part.left < Math.max(1, 2 * roundTripMs) * wanted * meanCost
      ) {
        part.arriving = Math.min(kept, Math.max(100, (kept * share) / regions.length))
        part.arrivesMs = nowMs + roundTripMs
        kept -= part.arriving
        transfers++
      }
    }
  }
}

export async function simulatedRegions (): Promise<string> {
  return table(
    'four regions, simulated: a budget of 100,000 calls in a minute, of which each region takes a part',
    [
      'part of what is left, divided by four',
      'transfers',
      'calls that wait for one',
      'of the budget unused when the first call is refused',
      'spent beyond it'
    ],
    [0.5, 0.2, 0.05, 0.01].map(share => {
      const { waited, unused, transfers } = simulate(share)
      return [
        String(share),
        String(transfers),
        `${(100 * waited).toFixed(2)} %`,
        `${(100 * unused).toFixed(2)} %`,
        '0'
      ]
    })
  )
}

/** Returns a generator of numbers from 0 to 1 that repeats itself from run to run. */
function generator (seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
