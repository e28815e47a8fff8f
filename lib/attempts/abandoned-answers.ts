/**
 * Reads answers to their end after the client has disconnected, so that usage rows have their cost.
 *
 * A provider bills what it has begun, and most continue for as long as the connection is open. Reading on is
 * limited in time, in bytes and in the number of answers. Beyond these bounds, when the gateway shuts down,
 * and when the call's time is up, the answer is aborted. The call's record says so, since the provider may
 * continue.
 */

import { CallCancellation } from '../async/cancellation.ts'
import type { Call, CallSignal } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { UsageMeter } from '../usage/usage-meter.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { CallRecord } from '../core/record.ts'
import type { OpenResponse } from './open-response.ts'
import type { RouteAttempt } from './route-attempt.ts'

export interface AbandonedAnswerBounds {
  /** From the moment the caller leaves. */
  readonly maxMs: number
  readonly bytes: number
  /** Answers at a time. A key may have half of the slots that others leave free. */
  readonly answers: number
}

/** An answer whose caller has left. */
interface AbandonedAnswer {
  /** Aborts the answer once its reading has exceeded a limit. */
  readonly timer: NodeJS.Timeout
  readonly record: CallRecord
}

const defaults: AbandonedAnswerBounds = { maxMs: 60_000, bytes: 16 * 1024 * 1024, answers: 64 }

export class AbandonedAnswers {
  readonly #bounds: AbandonedAnswerBounds
  /** By the signal of the request to the provider. */
  readonly #abandoned = new Map<CallCancellation, AbandonedAnswer>()

  constructor (bounds: Partial<AbandonedAnswerBounds> = {}) {
    this.#bounds = { ...defaults, ...bounds }
  }

  /**
   * Opens an answer on a signal that outlives the caller. After the caller has left, its `close` reads on
   * instead of closing the connection, and sets `record.end.whenUsageKnown`. A request that still waits for a
   * connection ends with its caller.
   *
   * @throws what `open` throws
   */
  async openOutlivingCaller<E extends AnswerEvent> (
    { signal, record }: Pick<Call, 'signal' | 'record'>,
    attempt: Pick<RouteAttempt, 'mayBeAtWork'>,
    open: (signal: CallSignal) => Promise<OpenResponse<E>>
  ): Promise<OpenResponse<E>> {
    if (signal.aborted) throw signal.reason
    const own = new CallCancellation()
    const meter = new UsageMeter(record) // takes the turns before this one into account
    const onAbort = (): void => {
      if (attempt.mayBeAtWork) this.#onCallerLeft(own, record, signal.reason)
      else own.abort(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const release = (): void => {
      signal.removeEventListener('abort', onAbort)
      clearTimeout(this.#abandoned.get(own)?.timer)
      this.#abandoned.delete(own)
    }
    let answer: OpenResponse<E>
    try {
      answer = await open(own)
    } catch (error) {
      release()
      throw error
    }
    return {
      route: answer.route,
      isFinished: () => answer.isFinished(),
      sizeBytes: () => answer.sizeBytes(),
      reported: () => answer.reported(),
      next: () => answer.next(),
      close: () => {
        if (this.#abandoned.has(own)) {
          record.end.whenUsageKnown = this.#readOn(answer, record, meter).finally(release)
        } else {
          answer.close()
          release()
        }
      }
    }
  }

  get size (): number {
    return this.#abandoned.size
  }

  /** Aborts every answer that is being read on. */
  stop (): void {
    for (const [own, { record }] of this.#abandoned) giveUp(own, record, new GatewayError('shutting_down'))
  }

  #onCallerLeft (own: CallCancellation, record: CallRecord, reason: unknown): void {
    const hasLeft =
      reason instanceof GatewayError &&
      (reason.code === 'client_closed_request' || reason.code === 'client_too_slow')
    const { keyId } = record.caller
    const ofKey = [...this.#abandoned.values()].filter(answer => answer.record.caller.keyId === keyId).length
    if (!hasLeft || this.#abandoned.size + ofKey >= this.#bounds.answers) {
      giveUp(own, record, reason)
      return
    }
    const timer = setTimeout(() => giveUp(own, record, reason), this.#bounds.maxMs)
    this.#abandoned.set(own, { timer, record })
  }

  async #readOn<E extends AnswerEvent> (
    answer: OpenResponse<E>, record: CallRecord, meter: UsageMeter
  ): Promise<void> {
    const before = answer.sizeBytes()
    try {
      for (;;) {
        const events = await answer.next()
        if (events === undefined) break
        meter.read(events)
        if (answer.sizeBytes() - before > this.#bounds.bytes && !answer.isFinished()) {
          record.end.isAnswerCutOff = true
          break
        }
      }
    } catch (cause) {
      // No caller waits for this answer any more; the log explains why its usage is an estimate.
      record.end.cause ??= cause
    } finally {
      record.usage.reported = answer.reported()
      answer.close()
    }
  }
}

/** Aborts the request of an answer that is not read to its end: its provider may continue, and bill it. */
function giveUp (own: CallCancellation, record: CallRecord, reason: unknown): void {
  record.end.isAnswerCutOff = true
  own.abort(reason)
}
