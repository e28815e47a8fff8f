/** Runs calls again with another model, once their callers have their answers: a few at once, and no more. */

import { startDeadline } from '../async/start-deadline.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteError } from '../core/record.ts'
import { RouteHealth } from '../routing/route-health.ts'
import type { Call } from '../core/call.ts'

/** Makes the call of a mirror, with the signal that ends it, and reads its answer to the end. */
export interface MirroredWork<C extends Call> {
  readonly call: (signal: AbortSignal) => C
  readonly read: (call: C) => Promise<void>
  /** Called when it has ended, but for a call that no provider was asked for: it could not be translated. */
  readonly onEnd: (call: Call) => void
}

export class Mirrors {
  /** What mirrored calls find out of their providers is kept from all others. */
  readonly routeHealth = new RouteHealth()
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()

  /** Calls that run now. */
  get inFlight (): number {
    return this.#running.size
  }

  /** Begins a call, which ends after so many milliseconds at the latest. Its failure is in its record. */
  begin<C extends Call> (work: MirroredWork<C>, callMs: number): void {
    if (this.#stopping.signal.aborted) return
    const done = this.#run(work, callMs).finally(() => this.#running.delete(done))
    this.#running.add(done)
  }

  /** Ends the calls that run, and lets no other begin. */
  async close (): Promise<void> {
    this.#stopping.abort(new GatewayError('shutting_down'))
    await Promise.all(this.#running)
  }

  async #run<C extends Call> ({ call: make, read, onEnd }: MirroredWork<C>, callMs: number): Promise<void> {
    const clock = startDeadline(callMs, this.#stopping.signal, new GatewayError('timeout'))
    const call = make(clock.signal)
    const { record } = call
    try {
      await read(call)
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
