/**
 * Repeats calls with another model after their callers have got their answers: a limited number at a time.
 */

import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteError, type CallRecord } from '../core/record.ts'
import { RoutingState } from '../routing/routing-state.ts'
import type { Call } from '../core/call.ts'

/** A call to be repeated. */
export interface MirroredWork {
  /** Starts the call, with the signal that ends it; `done` is the end of its answer. */
  readonly start: (signal: AbortSignal) => { readonly call: Call, readonly done: Promise<void> }
  /** Maximum duration. */
  readonly callMs: number
  /** The call is skipped while this many run. */
  readonly maxInFlight: number
}

export class Mirrors {
  /** Routing for other calls ignores what mirrored calls learn about their providers. */
  readonly routingState = new RoutingState()
  readonly #onEnd: (call: Call) => void
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()

  /**
   * @param onEnd called with each mirrored call, unless no provider was called because the request could not
   *   be translated. Default: they are not recorded
   */
  constructor (onEnd: (call: Call) => void = () => {}) {
    this.#onEnd = onEnd
  }

  /** Running calls. */
  get inFlight (): number {
    return this.#running.size
  }

  /**
   * Schedules what starts when the call of the record has ended, unless its caller has left, its answer came
   * from the cache, or a guard refused its request. Failures are in the record of the mirrored call.
   */
  plan (record: CallRecord, work: MirroredWork): void {
    record.end.onRecorded = () => this.#begin(record, work)
  }

  #begin ({ end: { outcome }, routing, guards }: CallRecord, work: MirroredWork): void {
    if (this.#stopping.signal.aborted || this.inFlight >= work.maxInFlight) return
    if (outcome !== 'ok' && outcome !== 'error') return
    if (routing.cache === 'hit' || guards.awaitsInspection) return
    const done = this.#run(work).finally(() => this.#running.delete(done))
    this.#running.add(done)
  }

  /** Resolves when no call runs. */
  async whenIdle (): Promise<void> {
    await Promise.all(this.#running)
  }

  /** Ends the running calls, which are recorded then, and starts no others. */
  async close (): Promise<void> {
    this.#stopping.abort(new GatewayError('shutting_down'))
    await this.whenIdle()
  }

  async #run ({ start, callMs }: MirroredWork): Promise<void> {
    const clock = startDeadline(callMs, this.#stopping.signal, new GatewayError('timeout'))
    const { call, done } = start(clock.signal)
    const { record } = call
    try {
      await done
      record.end.outcome = 'ok'
      record.end.status = 200
    } catch (error) {
      const failure = asGatewayError(error)
      noteError(record.end, failure)
      record.end.status = failure.status
    } finally {
      clock.end()
    }
    if (record.routing.requestCount > 0) this.#onEnd(call)
  }
}
