import type { Kysely } from 'kysely'
import type { GuardOutcome } from '../core/guard-findings.ts'
import type { Tables } from '../stores/tables.ts'
import { filteredCalls } from './call-filter.ts'
import { inspectionsOf, readNotes } from './guard-notes.ts'

export interface GuardCounts {
  /** Calls that it inspected. */
  readonly calls: number
  readonly callsWithFindings: number
  readonly findings: number
  /** Inspections that failed. */
  readonly unavailable: number
  /** Milliseconds per call, all points together. */
  readonly tookMs: { readonly p50: number, readonly p95: number }
}

/** The newest calls are read, at most this many. */
const maxCalls = 10_000

/**
 * Sums up what each guard did in a period, by name.
 *
 * @param projects whose calls count. Default: all
 */
export async function stagesReport (
  query: Kysely<Tables>,
  { fromMs, projects }: { readonly fromMs: number, readonly projects?: readonly string[] | undefined }
): Promise<ReadonlyMap<string, GuardCounts>> {
  const rows = await filteredCalls(query, { fromMs, projects }).where('record.findings', 'is not', null)
    .select('record.findings').orderBy('record.at_ms', 'desc').limit(maxCalls).execute()
  const sums = new Map<string, GuardSums>()
  for (const { findings } of rows) {
    const inspections = inspectionsOf(readNotes(findings))
    for (const name of new Set(inspections.map(({ stage }) => stage))) {
      const sum = sums.get(name) ?? new GuardSums()
      sums.set(name, sum)
      sum.add(inspections.filter(({ stage }) => stage === name))
    }
  }
  return new Map([...sums].map(([name, sum]) => [name, sum.counts()]))
}

class GuardSums {
  readonly #tookMs: number[] = []
  #callsWithFindings = 0
  #findings = 0
  #unavailable = 0

  add (inspections: ReturnType<typeof inspectionsOf>): void {
    const deeds = inspections.flatMap(({ findings }) => findings)
    const sumOf = (isCachingWanted: (action: GuardOutcome) => boolean): number =>
      deeds.reduce((sum, { action, count }) => sum + (isCachingWanted(action) ? count : 0), 0)
    const found = sumOf(action => action !== 'unavailable')
    this.#tookMs.push(inspections.reduce((sum, { tookMs }) => sum + tookMs, 0))
    this.#callsWithFindings += Number(found > 0)
    this.#findings += found
    this.#unavailable += sumOf(action => action === 'unavailable')
  }

  counts (): GuardCounts {
    const tookMs = this.#tookMs.toSorted((a, b) => a - b)
    const at = (share: number): number =>
      tookMs[Math.min(tookMs.length - 1, Math.floor(share * tookMs.length))] ?? 0
    return {
      calls: tookMs.length,
      callsWithFindings: this.#callsWithFindings,
      findings: this.#findings,
      unavailable: this.#unavailable,
      tookMs: { p50: at(0.5), p95: at(0.95) }
    }
  }
}
