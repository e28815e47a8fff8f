/** Open responses, and those that are read without an event stream. */

import { emptyBodyError } from '../providers/provider-failure.ts'
import { reportedBy, type ReportedUsage, type Usage } from '../core/usage.ts'
import type { Route } from '../core/route.ts'
import type { UpstreamBody } from '../providers/provider.ts'

/** The fields of events that matter for answers of every kind. */
export interface AnyEvent {
  readonly type: string
  readonly choice?: number
  readonly usage?: Usage
}

/** Returns the usage in events: that of the last report, which includes earlier ones. */
export function usageIn (events: readonly AnyEvent[]): Usage | undefined {
  return events.findLast(({ type }) => type === 'usage')?.usage
}

/** A response whose head has arrived, read by read. */
export interface OpenResponse<E> {
  /** The route that answers. */
  readonly route: Route
  /**
   * Returns the events of the next read; `undefined` after the last. Call it only after the previous call has
   * resolved.
   */
  readonly next: () => Promise<E[] | undefined>
  /** Returns true once `next` has returned all events of a complete response. */
  readonly isFinished: () => boolean
  /** Returns how many bytes of a stream have been read; 0 for a response that arrived complete. */
  readonly sizeBytes: () => number
  /** Returns the usage that the provider has reported so far. */
  readonly reported: () => ReportedUsage
  /** Releases the connection, even if the response was not read to its end. */
  readonly close: () => void
}

/** Wraps a response that has been read to its end. */
export function bufferedResponse<E extends AnyEvent> (route: Route, events: E[]): OpenResponse<E> {
  const reported = reportedBy(usageIn(events))
  let left: E[] | undefined = events
  return {
    route,
    next: () => {
      const given = left
      left = undefined
      return Promise.resolve(given)
    },
    isFinished: () => left === undefined,
    sizeBytes: () => 0,
    reported: () => reported,
    close: () => { /* the body has been read to its end */ }
  }
}

/** A response whose bytes are read as they arrive, such as a recording. */
export class PieceResponse<E extends AnyEvent> implements OpenResponse<E> {
  readonly route: Route
  readonly #body: UpstreamBody
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #read: (piece: Uint8Array, into: E[]) => void
  #first: IteratorResult<Uint8Array> | undefined
  #sizeBytes = 0
  #hasEnded = false
  #usage: Usage | undefined

  constructor (route: Route, body: UpstreamBody, read: (piece: Uint8Array, into: E[]) => void) {
    this.route = route
    this.#body = body
    this.#pieces = body[Symbol.asyncIterator]()
    this.#read = read
  }

  /** Waits for the first piece, so that an earlier failure still becomes a status. */
  async begin (): Promise<void> {
    this.#first = await this.#pieces.next()
    if (this.#first.done === true) throw emptyBodyError()
  }

  async next (): Promise<E[] | undefined> {
    const { done, value } = this.#first ?? await this.#pieces.next()
    this.#first = undefined
    this.#hasEnded = done === true
    if (done === true) return undefined
    this.#sizeBytes += value.length
    const events: E[] = []
    this.#read(value, events)
    this.#usage = usageIn(events) ?? this.#usage
    return events
  }

  isFinished (): boolean {
    return this.#hasEnded
  }

  sizeBytes (): number {
    return this.#sizeBytes
  }

  reported (): ReportedUsage {
    return reportedBy(this.#usage)
  }

  close (): void {
    if (!this.#hasEnded) this.#body.cancel()
  }
}
