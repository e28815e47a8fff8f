/** Runs calls again with another model, once their callers have their answers: a few at once, and no more. */

import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteError, type CallRecord } from '../core/record.ts'
import { RouteHealth } from '../routing/route-health.ts'
import type { Call } from '../core/call.ts'

/** A call that is to be made again. */
export interface MirroredWork {
  /** Begins the call, with the signal that ends it; `done` is the end of its answer. */
  readonly start: (signal: AbortSignal) => { readonly call: Call, readonly done: Promise<void> }
  /** The longest that it may take. */
  readonly callMs: number
  /** It is left out while so many run. */
  readonly maxInFlight: number
}

export class Mirrors {
  /** What mirrored calls find out of their providers is kept from all others. */
  readonly routeHealth = new RouteHealth()
  readonly #planned = new WeakMap<CallRecord, MirroredWork>()
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()

  /** Calls that run now. */
  get inFlight (): number {
    return this.#running.size
  }

  /** Notes what is to begin when a call has ended. */
  plan (record: CallRecord, work: MirroredWork): void {
    this.#planned.set(record, work)
  }

  /**
   * Begins what was planned for a call, which has ended: not when its caller has left, or when its answer
   * came from the cache, or a stage refused its request. Failures are in the record of the call that it
   * makes.
   *
   * @param onEnd called with that call, unless no provider was asked: it could not be translated
   */
  begin ({ record }: Call, onEnd: (call: Call) => void): void {
    const work = this.#planned.get(record)
    if (work === undefined || this.#stopping.signal.aborted || this.inFlight >= work.maxInFlight) return
    if (record.outcome !== 'ok' && record.outcome !== 'error') return
    if (record.cache === 'hit' || record.awaitsInspection) return
    const done = this.#run(work, onEnd).finally(() => this.#running.delete(done))
    this.#running.add(done)
  }

  /** Ends the calls that run, which are recorded then, and lets no other begin. */
  async close (): Promise<void> {
    this.#stopping.abort(new GatewayError('shutting_down'))
    await Promise.all(this.#running)
  }

  async #run ({ start, callMs }: MirroredWork, onEnd: (call: Call) => void): Promise<void> {
    const clock = startDeadline(callMs, this.#stopping.signal, new GatewayError('timeout'))
    const { call, done } = start(clock.signal)
    const { record } = call
    try {
      await done
      record.outcome = 'ok'
      record.status = 200
    } catch (error) {
      const failure = asGatewayError(error)
      noteError(record, failure)
      record.status = failure.status
    } finally {
      clock.end()
    }
    if (record.attempts > 0) onEnd(call)
  }
}
