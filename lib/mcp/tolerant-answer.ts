/**
 * Makes HTTP answers of tool servers conform to the protocol before the client library reads them: the
 * content type matches the body, messages are repaired, and every request gets an answer.
 */

import type { EventSourceMessage } from 'eventsource-parser'
import { isList, isObject, property } from '../json/type-guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { loadUndici } from '../net/load-undici.ts'
import { sseDecoder } from '../wire/sse-decoder.ts'
import {
  answers, isAnswer, noAnswer, noAnswerCode, noMemoryCode, repairMessage, type Listing, type SentRequest
} from './repair-message.ts'

export interface TolerantAnswerOptions {
  /** The request that this response must answer. Absent: answers arrive on a separate stream. */
  readonly request?: SentRequest | undefined
  /** Finds a pending request by the id of a message. */
  readonly requestOf: (id: unknown) => SentRequest | undefined
  /** Returns the requests to be answered by a separate stream before it ends. Default: none. */
  readonly owed?: () => readonly SentRequest[]
  /** Called when a request is answered. */
  readonly onAnswer: (request: SentRequest) => void
  readonly listing: Listing
}

const nothing = new Uint8Array()
const encoder = new TextEncoder()
const jsonType = 'application/json'
const streamType = 'text/event-stream'

/** Statuses that the client library acts on: about credentials, addresses and sessions. */
const ownMeaning = new Set([401, 403, 404, 405])

/** Returns an answer that the client library can read, or the same one if it cannot be repaired. */
export async function tolerantAnswer (response: Response, options: TolerantAnswerOptions): Promise<Response> {
  const { request } = options
  if (request === undefined) {
    return isStream(response) && response.ok
      ? withBody(response, streamType, repairedStream(response.body, options))
      : response
  }
  if (!response.ok) {
    return ownMeaning.has(response.status) ? response : await refusal(response, request, options)
  }
  const [start, rest] = await opening(response.body)
  if (/^[{[]/.test(start)) return jsonAnswer(response, await readText(rest), options, request)
  if (isStream(response) || /^(?:event|data|id|retry)?:/.test(start)) {
    return withBody(response, streamType, repairedStream(rest, options))
  }
  return start === ''
    ? jsonAnswer(response, '{}', options, request)
    : withBody(response, response.headers.get('content-type'), rest)
}

/** Returns true for an event stream. */
export function isStream ({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith(streamType) === true
}

/** Reads an error response. If its body is a JSON-RPC error, that is the answer, whatever the status. */
async function refusal (
  response: Response,
  request: SentRequest,
  options: TolerantAnswerOptions
): Promise<Response> {
  const text = await readText(response.body)
  const message = repairedJson(text, options)
  return isObject(message) && 'error' in message && request.method.startsWith('tools/')
    ? withBody(response, jsonType, JSON.stringify(message), 200)
    : withBody(response, response.headers.get('content-type'), text)
}

function jsonAnswer (
  response: Response,
  text: string,
  options: TolerantAnswerOptions,
  request: SentRequest
): Response {
  const message = repairedJson(text, options)
  if (message === undefined) return withBody(response, response.headers.get('content-type'), text)
  const messages = isList(message) ? message : [message]
  const complete = messages.some(message => answers(message, request))
    ? messages
    : [...messages.filter(isNotification), noAnswer(request)]
  return withBody(response, jsonType, JSON.stringify(complete.length === 1 ? complete[0] : complete), 200)
}

/**
 * Repairs one message or a list; `undefined` for invalid JSON. Answers to requests that are not pending are
 * dropped: the client library could otherwise process a second answer to a request.
 */
function repairedJson (
  text: string,
  { request, requestOf, onAnswer, listing }: TolerantAnswerOptions
): unknown {
  let value: unknown
  try {
    value = parseBounded(text)
  } catch {
    return undefined
  }
  const repaired = (message: unknown): readonly unknown[] => {
    const about = (isObject(message) ? requestOf(message['id']) : undefined) ?? request
    const result = repairMessage(message, about, listing)
    if (!isAnswer(result)) return [result]
    if (about === undefined || !answers(result, about)) return []
    onAnswer(about)
    return [result]
  }
  if (isList(value)) return value.flatMap(repaired)
  const messages = repaired(value)
  return messages.length === 1 ? messages[0] : messages
}

function isServerRequest (message: unknown): boolean {
  return isObject(message) && 'method' in message && message['id'] !== undefined
}

function isNotification (message: unknown): boolean {
  return isObject(message) && 'method' in message
}

/**
 * Maximum requests from a server per stream, because we answer each with an HTTP request. An answer's stream
 * needs few; a notification stream may stay open for days.
 */
const maxServerRequests = { besideAnswer: 1000, onItsOwn: 10_000 }

/** Milliseconds for a server to end a stream after its answer; nothing more is awaited. */
const lingerMs = 1000

function repairedStream (
  source: ReadableStream<Uint8Array> | null,
  options: TolerantAnswerOptions
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new RepairedSource(source, options), { highWaterMark: 0 })
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/**
 * Repairs the messages of a stream. If it ends or fails without its answers and cannot be resumed, errors are
 * sent as the answers; also if it is not an event stream, or the server sends too many requests.
 */
class RepairedSource {
  readonly #options: TolerantAnswerOptions
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  readonly #messages = sseDecoder(Infinity, ms => { // the answer size is already limited
    this.#frames += `retry: ${ms}\n`
  })
  /** Repaired frames that have not been passed on. */
  #frames = ''
  #isAnswered = false
  #isResumable = false
  #requestsLeft: number
  #lingering: NodeJS.Timeout | undefined

  constructor (source: ReadableStream<Uint8Array> | null, options: TolerantAnswerOptions) {
    this.#options = options
    this.#reader = source?.getReader()
    this.#requestsLeft =
      options.request === undefined ? maxServerRequests.onItsOwn : maxServerRequests.besideAnswer
  }

  async pull (controller: Controller): Promise<void> {
    while (this.#frames === '') {
      let piece: { readonly done: boolean, readonly value?: Uint8Array | undefined } | undefined
      try {
        piece = await this.#reader?.read()
      } catch (error) {
        const hasMemory = property(error, 'code') !== noMemoryCode
        if (!hasMemory) this.#isResumable = false
        if (this.#owed().length === 0) return this.#fail(error)
        return this.#end(controller, hasMemory ? noAnswerCode : noMemoryCode)
      }
      try {
        const { done = true, value = nothing } = piece ?? {}
        for (const message of done ? this.#messages.end() : this.#messages.push(value)) this.#read(message)
        if (done) return this.#end(controller)
      } catch (error) {
        await this.#leave()
        this.#isResumable = false
        if (this.#owed().length === 0 && this.#frames === '') return this.#fail(error)
        return this.#end(controller) // earlier frames may hold the answer
      }
    }
    controller.enqueue(encoder.encode(this.#frames))
    this.#frames = ''
  }

  async cancel (reason: unknown): Promise<void> {
    clearTimeout(this.#lingering)
    await this.#reader?.cancel(reason)
  }

  #read (message: EventSourceMessage): void {
    const { request } = this.#options
    const data = repairedData(message, this.#options)
    this.#requestsLeft -= data.filter(isServerRequest).length
    if (this.#requestsLeft < 0) throw new Error('the server sends requests without end')
    if (message.id !== undefined) this.#isResumable = true
    if (request !== undefined && data.some(message => answers(message, request))) {
      this.#isAnswered = true
      this.#lingering ??= setTimeout(() => void this.#leave(), lingerMs).unref()
    }
    // The older transport sends its address in a separate event. Of other events without a message, only the
    // id is kept.
    const isOther = message.event !== undefined && message.event !== 'message'
    if (data.length === 0) this.#frames += frameOf(message, isOther ? message.data : '')
    for (const one of data) this.#frames += frameOf(message, JSON.stringify(one))
  }

  /** Returns the requests that the stream must still answer. */
  #owed (): readonly SentRequest[] {
    const { request, owed } = this.#options
    if (request === undefined) return owed?.() ?? []
    return this.#isAnswered || this.#isResumable ? [] : [request]
  }

  #end (controller: Controller, code = noAnswerCode): void {
    clearTimeout(this.#lingering)
    for (const one of this.#owed()) {
      this.#frames += frameOf({ data: '' }, JSON.stringify(noAnswer(one, code)))
      this.#options.onAnswer(one)
    }
    if (this.#frames !== '') controller.enqueue(encoder.encode(this.#frames))
    controller.close()
  }

  #fail (error: unknown): never {
    clearTimeout(this.#lingering)
    throw error
  }

  async #leave (): Promise<void> {
    await this.#reader?.cancel().catch(() => undefined) // a failed stream: its error is irrelevant
  }
}

/** Returns the messages of an event: one, several for a list, none if its data is no message. */
function repairedData ({ data }: EventSourceMessage, options: TolerantAnswerOptions): readonly unknown[] {
  if (!/^\s*[{[]/.test(data)) return []
  const message = repairedJson(data, options)
  return isList(message) ? message : message === undefined ? [] : [message]
}

function frameOf ({ event, id }: EventSourceMessage, data: string): string {
  const lines = data
    .split('\n')
    .map(line => `data: ${line}\n`)
    .join('')
  return `${event === undefined ? '' : `event: ${event}\n`}${id === undefined ? '' : `id: ${id}\n`}${lines}\n`
}

/** Returns the start of a body, enough to detect its format, and a stream of the whole body. */
async function opening (
  source: ReadableStream<Uint8Array> | null
): Promise<[string, ReadableStream<Uint8Array> | null]> {
  if (source === null) return ['', null]
  const reader = source.getReader()
  const pieces: Uint8Array[] = []
  let start = ''
  let ended = false
  while (start.length < 6 && !ended) {
    const { done, value } = await reader.read()
    ended = done
    if (value !== undefined) {
      pieces.push(value)
      // Leading white space is dropped, so that a body of blanks is not scanned again with each read.
      start = (start + Buffer.from(value).toString('latin1', 0, 4096))
        .replace(/^(?:\s|\u00ef\u00bb\u00bf)+/, '')
        .slice(0, 64)
    }
    if (/^[{[:]/.test(start)) break
  }
  return [
    start,
    new ReadableStream<Uint8Array>(
      {
        async pull (controller) {
          const piece = pieces.shift()
          if (piece !== undefined) {
            controller.enqueue(piece)
            return
          }
          const { value } = ended ? { value: undefined } : await reader.read()
          if (value === undefined) controller.close()
          else controller.enqueue(value)
        },
        cancel: async reason => await reader.cancel(reason)
      },
      { highWaterMark: 0 }
    )
  ]
}

async function readText (body: ReadableStream<Uint8Array> | null): Promise<string> {
  const { Response } = loadUndici()
  return await new Response(body).text()
}

function withBody (
  response: Response,
  type: string | null,
  body: ReadableStream<Uint8Array> | string | null,
  status = response.status
): Response {
  const { Headers, Response } = loadUndici()
  const headers = new Headers([...response.headers])
  headers.delete('content-length')
  if (type !== null) headers.set('content-type', type)
  const answer = new Response(body, { status, headers })
  Object.defineProperty(answer, 'url', { value: response.url })
  return answer
}
