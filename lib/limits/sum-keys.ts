/**
 * Names what is counted for an account: its party, and for limits per window the sum of the current window,
 * the same in memory, in Redis and in worker messages.
 */

import { periodAt, type Period } from './windows.ts'
import type { Account, PartyRef, RateOrConcurrencyAccount, SumAccount, Unit } from './call-accounts.ts'

/** Names a party in counters. Keys and projects use their ids, which never collide. */
export function counterName ({ kind, id }: PartyRef): string {
  return kind === 'key' || kind === 'project' ? id : `${kind}:${id}`
}

/** The sum of one party, unit and period. */
export interface SumKey {
  /** Unique across all sums. */
  readonly name: string
  /** Unique for the party; part of the Redis key. */
  readonly field: string
  /** Its `counterName`. */
  readonly party: string
  readonly unit: Unit
  readonly period: Period
}

/** Returns the sum of an account at a time in Unix milliseconds. */
export function sumKeyOf (
  { party, unit, window }: Pick<SumAccount, 'party' | 'unit' | 'window'>,
  nowMs: number
): SumKey {
  const key = counterName(party)
  const period = periodAt(window, nowMs)
  // Money has been called `budget` in Redis since the first version.
  const field = `${unit === 'nanoUsd' ? 'budget' : unit}:${period.name}:${period.fromMs}`
  return { name: `${field} ${key}`, field, party: key, unit, period }
}

/** A counter of a call: an account and, for sums, the sum at the time of the call. */
export type Counter =
  | { readonly account: SumAccount, readonly sum: SumKey }
  | { readonly account: RateOrConcurrencyAccount, readonly sum?: undefined }

/** Returns the counters of a call at a time in Unix milliseconds, in the order of its accounts. */
export function countersOf (accounts: readonly Account[], nowMs: number): Counter[] {
  return accounts.map(account => (
    account.counting === 'sum' ? { account, sum: sumKeyOf(account, nowMs) } : { account }
  ))
}

/** Lists the sums among counters. */
export function sumsOf (counters: readonly Counter[]): SumKey[] {
  return counters.flatMap(({ sum }) => sum === undefined ? [] : [sum])
}

/** A sum as gateways on one store share it: windows with the same start are one sum. */
export interface HeldSum extends Pick<SumKey, 'party' | 'unit'> {
  readonly fromMs: number
}

/** An amount that a process has reserved, or used but not recorded yet. */
export interface Holding extends HeldSum {
  readonly amount: number
}

export function heldSumOf ({ party, unit, period: { fromMs } }: SumKey): HeldSum {
  return { party, unit, fromMs }
}

export function heldSumName ({ party, unit, fromMs }: HeldSum): string {
  return `${unit} ${fromMs} ${party}`
}
