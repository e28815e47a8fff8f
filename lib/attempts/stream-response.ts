/** Reads a response that is an event stream: bytes become events, one batch per read. */

import { GatewayError } from '../core/errors.ts'
import {
  emptyBodyError, invalidResponse, webPageError, usageOfError, withUsage
} from '../providers/provider-failure.ts'
import { sseDecoder, type StreamDecoder } from '../wire/sse-decoder.ts'
import { StreamPace, tooSlow, type SlowStreamPolicy } from './stream-pace.ts'
import { asInterrupted, parseResponseBytes, readerError } from './parse-response.ts'
import { usageIn, type AnyEvent, type OpenResponse } from './open-response.ts'
import type { AnswerMemory } from './answer-memory.ts'
import { reportedBy, type ReportedUsage } from '../core/usage.ts'
import { isVisibleOutput } from '../core/events.ts'
import type { Route } from '../core/route.ts'
import type { EventSourceMessage } from 'eventsource-parser'
import type { EventStreamFormat, StreamReader, UpstreamBody } from '../providers/provider.ts'

export interface StreamOptions {
  readonly route: Route
  /** Maximum size of a response that turns out to be one JSON text. */
  readonly jsonBytes: number
  /** Maximum size of an event, measured as in `ResponseBounds`. */
  readonly eventBytes: number
  /** Counts the bytes of an incomplete event. */
  readonly memory: Pick<AnswerMemory, 'hold' | 'release'>
  /** Maximum wait for an event, even while bytes arrive. */
  readonly idleEventsMs: number
  readonly slow?: SlowStreamPolicy | undefined
}

/**
 * Maximum events held before visible output. A good answer begins with a few; a faulty server sends pings as
 * fast as it can.
 */
const maxHeldEvents = 1000

/** Milliseconds to read the rest of a body, so that its connection can be reused. */
const restMs = 1000

/**
 * Reads the bytes of an event stream into events, one array per read.
 *
 * An error in the stream is thrown by the next read, so that events before it go out first. Usage that comes
 * with an error becomes an event before it.
 */
export class StreamResponse<E extends AnyEvent> implements OpenResponse<E> {
  readonly route: Route
  readonly #body: UpstreamBody
  readonly #bytes: AsyncIterator<Uint8Array>
  readonly #reader: StreamReader<E>
  readonly #messages: StreamDecoder
  readonly #memory: StreamOptions['memory']
  /** Reads a response that turns out to be one JSON text; absent once the kind of body is known. */
  #format: EventStreamFormat<E> | undefined
  readonly #jsonBytes: number
  readonly #slow: SlowStreamPolicy | undefined
  readonly #idleEventsMs: number
  readonly #eventBytes: number
  /** Events read before the first visible one. */
  #buffered: E[] = []
  /** The next read, once started. */
  #pending: Promise<IteratorResult<Uint8Array>> | undefined
  #hasStarted = false
  #waitsSinceMs = 0
  /** Time waited since the last event: only while one is awaited, since a caller may pause. */
  #idleMs = 0
  #sizeBytes = 0
  #hasFinished = false
  /**
   * True if the hold ended without visible output: the next read may be empty, so that the caller gets the
   * head.
   */
  #isOverdue = false
  #failure: unknown
  readonly #pace: StreamPace | undefined

  constructor (body: UpstreamBody, format: EventStreamFormat<E>, options: StreamOptions) {
    this.route = options.route
    this.#body = body
    this.#bytes = body[Symbol.asyncIterator]()
    this.#reader = format.reader
    this.#messages = (format.decoder ?? sseDecoder)(options.eventBytes)
    this.#memory = options.memory
    this.#format = format
    this.#jsonBytes = options.jsonBytes
    this.#slow = options.slow
    this.#idleEventsMs = options.idleEventsMs
    this.#eventBytes = options.eventBytes
    this.#pace = options.slow && new StreamPace(options.slow)
  }

  /**
   * Reads until there is visible output, the response has ended, or `holdMs` have passed; longer where the
   * settings allow more time for the first output. A response that begins with very many events, or with more
   * bytes than an event may have, is not held any longer.
   *
   * @throws the failure of the response before any visible output, with the reported usage: no event goes
   *   out, as another attempt may answer
   */
  async untilVisible (holdMs: number): Promise<void> {
    const slow = this.#slow
    const slowMs = slow?.firstOutputMs ?? Infinity
    const over = startTimer(slowMs === Infinity ? holdMs : Math.max(holdMs, slowMs), 'over' as const)
    let slowAfter = slowMs === Infinity ? undefined : startTimer(slowMs, 'slow' as const)
    try {
      while (!this.#hasFinished) {
        this.#pending ??= this.#bytes.next()
        const waitsSinceMs = performance.now()
        // The read below reports a failure.
        const first = await Promise.race([
          this.#pending.then(undefined, () => undefined),
          over.elapsed,
          ...(slowAfter === undefined ? [] : [slowAfter.elapsed])
        ])
        this.#idleMs += performance.now() - waitsSinceMs
        if (first === 'slow') {
          if (slow?.tryGiveUp('before_output') === true) throw tooSlow()
          slowAfter = undefined
          continue
        }
        if (first === 'over') {
          this.#isOverdue = true
          return
        }
        const events = await this.#read()
        if (events === undefined) return
        for (const event of events) this.#buffered.push(event)
        // Fields that a provider adds may come with the head, before any output for the caller.
        if (events.some(event => event.type !== 'extra' && isVisibleOutput(event))) return
        if (this.#failure !== undefined) throw this.#failure
        const { length } = this.#buffered
        if (length > maxHeldEvents || (length > 0 && this.#sizeBytes > this.#eventBytes)) return
      }
    } catch (error) {
      // A provider bills what it has read for a stream that breaks off, unless it reports an error.
      const isBroken = error instanceof GatewayError && error.code === 'upstream_stream_interrupted'
      throw withUsage(error, usageIn(this.#buffered) ?? (isBroken ? this.#reader.usageSoFar?.() : undefined))
    } finally {
      slowAfter?.stop()
      over.stop()
      this.#pace?.startMeasuring()
    }
  }

  next (): Promise<E[] | undefined> {
    if (this.#buffered.length === 0 && !this.#isOverdue) return this.#read()
    this.#isOverdue = false
    const events = this.#buffered
    this.#buffered = []
    return Promise.resolve(events)
  }

  isFinished (): boolean {
    return this.#hasFinished && this.#failure === undefined && this.#buffered.length === 0
  }

  sizeBytes (): number {
    return this.#sizeBytes
  }

  reported (): ReportedUsage {
    return reportedBy(usageIn(this.#buffered) ?? this.#reader.usageSoFar?.())
  }

  close (): void {
    if (!this.#hasFinished) this.#body.cancel()
  }

  /** Returns the events of one read; `undefined` after the last. */
  #read (): Promise<E[] | undefined> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (this.#hasFinished) return Promise.resolve(undefined)
    this.#pending ??= this.#bytes.next()
    this.#waitsSinceMs = performance.now()
    const read = this.#pace?.wait(this.#pending, this.#idleMs) ?? this.#pending
    return read.then(this.#onBytes, this.#onBroken)
  }

  readonly #onBytes = (read: IteratorResult<Uint8Array>): E[] | Promise<E[]> => {
    this.#pending = undefined
    const arrivedMs = performance.now()
    const waitedMs = arrivedMs - this.#waitsSinceMs
    this.#idleMs += waitedMs
    this.#pace?.noteWait(waitedMs)
    const events: E[] = []
    if (read.done === true) {
      this.#end(events)
      return events
    }
    this.#sizeBytes += read.value.length
    const rest = this.#readBytes(read.value, arrivedMs, events)
    if (rest !== undefined) return rest.then(() => events)
    // Events read so far still go out before the failure.
    if (!this.#hasFinished && this.#pace?.isTooSlow(events.length) === true) this.#failure ??= tooSlow()
    return events
  }

  readonly #onBroken = (error: unknown): E[] => {
    if (error instanceof GatewayError && error.code === 'upstream_too_slow') throw error
    const events: E[] = []
    this.#cut(error, events)
    return events
  }

  /** @returns a promise if more has to be read first */
  #readBytes (bytes: Uint8Array, arrivedMs: number, into: E[]): Promise<void> | undefined {
    if (!this.#hasStarted) {
      const start = opening(bytes)
      if (start === '') {
        this.#checkIdle(arrivedMs)
        return undefined
      }
      this.#hasStarted = true
      const format = this.#format
      this.#format = undefined // it retains the request, and a stream may be open for long
      if (format !== undefined && (start.startsWith('{') || start.startsWith('['))) {
        return this.#readJson(bytes, into, format)
      }
      if (start.startsWith('<')) throw webPageError()
    }
    const before = into.length
    try {
      this.#memory.hold(bytes.length)
      const messages = this.#messages.push(bytes)
      if (messages.length > 0) this.#memory.release()
      this.#readMessages(messages, into)
    } catch (error) {
      this.#failAfter(into, error)
    }
    if (this.#reader.isDone) {
      this.#hasFinished = true
      this.#readRest()
    } else if (into.length > before) {
      this.#idleMs = 0
    } else {
      this.#checkIdle(arrivedMs)
    }
    return undefined
  }

  /** Also counts the time spent on bytes that form no event: during a flood of them, no read waits. */
  #checkIdle (arrivedMs: number): void {
    this.#idleMs += performance.now() - arrivedMs
    if (this.#idleMs > this.#idleEventsMs) throw new GatewayError('upstream_timeout')
  }

  #readMessages (messages: readonly EventSourceMessage[], into: E[]): void {
    for (const message of messages) {
      if (this.#reader.isDone) return
      this.#reader.read(message, into)
    }
  }

  #end (into: E[]): void {
    this.#hasFinished = true
    if (!this.#hasStarted) throw emptyBodyError()
    asInterrupted(() => {
      try {
        this.#readMessages(this.#messages.end(), into)
        if (!this.#reader.isDone) this.#reader.end(into)
      } catch (error) {
        this.#failAfter(into, error)
      }
    })
  }

  /**
   * Ends a stream whose connection broke. A response with all finish reasons is complete even without its
   * last message; any other has failed.
   */
  #cut (error: unknown, into: E[]): void {
    this.#hasFinished = true
    const isBroken =
      error instanceof GatewayError &&
      (error.code === 'upstream_stream_interrupted' || error.code === 'upstream_timeout')
    if (!isBroken || !this.#hasStarted) throw error
    try {
      this.#reader.end(into)
    } catch {
      throw error
    }
  }

  /**
   * Keeps an error for the next read if this one has events, such as the usage that came with it.
   *
   * @throws the error if it has none
   */
  #failAfter (events: E[], thrown: unknown): void {
    const error = readerError(thrown)
    const usage = usageOfError(error)
    // The cast is safe: each kind of answer that is streamed has this event.
    if (usage !== undefined) events.push({ type: 'usage', usage } as E)
    if (events.length === 0) throw error
    this.#failure = withUsage(error, undefined)
  }

  /** Reads one JSON text that arrived instead of a stream: an error, or the complete answer. */
  async #readJson (
    first: Uint8Array,
    into: E[],
    format: EventStreamFormat<E>
  ): Promise<void> {
    const pieces: Uint8Array[] = []
    let sizeBytes = 0
    let piece: Uint8Array | undefined = first
    while (piece !== undefined) {
      sizeBytes += piece.length
      if (sizeBytes > this.#jsonBytes) throw invalidResponse('a JSON text over the limit')
      this.#memory.hold(piece.length)
      pieces.push(piece)
      piece = (await this.#bytes.next()).value
    }
    this.#hasFinished = true
    try {
      const value = await parseResponseBytes(Buffer.concat(pieces))
      for (const event of format.json(value)) into.push(event)
    } catch (error) {
      this.#failAfter(into, error)
    }
  }

  /** Reads the rest of a body briefly after its response has ended, and only then closes its connection. */
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
 * Returns the first non-blank characters: decoding a whole chunk for one character would cost as much as
 * reading its messages.
 */
function opening ({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const start = Buffer.from(buffer, byteOffset, Math.min(byteLength, 64)).toString().trimStart()
  return start === '' ? Buffer.from(buffer, byteOffset, byteLength).toString().trimStart() : start
}

/** A timer with a promise. */
interface Timer<T> {
  readonly elapsed: Promise<T>
  readonly stop: () => void
}

/** Starts the timer. Its promise never rejects, and stays pending if the timer is stopped. */
function startTimer<T> (ms: number, value: T): Timer<T> {
  let timer: NodeJS.Timeout | undefined
  const elapsed = new Promise<T>(resolve => { timer = setTimeout(resolve, ms, value) })
  return { elapsed, stop: () => clearTimeout(timer) }
}
