/**
 * One request to one provider, up to the point where its answer is real.
 */

import { GatewayError } from '../core/errors.ts'
import { rateLimitsIn } from '../providers/retry-after.ts'
import { sseReader, type SseReader } from '../wire/sse.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Adapter, Ask, Provider, StreamReader, UpstreamResponse } from '../providers/provider.ts'

export interface ProviderCallOptions {
  /** Bytes of a whole answer. */
  readonly answerBytes: number
  /** Bytes of one event of a stream. */
  readonly eventBytes: number
  /** How long real output is waited for before what is there goes out; default 10 s. */
  readonly holdMs?: number
}

/** A request whose answer may be streamed. */
export interface AttemptRequest {
  readonly stream?: boolean | undefined
  readonly n?: number | undefined
}

/** What of a call a request to a provider hangs on. */
export type AttemptCall = Pick<RoutedCall<unknown>, 'signal' | 'record' | 'key' | 'providerKey'>

/** An answer under way. */
export interface OpenAttempt<E> {
  /** The events of the next read; `undefined` after the last. Not before the previous one is back. */
  readonly next: () => Promise<E[] | undefined>
  /** Bytes read so far. */
  readonly sizeBytes: () => number
  /** Releases the connection, wherever the answer stands. */
  readonly close: () => void
}

const errorBodyBytes = 64 * 1024

/**
 * Sends the request and reads until the first real event.
 *
 * @throws GatewayError when the provider refuses, fails, or says nothing that can be read; its
 *   connection is closed then
 */
export async function openAttempt<R extends AttemptRequest, E extends { readonly type: string }> (
  call: AttemptCall,
  ask: Ask<R>,
  provider: Provider,
  adapter: Adapter<R, E>,
  options: ProviderCallOptions
): Promise<OpenAttempt<E>> {
  const upstreamRequest = adapter.request(ask)
  const { record } = call
  record.attempts++
  const answer = await provider.transport.send(upstreamRequest, {
    signal: call.signal,
    credential: provider.authorize(call.providerKey?.reveal()),
    timeouts: provider.timeouts,
    streamed: ask.streamed,
    keyId: call.key.id
  })
  const upstreamId = answer.headers['x-request-id'] ?? answer.headers['request-id']
  if (typeof upstreamId === 'string') record.upstreamRequestId = upstreamId

  if (answer.status < 200 || answer.status > 299) {
    const failure = adapter.error({
      status: answer.status,
      headers: answer.headers,
      body: await readErrorBody(answer)
    })
    throw failure.status === 429 ? failure.with({ rateLimits: rateLimitsIn(answer.headers) }) : failure
  }
  const readBytes = adapter.bytes?.(answer, ask)
  if (readBytes !== undefined) return await openBytes(answer, readBytes)
  if (adapter.isText?.(answer, ask) === true) {
    return bufferedAttempt(adapter.response((await answer.body.buffer(options.answerBytes)).toString(), ask))
  }
  if (!ask.streamed) return bufferedAttempt(await readWhole(answer, ask, adapter, options))
  return await openStream(answer, ask, adapter, provider, options)
}

/** The words of a refusal, as far as they are short enough to be words. */
export async function readErrorBody ({ body }: UpstreamResponse): Promise<unknown> {
  let text: string
  try {
    text = (await body.buffer(errorBodyBytes)).toString()
  } catch {
    return '' // what broke here is not what the provider said
  }
  try {
    return JSON.parse(text)
  } catch {
    return text.trimStart().startsWith('<') ? '' : text
  }
}

/** A whole answer; some servers answer with a stream where none was asked for. */
async function readWhole<R, E> (
  { body }: UpstreamResponse, ask: Ask<R>, adapter: Adapter<R, E>, { answerBytes, eventBytes }: ProviderCallOptions
): Promise<E[]> {
  const bytes = await body.buffer(answerBytes)
  if (adapter.reads === 'bytes') return adapter.response(bytes, ask)
  const text = bytes.toString()
  if (!looksLikeStream(text)) return adapter.response(parseAnswer(text), ask)
  const reader = adapter.stream(ask)
  const messages = sseReader(Math.max(eventBytes, answerBytes))
  const events = readMessages(reader, messages.push(bytes))
  if (!reader.done) events.push(...atEnd(() => readMessages(reader, messages.end())))
  if (!reader.done) events.push(...reader.end())
  return events
}

/** An answer that has been read to its end. */
export function bufferedAttempt<E> (events: E[]): OpenAttempt<E> {
  let given = false
  return {
    next: async () => {
      if (given) return undefined
      given = true
      return events
    },
    sizeBytes: () => 0,
    close: () => { /* the body has been read to its end */ }
  }
}

/** Bytes as they arrive: the first of them are awaited, so that a failure before is still a status. */
async function openBytes<E> ({ body }: UpstreamResponse, read: (bytes: Uint8Array) => E[]): Promise<OpenAttempt<E>> {
  const source = body[Symbol.asyncIterator]()
  const first = await source.next()
  if (first.done === true) throw new GatewayError('upstream_invalid_response', { cause: 'empty body' })
  let next: IteratorResult<Uint8Array> | undefined = first
  let sizeBytes = 0
  let ended = false
  return {
    next: async () => {
      const { done, value } = next ?? await source.next()
      next = undefined
      ended = done === true
      if (done === true) return undefined
      sizeBytes += value.length
      return read(value)
    },
    sizeBytes: () => sizeBytes,
    close: () => { if (!ended) body.cancel() }
  }
}

async function openStream<R, E extends { readonly type: string }> (
  answer: UpstreamResponse, ask: Ask<R>, adapter: Adapter<R, E>, provider: Provider, options: ProviderCallOptions
): Promise<OpenAttempt<E>> {
  const { body } = answer
  const reader = adapter.stream(ask)
  const reading = new StreamReading(body[Symbol.asyncIterator](), reader, sseReader(options.eventBytes), {
    whole: text => adapter.response(parseAnswer(text), ask),
    wholeBytes: options.answerBytes,
    idleEventsMs: provider.timeouts.idleEventsMs,
    cancel: () => body.cancel()
  })
  try {
    await reading.hold(options.holdMs ?? 10_000)
  } catch (error) {
    body.cancel()
    throw error
  }
  return reading
}

interface ReadingOptions<E> {
  /** Reads an answer that turned out to be one JSON text. */
  readonly whole: (text: string) => E[]
  readonly wholeBytes: number
  readonly idleEventsMs: number
  readonly cancel: () => void
}

/** Bytes of a stream to events, one array per read. */
class StreamReading<E extends { readonly type: string }> implements OpenAttempt<E> {
  readonly #bytes: AsyncIterator<Uint8Array>
  readonly #reader: StreamReader<E>
  readonly #messages: SseReader
  readonly #options: ReadingOptions<E>
  #held: E[] = []
  #pending: Promise<IteratorResult<Uint8Array>> | undefined
  #started = false
  #sizeBytes = 0
  #finished = false
  /** The hold ended without anything real: one read may be empty, so that the caller gets a head. */
  #overdue = false
  #failure: unknown
  /** Waited since the last event; a pause of the caller's does not count. */
  #idleMs = 0

  constructor (
    bytes: AsyncIterator<Uint8Array>, reader: StreamReader<E>, messages: SseReader, options: ReadingOptions<E>
  ) {
    this.#bytes = bytes
    this.#reader = reader
    this.#messages = messages
    this.#options = options
  }

  /** Reads on until something real has come, the answer is over, or the hold is. */
  async hold (holdMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<'over'>(resolve => { timer = setTimeout(resolve, holdMs, 'over') })
    try {
      while (!this.#finished) {
        this.#pending ??= this.#bytes.next()
        const read = await Promise.race([this.#pending, over])
        if (read === 'over') {
          this.#overdue = true
          return
        }
        const events = await this.#readNext()
        if (events === undefined) return
        this.#held.push(...events)
        if (events.some(isReal)) return
        if (this.#failure !== undefined) throw this.#failure
      }
    } finally {
      clearTimeout(timer)
    }
  }

  async next (): Promise<E[] | undefined> {
    if (this.#held.length === 0 && !this.#overdue) return await this.#readNext()
    this.#overdue = false
    const events = this.#held
    this.#held = []
    return events
  }

  sizeBytes (): number {
    return this.#sizeBytes
  }

  close (): void {
    if (!this.#finished) this.#options.cancel()
  }

  async #readNext (): Promise<E[] | undefined> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#finished) return undefined
    const askedAtMs = performance.now()
    const { done, value } = await (this.#pending ?? this.#bytes.next())
    this.#pending = undefined
    this.#idleMs += performance.now() - askedAtMs
    if (done === true) return this.#end()
    this.#sizeBytes += value.length
    return await this.#read(value)
  }

  async #read (bytes: Uint8Array): Promise<E[] | undefined> {
    if (!this.#started) {
      const start = opening(bytes)
      if (start === '' || start === '\ufeff') return []
      this.#started = true
      if (start.startsWith('{') || start.startsWith('[')) return await this.#readJson(bytes)
      if (start.startsWith('<')) throw new GatewayError('upstream_invalid_response', { cause: 'HTML' })
    }
    const events = this.#gather(() => this.#messages.push(bytes))
    if (this.#reader.done) {
      this.#finished = true
      this.#readRest()
    } else if (events.length > 0) {
      this.#idleMs = 0
    } else if (this.#idleMs > this.#options.idleEventsMs) {
      throw new GatewayError('upstream_timeout')
    }
    return events
  }

  #end (): E[] | undefined {
    this.#finished = true
    if (!this.#started) throw new GatewayError('upstream_invalid_response', { cause: 'empty body' })
    return atEnd(() => this.#gather(() => this.#messages.end(), () => this.#reader.end()))
  }

  /**
   * Events of messages; an error among them is thrown by the next call, so that what came before
   * it goes out first.
   */
  #gather (
    messages: () => ReturnType<SseReader['push']>, last?: () => E[]
  ): E[] {
    const events: E[] = []
    try {
      for (const message of messages()) {
        if (this.#reader.done) break
        events.push(...this.#reader.message(message))
      }
      if (last !== undefined && !this.#reader.done) events.push(...last())
    } catch (error) {
      if (events.length === 0) throw error
      this.#failure = error
    }
    return events
  }

  /** One JSON text where a stream was asked for: an error, or the whole answer. */
  async #readJson (first: Uint8Array): Promise<E[]> {
    const pieces = [first]
    let sizeBytes = first.length
    for (;;) {
      const { done, value } = await this.#bytes.next()
      if (done === true) break
      sizeBytes += value.length
      if (sizeBytes > this.#options.wholeBytes) throw new GatewayError('upstream_invalid_response')
      pieces.push(value)
    }
    this.#finished = true
    return this.#options.whole(Buffer.concat(pieces).toString())
  }

  /**
   * The answer is over but its body may not be: a moment more, and the connection can be used
   * again instead of being torn down.
   */
  #readRest (): void {
    const timer = setTimeout(this.#options.cancel, 1000).unref()
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
 * What stands first but for white space: decoding all of a first read to look at one character
 * would cost as much as reading its messages.
 */
function opening ({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const start = Buffer.from(buffer, byteOffset, Math.min(byteLength, 64)).toString().trimStart()
  return start === '' ? Buffer.from(buffer, byteOffset, byteLength).toString().trimStart() : start
}

/** Anything a caller could see; heads and empty deltas are not. */
function isReal (event: { readonly type: string, readonly text?: string }): boolean {
  return event.type !== 'response-start' && event.type !== 'extra' && event.text !== ''
}

function readMessages<E> (reader: StreamReader<E>, messages: ReturnType<SseReader['push']>): E[] {
  const events: E[] = []
  for (const message of messages) {
    if (reader.done) break
    events.push(...reader.message(message))
  }
  return events
}

/** Reads what was still open when the stream ended: a message that cannot be read was cut. */
function atEnd<E> (read: () => E[]): E[] {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'upstream_invalid_response') throw error
    throw new GatewayError('upstream_stream_interrupted', { cause: error })
  }
}

function looksLikeStream (text: string): boolean {
  return /^\ufeff?\s*(?:data|event|id|retry)?:/.test(text.slice(0, 200))
}

export function parseAnswer (text: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
}
