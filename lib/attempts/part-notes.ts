/** Records when the parts of a split request began and how they ended, for their spans. */

import { callerError, ProviderFailure } from '../providers/provider-failure.ts'
import type { CallRecord, SentPart } from '../core/record.ts'
import type { ChildSpan } from '../core/call-trace.ts'
import type { Route } from '../core/route.ts'

export class PartNotes {
  readonly #record: Pick<CallRecord, 'trace' | 'routing'>
  readonly #route: Route
  readonly #attemptSpan: ChildSpan | undefined
  readonly #waiting = new Map<number, SentPart>()

  /** @param attemptSpan absent if the call has no trace: nothing is recorded then */
  constructor (
    record: Pick<CallRecord, 'trace' | 'routing'>, route: Route, attemptSpan: ChildSpan | undefined
  ) {
    this.#record = record
    this.#route = route
    this.#attemptSpan = attemptSpan
  }

  /**
   * Returns the span of a part that begins.
   *
   * @param index of the part, from 0
   */
  begin (index: number): ChildSpan | undefined {
    if (this.#attemptSpan === undefined) return undefined
    const span = this.#record.trace?.child()
    if (span === undefined) return undefined
    const part: SentPart = {
      route: this.#route,
      number: index + 1,
      startedAtMs: performance.now(),
      endedAtMs: undefined,
      reason: undefined,
      status: undefined,
      span,
      attemptSpan: this.#attemptSpan
    }
    this.#waiting.set(index, part)
    const { routing } = this.#record
    routing.sentParts ??= []
    routing.sentParts.push(part)
    return span
  }

  succeeded (index: number): void {
    this.#end(index)
  }

  /** @param isCancelled true if the part was cancelled for another reason than its own failure */
  failed (index: number, error: unknown, isCancelled: boolean): void {
    const part = this.#end(index)
    if (part === undefined) return
    part.reason = isCancelled ? 'cancelled' : callerError(error).code
    if (error instanceof ProviderFailure) part.status = error.status
  }

  #end (index: number): SentPart | undefined {
    const part = this.#waiting.get(index)
    if (part !== undefined) part.endedAtMs = performance.now()
    this.#waiting.delete(index)
    return part
  }
}
