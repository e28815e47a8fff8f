/** Answers a call from the cache if an equal call was answered before; otherwise caches the new answer. */

import { abortable } from '../async/cancellation.ts'
import { AnswerRecorder, replayedAnswer } from '../cache/recorded-answer.ts'
import { copyCall, type Batch, type RoutedCall } from '../core/call.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { noteToolCall } from '../core/record.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import type { AnswerCache } from '../cache/answer-cache.ts'
import type { CacheTerms } from '../cache/cache-terms.ts'
import type { RequestDigest } from '../cache/entries.ts'
import type { Flight } from '../cache/flight.ts'
import type { ChatInput } from '../chat/input.ts'
import type { ChatEvent } from '../core/events.ts'

type Answer<R> = Stage<RoutedCall<R>, Batch<R, ChatEvent>>

export interface CachedAnswerOptions {
  /**
   * Returns true for a call whose answer is stored, to be fetched or continued later. Default: false for
   * every call.
   */
  readonly isStored?: ((call: RoutedCall<ChatInput>) => boolean) | undefined
}

/**
 * Answers calls from the cache: one call in, its answer out, with the events that `answer` gave the first of
 * equal calls. Equal calls that arrive in the meantime wait for it. If it fails, one of them calls the
 * provider.
 *
 * @param cache absent: no answers are cached
 * @throws what `answer` throws; a failed answer is never kept
 */
export function cachedAnswer<R extends ChatInput> (
  cache: AnswerCache | undefined,
  answer: Answer<R>,
  { isStored = () => false }: CachedAnswerOptions = {}
): Answer<R> {
  if (cache === undefined) return answer
  return flatMap(call => {
    const terms = isStored(call) ? undefined : cache.termsOf(call)
    if (terms !== undefined) return answerWithLookup(call, cache, terms, answer)
    call.record.routing.cache = 'bypass'
    return answer(once(call))
  })
}

async function* answerWithLookup<R extends ChatInput> (
  call: RoutedCall<R>,
  cache: AnswerCache,
  terms: CacheTerms,
  answer: Answer<R>
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const digest = cache.digestOf(call, terms)
  const { request, record } = call
  const startFlight = (): Flight | undefined =>
    terms.ttlMs > 0
      ? cache.begin(digest, request.stream === true, () => record.times.unreadSinceMs)
      : undefined
  const found = terms.maxAgeMs > 0
    ? await findAnswer(call, cache, digest, terms.maxAgeMs, startFlight)
    : startFlight()
  const isHit = found !== undefined && 'events' in found
  record.routing.cache = isHit ? 'hit' : 'miss'
  if (isHit) yield found
  else {
    yield * answerAndRecord({
      call,
      answer,
      flight: found,
      recorder: new AnswerRecorder<R>(cache.maxLength),
      keep: text => {
        if (terms.ttlMs > 0) cache.set(digest, text, terms.ttlMs)
      }
    })
  }
}

/**
 * Looks up the answer, and waits for one that is in flight. Where there is neither, registers this call's
 * answer as in flight, before another call can.
 */
async function findAnswer<R extends ChatInput> (
  call: RoutedCall<R>,
  cache: AnswerCache,
  digest: RequestDigest,
  maxAgeMs: number,
  startFlight: () => Flight | undefined
): Promise<Batch<R, ChatEvent> | Flight | undefined> {
  const { record, request, signal } = call
  const startedAtMs = performance.now()
  let wasCached = false
  try {
    for (;;) {
      const text = await cache.get(digest)
      signal.throwIfAborted()
      const batch = text === undefined ? undefined : replayedAnswer(text, call, maxAgeMs)
      if (batch !== undefined) {
        noteHit(batch)
        return batch
      }
      const flight = cache.flight(digest, request.stream === true)
      if (flight === undefined) return startFlight()
      // The awaited answer was cached but cannot be used; it may be too old. Waiting again might never end.
      if (wasCached) return undefined
      const end = await flight.wait(signal)
      if (end === 'uncached') return undefined
      wasCached = end === 'cached'
    }
  } finally {
    record.times.upstreamWaitMs += performance.now() - startedAtMs
  }
}

/** Records an answer from the cache, for which no provider was paid. */
function noteHit ({ call: { record, request }, route, events }: Batch<ChatInput, ChatEvent>): void {
  record.request.isStreamed = request.stream === true
  record.routing.modelId = route.modelId
  record.routing.providerId = route.providerId
  for (const event of events) {
    if (event.type === 'tool-call-start') noteToolCall(record.tools, event.id)
  }
}

/**
 * Passes the answer on and stores it. It is read to its end even if its caller has left, as long as others
 * wait for it.
 */
async function* answerAndRecord<R extends ChatInput> (
  parts: NewAnswerParts<R>
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const answer = new NewAnswer(parts)
  try {
    for (let batch = await answer.read(); batch !== undefined; batch = await answer.read()) yield batch
  } finally {
    await answer.close()
  }
}

interface NewAnswerParts<R> {
  readonly call: RoutedCall<R>
  readonly answer: Answer<R>
  /** Started by the call. Absent: nobody waits for the answer. */
  readonly flight: Flight | undefined
  readonly recorder: AnswerRecorder<R>
  readonly keep: (text: string) => void
}

/** An answer that the cache did not have, read once for its caller and for the calls that wait for it. */
class NewAnswer<R extends ChatInput> {
  readonly #parts: NewAnswerParts<R>
  /** The call as `answer` gets it. */
  readonly #sent: RoutedCall<R>
  /** Resolves once nothing more is read: for an answer that is not kept, the flight may end earlier. */
  readonly #finished: Promise<void>
  #finish: () => void = () => undefined
  #batches: AsyncIterator<Batch<R, ChatEvent>> | undefined
  /** The last read, which may be pending. */
  #reading: Promise<Batch<R, ChatEvent> | undefined> | undefined
  #isOver = false

  constructor (parts: NewAnswerParts<R>) {
    const { call, flight } = parts
    this.#parts = parts
    this.#sent = flight === undefined ? call : copyCall(call, { signal: flight.signal })
    this.#finished = new Promise(resolve => { this.#finish = resolve })
    if (flight !== undefined) call.signal.addEventListener('abort', this.#leave, { once: true })
    if (call.signal.aborted) this.#leave()
  }

  /** Returns the next batch; `undefined` at the end. @throws the reason of the call's signal */
  read (): Promise<Batch<R, ChatEvent> | undefined> {
    const { call, flight } = this.#parts
    this.#reading = this.#readNext()
    // The signal of the flight does not abort while others wait.
    return flight === undefined ? this.#reading : abortable(this.#reading, call.signal)
  }

  /** Ends the answer for its caller: at its end, after an error, or if the caller stops reading. */
  async close (): Promise<void> {
    const { call, flight } = this.#parts
    try {
      if (!this.#isOver && flight?.isAwaited === true) {
        this.#leave()
        void this.#readToEnd()
      } else await this.#stop()
    } finally {
      // Only now: until here, an abort must end this caller's wait.
      call.signal.removeEventListener('abort', this.#leave)
    }
  }

  async #stop (): Promise<void> {
    if (!this.#isOver) this.#end(false)
    try {
      // Under a budget, the answer is read to its end without the caller: the row waits for its usage.
      // Ignore errors: the caller has left.
      await this.#reading?.catch(() => undefined)
      await this.#batches?.return?.()
    } finally {
      this.#finish()
    }
  }

  async #readNext (): Promise<Batch<R, ChatEvent> | undefined> {
    const { answer, flight, recorder } = this.#parts
    try {
      this.#batches ??= answer(once(this.#sent))[Symbol.asyncIterator]()
      const { done, value } = await this.#batches.next()
      if (done === true) {
        this.#end(true)
        return undefined
      }
      recorder.add(value, this.#sent)
      if (recorder.hasGivenUp) flight?.end('uncached')
      return value
    } catch (error) {
      this.#end(false)
      throw error
    }
  }

  #end (isComplete: boolean): void {
    const { flight, recorder, keep } = this.#parts
    this.#isOver = true
    const text = isComplete ? recorder.text() : undefined
    if (text !== undefined) keep(text)
    flight?.end(text !== undefined ? 'cached' : isComplete ? 'uncached' : 'failed')
  }

  /** Continues the answer for the calls that wait for it, without the caller of this one. */
  readonly #leave = (): void => {
    const { call: { record, signal }, flight } = this.#parts
    if (flight === undefined) return
    if (flight.isAwaited) record.end.whenUsageKnown = this.#finished
    flight.leave(signal.reason ?? new GatewayError('client_closed_request'))
  }

  async #readToEnd (): Promise<void> {
    try {
      let batch = await this.#reading
      while (batch !== undefined) batch = await this.#readNext()
    } catch (error) {
      // One of the waiting calls tries again. Guards have not inspected the message of the error.
      this.#parts.call.record.end.cause ??= asGatewayError(error).code
    }
    this.#finish()
  }
}
