/**
 * Begins a `Call` for a request of Koa: plain values, one signal, and a body that is read when a stage asks
 * for it.
 */

import { CallRecord } from '../core/record.ts'
import { isLargeRequest } from '../core/request-size.ts'
import { GatewayError } from '../core/errors.ts'
import { requestId } from '../text/ids.ts'
import { MediaStrings } from '../json/media-strings.ts'
import { ParsedText } from '../json/parsed-text.ts'
import { closeWaitingResponse, isPipelined } from './node-internals.ts'
import { readForm, type OpenForm } from './read-form.ts'
import { readJson } from './read-json.ts'
import { requestBody } from './request-body.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'koa'
import { CallCancellation } from '../async/cancellation.ts'
import type { Call } from '../core/call.ts'
import type { CallTrace } from '../core/call-trace.ts'
import type { UploadForm } from '../core/upload.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Admission, CallResources } from './admission.ts'

export interface RequestBounds {
  /** Time limit for a body to arrive. */
  readonly bodyMs: number
  readonly jsonDepth: number
  /** Maximum bytes of a JSON body, not counting strings of 64 KiB and more. */
  readonly jsonBodyBytes: number
  /** Maximum bytes of a JSON body that the store may keep. */
  readonly storedBodyBytes: number
  /** Maximum values of a JSON body; property names, strings, objects and lists count as eight. */
  readonly jsonValues: number
  /** Maximum bytes of a decompressed JSON body for each byte received. */
  readonly jsonCompression: number
  readonly formFields: number
  readonly formFiles: number
  /** Time limit for the last bytes of a reply after its call was ended; default 5 s. */
  readonly graceMs?: number
}

/** A call, and what the edge needs to end it. */
export interface BegunCall {
  readonly call: Call
  /** Aborts everything that depends on the call. */
  readonly abort: (reason: GatewayError) => void
  /** Returns the resources that the call holds; `undefined` while it holds none. */
  readonly admitted: () => CallResources | undefined
  /**
   * Must be called once, when the reply is written or cut off.
   *
   * @param onUploadDeleteFailed called with the error when uploaded files could not be deleted: they are
   *   deleted when the process ends
   */
  readonly close: (onUploadDeleteFailed?: (error: unknown) => void) => void
}

/**
 * Maximum bytes of a string that is not media: millions of tokens. A longer one would block the event loop
 * for too long.
 */
const maxStringBytes = 16 * 1024 * 1024

type ReadFields =
  | 'name' | 'body' | 'maxBodyBytes' | 'largeField' | 'keepsMedia' | 'keepsBodiesFromBytes'
  | 'readsConnection'

/** A call to no endpoint: it gets an id and a line in the log, and is refused. */
const noEndpoint: Pick<Endpoint, ReadFields> & Partial<Pick<Endpoint, 'path'>> = {
  name: 'none',
  body: 'none',
  maxBodyBytes: 0
}

export interface BeginOptions extends Pick<Call, 'params' | 'journalAnswer' | 'shortenDeadline'> {
  /** Absent if no endpoint matches. */
  readonly endpoint: Endpoint | undefined
  readonly bounds: RequestBounds
  /** Grants a slot and memory when the body is first requested; `close` releases them. */
  readonly admission: Admission
  /** Begins the trace of a call from its request headers. Default: it has none. */
  readonly beginTrace?: ((headers: Call['headers']) => CallTrace) | undefined
}

/** Begins a call. Its signal aborts when the connection closes before the reply is complete. */
export function beginCall (
  context: Context,
  { params, endpoint, bounds, admission, beginTrace, journalAnswer, shortenDeadline }: BeginOptions
): BegunCall {
  const { req: request, res: response } = context
  const { name, path, readsConnection = false } = endpoint ?? noEndpoint
  const { socket } = request
  const signal = new CallCancellation()
  const abort = (reason: GatewayError): void => signal.abort(reason)
  const unwatch = onLeave(response, socket, () => abort(new GatewayError('client_closed_request')))
  const record = new CallRecord(name)
  record.request.method = request.method
  record.request.path = path
  record.request.target = request.url
  record.request.usesTls = 'encrypted' in socket
  record.request.remoteAddress = socket.remoteAddress
  record.trace = beginTrace?.(request.headers)
  const body = new CallBody({ context, endpoint: endpoint ?? noEndpoint, bounds, admission, signal, record })
  const call: Call = {
    id: requestId(request.headers['x-request-id']),
    headers: request.headers,
    query: queryOf(request),
    params,
    body: body.read,
    takeMemory: bytes => body.admit().memory.take(bytes),
    keepMemory: () => body.admit().memory.keep(),
    shortenDeadline,
    journalAnswer,
    signal,
    receivedAtMs: performance.now(),
    record,
    callerBody: () => body.callerBody,
    media: () => body.media,
    connection: readsConnection
      ? { address: socket.remoteAddress, encrypted: record.request.usesTls }
      : undefined
  }
  return {
    call,
    abort,
    admitted: () => body.admitted,
    close: onUploadDeleteFailed => {
      unwatch()
      body.close(onUploadDeleteFailed)
    }
  }
}

/**
 * Calls back if the connection closes before the reply is complete.
 *
 * @returns a function that stops listening
 */
function onLeave (response: ServerResponse, socket: Socket, left: () => void): () => void {
  const onClose = (): void => {
    if (!response.writableFinished) left()
  }
  response.on('close', onClose)
  // A broken connection means that the caller left; `close` follows. Keep the listener: an unhandled 'error'
  // would crash the process.
  response.on('error', onClose)
  const onSocketClose = (): void => closeWaitingResponse(response)
  const isBehindAnother = isPipelined(response)
  if (isBehindAnother) socket.setMaxListeners(0).once('close', onSocketClose)
  return () => {
    response.off('close', onClose)
    if (isBehindAnother) socket.off('close', onSocketClose)
  }
}

interface CallBodyDeps {
  readonly context: Context
  readonly endpoint: typeof noEndpoint
  readonly bounds: RequestBounds
  readonly admission: Admission
  readonly signal: CallCancellation
  readonly record: CallRecord
}

/** The body of a call, with the memory of the process that it holds. */
class CallBody {
  /** Absent while the call holds nothing. */
  admitted: CallResources | undefined
  media: MediaStrings | undefined
  callerBody: ParsedText | undefined
  #upload: OpenForm | undefined
  readonly #deps: CallBodyDeps
  readonly #expectsContinue: boolean

  constructor (deps: CallBodyDeps) {
    const { context: { req, res } } = deps
    this.#deps = deps
    // HTTP/1.0 has no `100 Continue`: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
    this.#expectsContinue = req.headers.expect !== undefined && req.httpVersion !== '1.0'
    // A caller who gets a reply while waiting to send a body may or may not send it: no request can follow.
    if (this.#expectsContinue) res.setHeader('connection', 'close')
  }

  admit (): CallResources {
    return this.admitted ??= this.#deps.admission.enter(this.#deps.record.caller.keyId ?? '')
  }

  readonly read = async (): Promise<unknown> => {
    const { context, endpoint: { body } } = this.#deps
    if (body === 'none') return undefined
    const admitted = this.admit()
    if (this.#expectsContinue) context.res.writeContinue()
    return body === 'multipart' ? await this.#readForm(admitted) : await this.#readJson(admitted)
  }

  /** Releases the memory of the body after its files have been deleted. */
  close (onUploadDeleteFailed?: (error: unknown) => void): void {
    if (this.#upload === undefined) this.admitted?.close()
    else
      void this.#upload
        .remove()
        .catch((error: unknown) => onUploadDeleteFailed?.(error))
        .finally(() => this.admitted?.close())
  }

  async #readForm ({ memory, disk }: CallResources): Promise<UploadForm> {
    const { context, endpoint, bounds, signal, record } = this.#deps
    const { form } = this.#upload = await readForm(context, {
      maxBytes: endpoint.maxBodyBytes,
      maxFields: bounds.formFields,
      maxFiles: bounds.formFiles,
      timeoutMs: bounds.bodyMs,
      signal,
      memory,
      disk
    })
    record.bodies?.takeForm(form)
    return form
  }

  async #readJson ({ memory }: CallResources): Promise<unknown> {
    const { context, endpoint, bounds, signal, record } = this.#deps
    const { maxBodyBytes, largeField, keepsMedia = false, keepsBodiesFromBytes = Infinity } = endpoint
    let callerBodyOf: ((value: unknown) => ParsedText | undefined) | undefined
    const value = await readJson(requestBody(context), {
      maxBytes: maxBodyBytes,
      maxTextBytes: Math.min(bounds.jsonBodyBytes, maxBodyBytes),
      maxStringBytes: Math.max(maxStringBytes, bounds.storedBodyBytes),
      maxValues: bounds.jsonValues,
      maxDepth: bounds.jsonDepth,
      maxCompression: bounds.jsonCompression,
      timeoutMs: bounds.bodyMs,
      signal,
      memory,
      record,
      onRead: (pieces, text) => {
        if (record.request.bodyBytes >= keepsBodiesFromBytes && !isLargeRequest(record.request)) {
          callerBodyOf = value => ParsedText.of(value, pieces, text)
        }
      },
      mediaOf: keepsMedia ? bytes => {
        // Bodies that the store may keep stay text.
        if (bytes > bounds.storedBodyBytes) this.media = new MediaStrings()
        return this.media
      } : undefined,
      largeField
    })
    this.callerBody = callerBodyOf?.(value)
    return value
  }
}

function queryOf ({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}
