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
  if (/^[{[]/.test(start)) return jsonAnswer(response, await textOf(rest), options, request)
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
  const text = await textOf(response.body)
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

/**
 * Repairs the messages of a stream. If it ends or fails without its answers and cannot be resumed, errors are
 * sent as the answers; also if it is not an event stream, or the server sends too many requests.
 */
function repairedStream (
  source: ReadableStream<Uint8Array> | null,
  options: TolerantAnswerOptions
): ReadableStream<Uint8Array> {
  const { request } = options
  const encoder = new TextEncoder()
  const reader = source?.getReader()
  let frames = ''
  const hasNone = (): boolean => frames === ''
  let isAnswered = false
  let isResumable = false
  const owed = (): readonly SentRequest[] => {
    if (request === undefined) return options.owed?.() ?? []
    return isAnswered || isResumable ? [] : [request]
  }
  // A failed stream cannot be cancelled; its error is irrelevant.
  const leave = async (): Promise<void> => await reader?.cancel().catch(() => undefined)
  let lingering: NodeJS.Timeout | undefined
  let requestsLeft = request === undefined ? maxServerRequests.onItsOwn : maxServerRequests.besideAnswer
  const messages = sseDecoder(Infinity, ms => { // the answer size is already limited
    frames += `retry: ${ms}\n`
  })
  const read = (message: EventSourceMessage): void => {
    const data = repairedData(message, options)
    requestsLeft -= data.filter(isServerRequest).length
    if (requestsLeft < 0) throw new Error('the server sends requests without end')
    if (message.id !== undefined) isResumable = true
    if (request !== undefined && data.some(message => answers(message, request))) {
      isAnswered = true
      lingering ??= setTimeout(() => void leave(), lingerMs).unref()
    }
    // The older transport sends its address in a separate event. Of other events without a message, only the
    // id is kept.
    const isOther = message.event !== undefined && message.event !== 'message'
    if (data.length === 0) frames += frameOf(message, isOther ? message.data : '')
    for (const one of data) frames += frameOf(message, JSON.stringify(one))
  }
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, code = noAnswerCode): void => {
    clearTimeout(lingering)
    for (const one of owed()) {
      frames += frameOf({ data: '' }, JSON.stringify(noAnswer(one, code)))
      options.onAnswer(one)
    }
    if (frames !== '') controller.enqueue(encoder.encode(frames))
    controller.close()
  }
  const fail = (error: unknown): never => {
    clearTimeout(lingering)
    throw error
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull (controller) {
        while (hasNone()) {
          let piece: { readonly done: boolean, readonly value?: Uint8Array | undefined } | undefined
          try {
            piece = await reader?.read()
          } catch (error) {
            const hasMemory = property(error, 'code') !== noMemoryCode
            if (!hasMemory) isResumable = false
            if (owed().length === 0) return fail(error)
            return end(controller, hasMemory ? noAnswerCode : noMemoryCode)
          }
          try {
            const { done = true, value = nothing } = piece ?? {}
            for (const message of done ? messages.end() : messages.push(value)) read(message)
            if (done) return end(controller)
          } catch (error) {
            await leave()
            isResumable = false
            if (owed().length === 0 && hasNone()) return fail(error)
            return end(controller) // earlier frames may hold the answer
          }
        }
        controller.enqueue(encoder.encode(frames))
        frames = ''
      },
      cancel: async reason => {
        clearTimeout(lingering)
        await reader?.cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
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

async function textOf (body: ReadableStream<Uint8Array> | null): Promise<string> {
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
