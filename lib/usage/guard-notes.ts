/** What guards did with the texts of a call, as stored in its usage row: never any text. */

import type { GuardPoint } from '../../schemas/config/guards.ts'
import type { GuardOutcome, GuardFindings } from '../core/guard-findings.ts'

/** As stored: `count` findings, or inspections for `inspected` and `unavailable`. */
export interface GuardNote {
  /** The name of the guard: names on the wire and in the store say `stage`. */
  readonly stage: string
  readonly point: GuardPoint
  readonly action: GuardOutcome
  readonly count: number
  /** Total milliseconds of the guard's inspections at this point; only for `inspected`. */
  readonly took_ms?: number | undefined
}

const maxNotes = 100

/** Prints what guards did, including inspections without findings; `null` if no guard ran. */
export function printNotes ({ list }: GuardFindings): string | null {
  if (list.length === 0) return null
  return JSON.stringify(
    list.slice(0, maxNotes).map(({ guard, point, action, count, durationMs }) => ({
      stage: guard,
      point,
      action,
      count,
      took_ms: action === 'inspected' ? Math.round(durationMs * 1000) / 1000 : undefined
    })) satisfies readonly GuardNote[]
  )
}

export function readNotes (text: string | null): readonly GuardNote[] {
  return text === null ? [] : (JSON.parse(text) as GuardNote[]) // printed above
}

/** What one guard did at one point of a call. */
export interface GuardInspection {
  readonly stage: string
  readonly point: GuardPoint
  readonly tookMs: number
  /** Number of findings by outcome. */
  readonly findings: ReadonlyArray<{ readonly action: GuardOutcome, readonly count: number }>
}

/** Groups notes by guard and point. */
export function inspectionsOf (notes: readonly GuardNote[]): GuardInspection[] {
  const inspections = new Map<string, GuardInspection>()
  for (const { stage, point, action, count, took_ms: tookMs } of notes) {
    const key = `${stage} ${point}`
    const inspection = inspections.get(key) ?? { stage, point, tookMs: 0, findings: [] }
    inspections.set(key, {
      ...inspection,
      tookMs: inspection.tookMs + (tookMs ?? 0),
      // Only notes of inspections have a time; earlier versions called their action `look`.
      findings: tookMs === undefined ? [...inspection.findings, { action, count }] : inspection.findings
    })
  }
  return [...inspections.values()]
}
