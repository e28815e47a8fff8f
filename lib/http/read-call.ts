/**
 * A request of `node:http` as a `Call`: plain values, one signal, and a body that is read when a
 * stage asks for it.
 */

import { setMaxListeners } from 'node:events'
import { createCallRecord } from '../core/record.ts'
import { GatewayError } from '../core/errors.ts'
import { requestId } from '../text/ids.ts'
import { LargeStringExtractor } from '../json/extract-large-strings.ts'
import { readForm, type OpenForm } from './read-form.ts'
import { readJson } from './read-json.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'
import type { Endpoint } from '../core/endpoint.ts'

export interface EdgeLimits {
  /** Deadline of a call. */
  readonly callMs: number
  /** Time for a body to arrive. */
  readonly bodyMs: number
  readonly jsonDepth: number
  /** Time for the last bytes of an answer to leave once its call was ended; default 5 s. */
  readonly graceMs?: number
}

/** A call, and what the edge needs to end it. */
export interface OpenCall {
  readonly call: Call
  /** Aborts everything that hangs on the call. */
  readonly abort: (reason: GatewayError) => void
  /** To be called once when the answer is written or given up. */
  readonly close: () => void
}

/** Opens a call. Its signal aborts when the connection closes before the answer is complete. */
export function readCall (
  request: IncomingMessage,
  response: ServerResponse,
  params: Readonly<Record<string, string>>,
  endpoint: Endpoint,
  limits: EdgeLimits
): OpenCall {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal) // everything the call does hangs on it
  const abort = (reason: GatewayError): void => {
    if (!controller.signal.aborted) controller.abort(reason)
  }
  const onClose = (): void => {
    if (!response.writableFinished) abort(new GatewayError('client_closed_request'))
  }
  response.once('close', onClose)
  // A broken connection is a caller who has gone; `close` follows.
  response.on('error', onClose)
  const { socket } = request
  // A response that waits behind another one of its connection is told nothing of the end of both.
  const onSocketClose = (): void => {
    response.destroy()
    response.emit('close')
  }
  if (response.socket === null) socket.setMaxListeners(0).once('close', onSocketClose)
  const deadline = setTimeout(() => abort(new GatewayError('timeout')), limits.callMs)
  let upload: OpenForm | undefined

  const waits = request.headers.expect !== undefined && endpoint.body !== 'none'
  // Who was refused while waiting to send a body may send it or not: nothing can follow it.
  if (waits) response.shouldKeepAlive = false

  const longStrings = endpoint.largeStringBytes === undefined ? undefined : new LargeStringExtractor(endpoint.largeStringBytes)
  const call: Call = {
    id: requestId(request.headers['x-request-id']),
    headers: request.headers,
    params,
    body: async () => {
      if (waits) response.writeContinue()
      const { maxBodyBytes: maxBytes } = endpoint
      const common = { maxBytes, timeoutMs: limits.bodyMs, signal: controller.signal }
      switch (endpoint.body) {
        case 'none': return undefined
        case 'json': return await readJson(request, {
          ...common, maxDepth: limits.jsonDepth, ...(longStrings !== undefined && { longStrings })
        })
        case 'multipart': return (upload = await readForm(request, common)).form
      }
    },
    ...(longStrings !== undefined && { largeStrings: longStrings.texts }),
    signal: controller.signal,
    receivedAtMs: performance.now(),
    record: createCallRecord(endpoint.name)
  }
  return {
    call,
    abort,
    close: () => {
      clearTimeout(deadline)
      response.off('close', onClose)
      socket.off('close', onSocketClose)
      // What cannot be deleted now goes with the process.
      upload?.remove().catch(() => undefined)
    }
  }
}
