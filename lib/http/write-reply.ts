/**
 * The only writer of answers.
 */

import { once } from 'node:events'
import { explainRoute } from '../routing/explain-route.ts'
import type { ServerResponse } from 'node:http'
import type { Call } from '../core/call.ts'
import type { Reply } from '../core/reply.ts'

/**
 * Writes a reply. A whole body goes out with its length; an iterable with back-pressure, one
 * write per item. An iterable that throws, or a caller who has gone, ends in a destroyed socket:
 * a cut answer never looks like a complete one.
 *
 * @param graceMs how long the last bytes may take to leave once the call's signal has aborted
 * @throws TypeError for headers that cannot be sent, before anything is; the body is returned then
 */
export async function writeReply (response: ServerResponse, reply: Reply, call: Call, graceMs = 5000): Promise<void> {
  const { body } = reply
  const { record, receivedAtMs } = call
  record.status = reply.status
  record.overheadMs = performance.now() - receivedAtMs - record.upstreamWaitMs
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.writeHead(reply.status, headersOf(reply, call, { 'content-length': String(Buffer.byteLength(body)) }))
    // In one piece with the head: `end` adds an empty one, and a `writev` costs 2 µs more than a `write`.
    response.write(body)
    response.socket?.uncork()
    response.end()
    record.firstByteMs ??= performance.now() - receivedAtMs
    await written(response, call.signal, graceMs)
    return
  }
  try {
    response.writeHead(reply.status, headersOf(reply, call))
  } catch (error) {
    await body[Symbol.asyncIterator]().return?.()
    throw error
  }
  await writeStream(response, body, reply, call)
  await written(response, call.signal, graceMs)
}

/** Every answer says which call it was, and what the gateway itself took of the time. */
function headersOf (reply: Reply, { id, record }: Call, more?: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': id,
    'x-headgate-overhead-ms': (record.overheadMs ?? 0).toFixed(2)
  }
  if (record.modelId !== undefined) headers['x-headgate-model'] = printable(record.modelId)
  if (record.attempts > 0) headers['x-headgate-attempts'] = String(record.attempts)
  const route = explainRoute(record)
  if (route !== undefined) headers['x-headgate-route'] = route
  if (record.upstreamRequestId !== undefined) headers['x-upstream-request-id'] = printable(record.upstreamRequestId)
  return Object.assign(headers, reply.headers, record.limitHeaders, more)
}

/** A header value cannot hold everything that a model name can. */
function printable (text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256)
}

async function writeStream (
  response: ServerResponse, body: AsyncIterable<string | Uint8Array>, { keepAlive }: Reply, call: Call
): Promise<void> {
  const timer = keepAlive === undefined
    ? undefined
    : setInterval(() => { if (!response.writableNeedDrain) writePiece(response, keepAlive.text) }, keepAlive.everyMs)
  // A head that has nothing to wait for goes out with the first piece, in one packet.
  const head = setImmediate(() => { response.flushHeaders() })
  try {
    for await (const piece of body) {
      clearImmediate(head)
      if (response.destroyed) break
      const room = writePiece(response, piece)
      call.record.firstByteMs ??= performance.now() - call.receivedAtMs
      timer?.refresh()
      if (!room) await drained(response, call.signal)
    }
    if (!response.destroyed) response.end()
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    clearImmediate(head)
    clearInterval(timer)
  }
}

/**
 * One write to the socket for a piece of text: `node:http` would make four of it, one each for the
 * size, the text and the line ends of an HTTP chunk, and look for text beyond ASCII twice.
 *
 * @returns whether there is room for more
 */
function writePiece (response: ServerResponse, piece: string | Uint8Array): boolean {
  if (typeof piece !== 'string' || piece === '' || !response.chunkedEncoding) return response.write(piece)
  const sizeBytes = Buffer.byteLength(piece)
  response.chunkedEncoding = false // this chunk is one already
  try {
    return response.write(`${sizeBytes.toString(16)}\r\n${piece}\r\n`, sizeBytes === piece.length ? 'latin1' : 'utf8')
  } finally {
    response.chunkedEncoding = true
  }
}

/**
 * Resolves when the last byte has left or the connection is gone: until then the call is under
 * way, so that it counts, has its deadline and is waited for. After a deadline, a caller who does
 * not read its last words does not keep the socket.
 */
async function written (response: ServerResponse, signal: AbortSignal, graceMs: number): Promise<void> {
  if (response.destroyed) return
  // The system has taken every byte: the end follows, whatever the signal does.
  if (response.writableLength === 0) return await new Promise(resolve => { response.once('close', resolve) })
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => { timer = setTimeout(() => response.destroy(), graceMs) }
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  await new Promise<void>(resolve => { response.once('close', resolve) })
  clearTimeout(timer)
  signal.removeEventListener('abort', giveUp)
}

/** Resolves when there is room again, or when there is nobody left to write for. */
async function drained (response: ServerResponse, signal: AbortSignal): Promise<void> {
  try {
    await once(response, 'drain', { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
