import { GatewayError } from '../core/errors.ts'
import { invalidResponse, pageInstead } from '../providers/provider-failure.ts'
import { sseReader, type SseReader } from '../wire/sse.ts'
import { pulling, type PullResult, type PullSource } from '../core/flow.ts'
import { startTimer, type Timer } from '../async/timer.ts'
import { asInterrupted, readOrRefuse } from './read-response.ts'
import { StreamPace, tooSlow, type SlowStreamGuard } from './stream-pace.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { OpenAttempt } from './open-attempt.ts'
import type { StreamReader, UpstreamBody } from '../providers/provider.ts'

export interface StreamOptions<E> {
  /** Reads a response that turned out to be one JSON text. */
  readonly json: (bytes: Buffer) => Promise<E[]>
  readonly jsonBytes: number
  /** Bytes of one event. */
  readonly eventBytes: number
  /** Longest wait without an event, while bytes come all the same. */
  readonly idleEventsMs: number
  readonly slow?: SlowStreamGuard | undefined
}

/** The rest of a body is read for so long: its connection can then be used again. */
const restMs = 1000

/**
 * Reads the bytes of an event stream into events, one array per read.
 *
 * An error among them is thrown by the read after it, so that what came before it goes out first.
 */
export class StreamAttempt<E extends { readonly type: string }> implements OpenAttempt<E> {
  readonly #body: UpstreamBody
  readonly #bytes: PullSource<Uint8Array>
  readonly #reader: StreamReader<E>
  readonly #messages: SseReader
  /** Reads a response that turns out to be one JSON text; released once it does not. */
  #json: Pick<StreamOptions<E>, 'json' | 'jsonBytes'> | undefined
  readonly #slow: SlowStreamGuard | undefined
  /** Events that were read before the first real one. */
  #buffered: E[] = []
  /** The next read, once it has begun. */
  #pending: PullResult<Uint8Array> | Promise<PullResult<Uint8Array>> | undefined
  #started = false
  /** The time since which `whenReady` is waited for; NaN while it is not: V8 updates a field that always holds a number in place. */
  #waitsSinceMs = NaN
  #sizeBytes = 0
  #finished = false
  /** The hold ended without anything real: one read may be empty, so that the caller gets a head. */
  #overdue = false
  #failure: unknown
  readonly #pace: StreamPace

  constructor (body: UpstreamBody, reader: StreamReader<E>, options: StreamOptions<E>) {
    this.#body = body
    this.#bytes = pulling(body)
    this.#reader = reader
    this.#messages = sseReader(options.eventBytes)
    this.#json = options
    this.#slow = options.slow
    this.#pace = new StreamPace(options.slow, options.idleEventsMs)
  }

  /**
   * Reads on until something real has come, the response is over, or `holdMs` have passed; longer where the
   * guard allows more for the first output.
   *
   * @throws what the response failed with before anything real came
   */
  async untilReal (holdMs: number): Promise<void> {
    const slow = this.#slow
    const slowMs = slow?.firstOutputMs ?? Infinity
    let slowAfter: Timer<'slow'> | undefined
    let over: Timer<'over'> | undefined
    try {
      while (!this.#finished) {
        this.#pending ??= this.#bytes.pull()
        if (this.#pending instanceof Promise) {
          // Most first output comes with the head: then there is nothing to wait for, and no timer.
          if (over === undefined && slowMs !== Infinity) slowAfter = startTimer(slowMs, 'slow')
          over ??= startTimer(slowMs === Infinity ? holdMs : Math.max(holdMs, slowMs), 'over')
          // A failure comes out of the read below.
          const first = await Promise.race([this.#pending.then(undefined, () => undefined), over.elapsed, ...slowAfter === undefined ? [] : [slowAfter.elapsed]])
          if (first === 'slow') {
            if (slow?.mayGiveUp('before_output') === true) throw tooSlow()
            slowAfter = undefined
            continue
          }
          if (first === 'over') {
            this.#overdue = true
            return
          }
        }
        const from = this.#buffered.length
        const read = this.#read(this.#buffered)
        if (!(read instanceof Promise ? await read : read)) return
        for (let at = from; at < this.#buffered.length; at++) {
          if (isReal(this.#buffered[at])) return
        }
        if (this.#failure !== undefined) throw this.#failure
      }
    } finally {
      slowAfter?.stop()
      over?.stop()
      this.#pace.guard()
    }
  }

  next (): E[] | undefined | Promise<E[] | undefined> {
    if (this.#buffered.length > 0 || this.#overdue) {
      this.#overdue = false
      const events = this.#buffered
      this.#buffered = []
      return events
    }
    const events: E[] = []
    const read = this.#read(events)
    if (read instanceof Promise) return read.then(some => some ? events : undefined)
    return read ? events : undefined
  }

  whenReady (go: () => void): boolean {
    const mayWait = this.#buffered.length === 0 && !this.#overdue && !this.#finished && this.#failure === undefined && this.#pending === undefined
    if (!mayWait || this.#pace.limitsWait || this.#bytes.whenReady?.(go) !== true) return false
    this.#waitsSinceMs = performance.now()
    return true
  }

  get isRead (): boolean {
    return this.#finished
  }

  pause (): void {
    if (this.#pending === undefined) this.#bytes.pause?.()
  }

  sizeBytes (): number {
    return this.#sizeBytes
  }

  close (): void {
    if (!this.#finished) this.#body.cancel()
  }

  /** Appends the events of one read. Gives false when there is nothing left to read. */
  #read (into: E[]): boolean | Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#finished) return false
    const given = this.#pending ?? this.#bytes.pull()
    if (!(given instanceof Promise)) {
      this.#pending = undefined
      const waitedMs = Number.isNaN(this.#waitsSinceMs) ? 0 : performance.now() - this.#waitsSinceMs
      this.#waitsSinceMs = NaN
      return this.#take(given, into, waitedMs)
    }
    this.#pending = given
    const startedAtMs = performance.now()
    return this.#pace.wait(given).then(read => {
      this.#pending = undefined
      return this.#take(read, into, performance.now() - startedAtMs)
    }, (error: unknown) => {
      if (error instanceof GatewayError && error.code === 'upstream_too_slow') throw error
      return this.#cut(error, into)
    })
  }

  #take (read: PullResult<Uint8Array>, into: E[], waitedMs: number): boolean | Promise<boolean> {
    this.#pace.noteWait(waitedMs)
    if (read.done === true) return this.#end(into)
    this.#sizeBytes += read.value.length
    const before = into.length
    const rest = this.#readBytes(read.value, into)
    if (rest !== undefined) return rest.then(() => true)
    // What is there already still goes out before the failure.
    if (!this.#finished && this.#pace.isTooSlow(into.length - before)) this.#failure ??= tooSlow()
    return true
  }

  /** @returns a promise when more has to be read first */
  #readBytes (bytes: Uint8Array, into: E[]): Promise<void> | undefined {
    if (!this.#started) {
      const start = opening(bytes)
      if (start === '' || start === '\ufeff') {
        this.#pace.checkIdle()
        return undefined
      }
      this.#started = true
      const json = this.#json
      this.#json = undefined // it has the request, and a stream may be open for long
      if (json !== undefined && (start.startsWith('{') || start.startsWith('['))) return this.#readJson(bytes, into, json)
      if (start.startsWith('<')) throw pageInstead()
    }
    const before = into.length
    this.#gather(into, () => this.#readMessages(this.#messages.push(bytes), into))
    if (this.#reader.done) {
      this.#finished = true
      this.#readRest()
    } else if (into.length > before) {
      this.#pace.noteEvents()
    } else {
      this.#pace.checkIdle()
    }
    return undefined
  }

  #readMessages (messages: readonly EventSourceMessage[], into: E[]): void {
    for (const message of messages) {
      if (this.#reader.done) return
      this.#reader.read(message, into)
    }
  }

  #end (into: E[]): boolean {
    this.#finished = true
    if (!this.#started) throw invalidResponse('empty body')
    asInterrupted(() => this.#gather(into, () => {
      this.#readMessages(this.#messages.end(), into)
      if (!this.#reader.done) this.#reader.end(into)
    }))
    return true
  }

  /**
   * Ends a stream whose connection broke. A response with all its finish reasons is complete without
   * the message that says so; of any other the break is the failure.
   */
  #cut (error: unknown, into: E[]): boolean {
    this.#finished = true
    const broke = error instanceof GatewayError && (error.code === 'upstream_stream_interrupted' || error.code === 'upstream_timeout')
    if (!broke || !this.#started) throw error
    try {
      this.#reader.end(into)
    } catch {
      throw error
    }
    return true
  }

  /** Runs `read`; what it throws after it has appended events is kept for the next read. */
  #gather (into: readonly E[], read: () => void): void {
    const before = into.length
    try {
      readOrRefuse(read)
    } catch (error) {
      if (into.length === before) throw error
      this.#failure = error
    }
  }

  /** Reads one JSON text where a stream was requested: an error, or the complete answer. */
  async #readJson (first: Uint8Array, into: E[], { json, jsonBytes }: Pick<StreamOptions<E>, 'json' | 'jsonBytes'>): Promise<void> {
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    for (let piece: Uint8Array | undefined = first; piece !== undefined; piece = (await this.#bytes.next()).value) {
      sizeBytes += piece.length
      if (sizeBytes > jsonBytes) throw invalidResponse('a JSON text over the limit')
      pieces.push(piece)
    }
    this.#finished = true
    for (const event of await json(Buffer.concat(pieces))) into.push(event)
  }

  /** Reads a body a moment longer than its response, and tears its connection down only then. */
  #readRest (): void {
    const timer = setTimeout(() => this.#body.cancel(), restMs).unref()
    const next = (): void => {
      this.#bytes.next().then(({ done }) => {
        if (done === true) clearTimeout(timer)
        else next()
      }, () => clearTimeout(timer))
    }
    next()
  }
}

/**
 * Returns the first characters but for white space: decoding all of a first read to look at one of
 * them would cost as much as reading its messages.
 */
function opening ({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const start = Buffer.from(buffer, byteOffset, Math.min(byteLength, 64)).toString().trimStart()
  return start === '' ? Buffer.from(buffer, byteOffset, byteLength).toString().trimStart() : start
}

/** Returns whether a caller could see the event; heads and empty deltas are not real. */
function isReal (event: { readonly type: string, readonly text?: string, readonly isHead?: boolean } | undefined): boolean {
  return event !== undefined && event.type !== 'response-start' && event.type !== 'extra' && event.text !== '' && event.isHead !== true
}
