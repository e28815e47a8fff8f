/** What stages did with the texts of a call, as its usage row has it: never a text. */

import type { StagePoint } from '../../schemas/config/stages.ts'
import type { StageOutcome, StageFindings } from '../core/stage-findings.ts'

/** `count` findings, or looks for `look` and `unavailable`. */
export interface StageNote {
  readonly stage: string
  readonly point: StagePoint
  readonly action: StageOutcome
  readonly count: number
  /** Milliseconds that all looks of the stage took at this point; of `look` only. */
  readonly took_ms?: number | undefined
}

const maxNotes = 100

/** Prints what stages did, looks without findings included; `null` where no stage looked. */
export function printNotes ({ list }: StageFindings): string | null {
  if (list.length === 0) return null
  return JSON.stringify(
    list.slice(0, maxNotes).map(({ stage, point, action, count, durationMs }) => ({
      stage,
      point,
      action,
      count,
      took_ms: action === 'look' ? Math.round(durationMs * 1000) / 1000 : undefined
    })) satisfies readonly StageNote[]
  )
}

export function readNotes (text: string | null): readonly StageNote[] {
  return text === null ? [] : (JSON.parse(text) as StageNote[]) // printed above
}

/** What one stage did at one point of a call. */
export interface StageLook {
  readonly stage: string
  readonly point: StagePoint
  readonly tookMs: number
  /** What it found, by what became of it. */
  readonly findings: ReadonlyArray<{ readonly action: StageOutcome, readonly count: number }>
}

/** Puts the notes on each stage and point together. */
export function looksOf (notes: readonly StageNote[]): StageLook[] {
  const looks = new Map<string, StageLook>()
  for (const { stage, point, action, count, took_ms: tookMs = 0 } of notes) {
    const key = `${stage} ${point}`
    const look = looks.get(key) ?? { stage, point, tookMs: 0, findings: [] }
    looks.set(key, {
      ...look,
      tookMs: look.tookMs + tookMs,
      findings: action === 'look' ? look.findings : [...look.findings, { action, count }]
    })
  }
  return [...looks.values()]
}
