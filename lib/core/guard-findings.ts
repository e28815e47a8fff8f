/** What the guards of a call have found and how long they took. */

import type { GuardAction, GuardPoint } from '../../schemas/config/guards.ts'

/**
 * What a guard did with texts. `inspected`: the guard did so, with or without findings. `unavailable`: the
 * inspecting service could not be reached; `when_unavailable` of the guard decides whether the texts pass.
 */
export type GuardOutcome = GuardAction | 'inspected' | 'unavailable'

/** What a guard did at one point of a call; never contains the text itself. */
export interface Finding {
  /** The name of the guard. */
  readonly guard: string
  readonly point: GuardPoint
  readonly action: GuardOutcome
  /** Number of findings; for `inspected` and `unavailable`, of inspections. */
  count: number
  /** Milliseconds that inspections took; 0 for other actions. */
  durationMs: number
  /** Start of the first inspection and end of the last, by `performance.now()`; inspections only. */
  startedAtMs?: number
  endedAtMs?: number
}

/** The findings of one call, added up. */
export class GuardFindings {
  readonly #list: Finding[] = []

  /** Notes findings. */
  note (guard: string, point: GuardPoint, action: GuardOutcome, count = 1): void {
    this.#entry(guard, point, action).count += count
  }

  /**
   * Notes an inspection that has ended, and how long it took.
   *
   * @param nowMs `performance.now()` at its end
   */
  noteInspection (
    guard: string,
    point: GuardPoint,
    durationMs: number,
    nowMs: number = performance.now()
  ): void {
    const entry = this.#entry(guard, point, 'inspected')
    entry.count++
    entry.durationMs += durationMs
    entry.startedAtMs ??= nowMs - durationMs
    entry.endedAtMs = nowMs
  }

  /** All notes, inspections included. */
  get list (): readonly Finding[] {
    return this.#list
  }

  /** Findings and failed inspections, each with the total inspection time of its guard at its point. */
  get found (): readonly Finding[] {
    return this.#list.flatMap(finding => finding.action === 'inspected' ? [] : {
      ...finding,
      durationMs: this.#entry(finding.guard, finding.point, 'inspected').durationMs
    })
  }

  #entry (guard: string, point: GuardPoint, action: GuardOutcome): Finding {
    let entry = this.#list.find(
      finding => finding.guard === guard && finding.point === point && finding.action === action
    )
    if (entry === undefined) {
      entry = { guard, point, action, count: 0, durationMs: 0 }
      this.#list.push(entry)
    }
    return entry
  }
}
