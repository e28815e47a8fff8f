/**
 * Sends one request to one provider. Reads a complete response to its end, and a stream up to its first
 * visible output. Until then a failure can still lead to another attempt, or to a proper status.
 */

import { GatewayError } from '../core/errors.ts'
import { needsSlices } from '../core/request-size.ts'
import { cutName } from '../core/record.ts'
import { ProviderFailure, type Failure } from '../providers/provider-failure.ts'
import { rateLimitsIn } from '../providers/retry-after.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { openObject } from '../json/characters.ts'
import { readErrorAnswer } from '../providers/error-body.ts'
import { redirectFailure } from '../providers/redirect.ts'
import { StreamResponse } from './stream-response.ts'
import { AnswerMemory } from './answer-memory.ts'
import { beginBody, looksLikeText } from './begun-body.ts'
import { inCallerTerms } from './caller-terms.ts'
import { PieceResponse, bufferedResponse, type AnyEvent, type OpenResponse } from './open-response.ts'
import {
  looksLikeStream, parseResponseBytes, readCompleteStream, readOrRefuse, withoutComments
} from './parse-response.ts'
import type { SlowStreamPolicy } from './stream-pace.ts'
import type { Call, CallSignal, RoutedCall } from '../core/call.ts'
import type { ChildSpan, Propagation } from '../core/call-trace.ts'
import type { Route } from '../core/route.ts'
import type {
  Adapter,
  AdapterInput,
  BodyFormat,
  Provider,
  UpstreamBody,
  UpstreamFailure,
  UpstreamRequest,
  UpstreamResponse
} from '../providers/provider.ts'

/** The call that a request is sent for, and how it is sent. */
export interface SendContext {
  readonly call: Pick<RoutedCall<unknown>, 'id' | 'record' | 'key' | 'providerKey' | 'takeMemory'>
  /** Ends the request. */
  readonly signal: CallSignal
  /** The index of the gateway's credential, if the provider has several. */
  readonly credentialIndex?: number | undefined
  readonly span?: ChildSpan | undefined
  /** See `SendOptions`; called for each request of a call in parts. */
  readonly onSent?: (() => void) | undefined
}

export interface ResponseBounds {
  /** Maximum bytes of a complete response. */
  readonly answerBytes: number
  /** Maximum size of an event of a stream in UTF-16 code units, each of which takes at least one byte. */
  readonly eventBytes: number
  /** How long to wait for visible output before other events go out without it; default 10 s. */
  readonly holdMs?: number
}

/** Where a request is sent, and how its response is read. */
export interface UpstreamTarget<R, E> {
  readonly provider: Provider
  readonly adapter: Adapter<R, E>
  readonly bounds: ResponseBounds
  /** Decides about streams slower than their provider's `slow_stream` allows. Default: they continue. */
  readonly tryGiveUp?: SlowStreamPolicy['tryGiveUp'] | undefined
}

/**
 * A part of a call. Attempts share the adapter's input, but each prints the body again: keeping the body
 * would copy all text for as long as the call waits.
 */
export interface UpstreamPart<R, E = unknown> {
  readonly input: AdapterInput<R>
  /**
   * The events of its complete answer, for a call in several parts: further attempts do not send it again.
   */
  answer?: readonly E[] | undefined
}

/**
 * Sends the request, and reads a complete response to its end, or a stream up to its first visible output.
 *
 * @throws ProviderFailure when the provider reports an error
 * @throws GatewayError when the provider cannot be reached or its response cannot be read; with
 *   `acceptedByProvider` where the work was done and will be billed, and `mayBeBilled` where it took too long
 */
export function sendRequest<R, E extends AnyEvent> (
  { call, signal, credentialIndex, span, onSent }: SendContext,
  input: AdapterInput<R>,
  target: UpstreamTarget<R, E>
): Promise<OpenResponse<E>> {
  const { provider, adapter } = target
  // Not an `async` function, which would stay suspended, with the request in it, until the provider answers.
  const send = (request: UpstreamRequest): Promise<OpenResponse<E>> => {
    call.record.routing.requestCount++
    return provider.transport.send(request, {
      signal,
      credential: provider.authorize(call.providerKey?.reveal(), credentialIndex),
      timeouts: provider.timeouts,
      streamed: input.streamed,
      keyId: call.key.id,
      trace: contextHeaders(call, span, provider.propagate),
      onSent
    }).then(response => readResponse(response, call, input, target))
  }
  if (needsSlices(call.record.request)) {
    return yieldFairly()
      .then(() => adapter.request(input))
      .then(
        request => yieldFairly().then(() => send(request)),
        (error: unknown) => { throw inCallerTerms(error, input, adapter) }
      )
  }
  try {
    return send(adapter.request(input))
  } catch (error) {
    return Promise.reject(inCallerTerms(error, input, adapter))
  }
}

/**
 * Returns the headers that relate the provider's log to the gateway's. Each further request of a call gets
 * another id: vLLM refuses an id that is in use.
 */
function contextHeaders (
  { id, record: { routing: { requestCount } } }: SendContext['call'],
  span: ChildSpan | undefined,
  propagate: Propagation = 'none'
): Readonly<Record<string, string>> | undefined {
  if (propagate === 'none') return undefined
  return { 'x-request-id': requestCount === 1 ? id : `${id}-${requestCount}`, ...span?.headers(propagate) }
}

async function readResponse<R, E extends AnyEvent> (
  response: UpstreamResponse,
  call: SendContext['call'],
  input: AdapterInput<R>,
  target: UpstreamTarget<R, E>
): Promise<OpenResponse<E>> {
  const { adapter } = target
  const { record } = call
  const { status, headers } = response
  const id = headers['x-request-id'] ?? headers['request-id']
  const upstreamRequestId = typeof id === 'string' ? cutName(id) : undefined
  record.routing.upstreamRequestId = upstreamRequestId

  // The caller's own key has other limits than the gateway's.
  if (call.providerKey !== undefined && input.direct !== undefined) {
    record.routing.upstreamLimits = headersStarting('anthropic-ratelimit-', headers)
  }

  if (status < 200 || status > 299) {
    throw inCallerTerms(await failureOf(response, input, adapter), input, adapter)
  }
  try {
    const opened = await openBody(response.body, adapter.read(response, input), input.route, call, target)
    // Another request may have received its head in the meantime.
    record.routing.upstreamRequestId = upstreamRequestId
    return opened
  } catch (error) {
    response.body.cancel()
    if (isTimeout(error)) throw error.with({ mayBeBilled: true })
    if (isAccepted(error, input.streamed)) throw error.with({ acceptedByProvider: true })
    throw inCallerTerms(error, input, adapter)
  }
}

/**
 * Reads a complete body to its end, a stream up to its first visible output, and bytes in pieces up to the
 * first.
 *
 * @throws ProviderFailure for an error in the body; GatewayError for a body that cannot be read
 */
async function openBody<E extends AnyEvent> (
  body: UpstreamBody,
  format: BodyFormat<E>,
  route: Route,
  call: Pick<Call, 'record' | 'takeMemory'>,
  target: Omit<UpstreamTarget<never, E>, 'adapter'>
): Promise<OpenResponse<E>> {
  const { record, takeMemory } = call
  const { provider, bounds, tryGiveUp } = target
  const { answerBytes, eventBytes, holdMs = 10_000 } = bounds
  const memory = new AnswerMemory(takeMemory)
  switch (format.as) {
    case 'json': {
      let bytes = await body.buffer(answerBytes, memory.hold)
      if (bytes[0] !== openObject) {
        bytes = withoutComments(bytes)
        if (format.sse !== undefined && looksLikeStream(bytes)) {
          const maxBytes = Math.max(eventBytes, answerBytes)
          return bufferedResponse(route, await readCompleteStream(bytes, format.sse(), maxBytes))
        }
      }
      record.routing.answerBytes = bytes.length
      const value = await parseResponseBytes(bytes)
      return bufferedResponse(route, readOrRefuse(() => format.read(value, bytes)))
    }
    case 'text': {
      const bytes = await body.buffer(answerBytes, memory.hold)
      return bufferedResponse(route, readOrRefuse(() => format.read(bytes.toString()), bytes))
    }
    case 'bytes': {
      const bytes = await body.buffer(answerBytes, memory.hold)
      return bufferedResponse(route, readOrRefuse(() => format.read(bytes), bytes))
    }
    case 'pieces': {
      const { text, read } = format
      const begun = await beginBody(body)
      if (text !== undefined && looksLikeText(begun.start)) {
        return await openBody(begun.body, text, route, call, target)
      }
      const response = new PieceResponse(route, begun.body, read)
      await response.begin()
      return response
    }
    case 'events': {
      const { slowStream, timeouts: { idleEventsMs } } = provider
      const slow = slowStream && tryGiveUp && { ...slowStream, tryGiveUp }
      const response = new StreamResponse(body, format, {
        route, jsonBytes: answerBytes, eventBytes, memory, idleEventsMs, slow
      })
      await response.untilVisible(holdMs)
      return response
    }
  }
}

/** Reads the failure in a response, with its adapter. */
async function failureOf<R> (
  response: UpstreamResponse,
  input: AdapterInput<R>,
  adapter: Pick<Adapter<R, unknown>, 'error'>
): Promise<ProviderFailure> {
  const { status, headers } = response
  const redirect = redirectFailure(response)
  if (redirect !== undefined) {
    response.body.cancel()
    return new ProviderFailure(redirect, status)
  }
  const read = (said: Pick<UpstreamFailure, 'body' | 'text'>): Failure =>
    adapter.error({ status, headers, ...said }, input)
  const answer = await readErrorAnswer(response)
  let failure: Failure
  try {
    failure = read(answer)
  } catch (error) {
    // Without a body that the adapter can read, only the status counts. The log gets the adapter's error.
    failure = read({ body: '' })
    failure = { ...failure, cause: { ...failure.cause, adapter: String(error) } }
  }
  return new ProviderFailure({ ...failure, rateLimits: rateLimitsIn(headers) }, status)
}

/**
 * Returns whether a request was cancelled because it took too long: its provider may complete the work
 * nevertheless.
 */
function isTimeout (error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.code === 'upstream_timeout'
}

/**
 * Returns whether the work of a failed request was done nevertheless, or continues. A stream that broke
 * before any output has cost next to nothing; a complete response is finished when its head arrives.
 * `overloaded` comes from this gateway, which has no memory for the response.
 */
function isAccepted (error: unknown, streamed: boolean): error is GatewayError {
  if (!(error instanceof GatewayError)) return false
  return error.acceptedByProvider ?? (
    error.code === 'overloaded' ||
    error.code === 'upstream_invalid_response' ||
    error.code === 'upstream_too_slow' ||
    (!streamed && error.code === 'upstream_stream_interrupted')
  )
}

function headersStarting (prefix: string, headers: UpstreamResponse['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(prefix) && typeof value === 'string' ? [[name, value]] : []))
}
