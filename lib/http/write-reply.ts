/** The only writer of replies. */

import { explainRoute } from '../routing/explain-route.ts'
import { endInOneWrite, endWithChunk, releaseHead, writeChunk, writeHead } from './node-internals.ts'
import type { ServerResponse } from 'node:http'
import { pulling, type PullResult, type PullSource } from '../core/flow.ts'
import type { CallSignal } from '../core/call-signal.ts'
import type { Call, RecordAnswer } from '../core/call.ts'
import type { Reply } from '../core/reply.ts'

/**
 * Writes a reply. A complete body is sent with its length; an iterable with back-pressure, one
 * write per item. When the iterable throws or the caller leaves, the socket is destroyed: a truncated
 * answer never looks like a complete one.
 *
 * @param graceMs how long the last bytes may take to leave once the call's signal has aborted
 * @throws TypeError for headers that cannot be sent, before anything is; `return()` of the body is called then
 */
export function writeReply (response: ServerResponse, reply: Reply, call: Call, graceMs = 5000, beforeLastByte?: RecordAnswer): Promise<void> {
  const { body } = reply
  const { record, receivedAtMs } = call
  record.status = reply.status
  record.overheadMs = performance.now() - receivedAtMs - record.upstreamWaitMs
  return typeof body === 'string' || body instanceof Uint8Array
    ? writeComplete(response, body, reply, call, graceMs, beforeLastByte)
    : writeStream(response, body, reply, call, graceMs, beforeLastByte)
}

async function writeComplete (
  response: ServerResponse, body: string | Uint8Array, reply: Reply, call: Call, graceMs: number, beforeLastByte?: RecordAnswer
): Promise<void> {
  const sizeBytes = Buffer.byteLength(body)
  writeHead(response, reply.status, headersOf(reply, call), sizeBytes)
  call.record.firstByteMs ??= performance.now() - call.receivedAtMs
  const recorded = beforeLastByte?.(call)
  if (recorded !== undefined) await recorded
  if (response.destroyed) return
  endInOneWrite(response, body, sizeBytes)
  await written(response, call.signal, graceMs)
}

/** Returns the headers of an answer, with the id of the call and the time that the gateway itself took. */
function headersOf (reply: Reply, { id, record }: Call): Record<string, string> {
  const headers: Record<string, string> = {
    'x-request-id': id,
    'x-headgate-overhead-ms': (record.overheadMs ?? 0).toFixed(2)
  }
  if (record.modelId !== undefined) headers['x-headgate-model'] = printable(record.modelId)
  if (record.attempts > 0) headers['x-headgate-attempts'] = String(record.attempts)
  const route = explainRoute(record)
  if (route !== undefined) headers['x-headgate-route'] = route
  if (record.upstreamRequestId !== undefined) headers['x-upstream-request-id'] = printable(record.upstreamRequestId)
  return Object.assign(headers, reply.headers, record.limitHeaders)
}

/** Replaces what a header value cannot hold: a model name may have any character. */
function printable (text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256)
}

async function writeStream (
  response: ServerResponse, body: AsyncIterable<string | Uint8Array>, reply: Reply, call: Call, graceMs: number, beforeLastByte?: RecordAnswer
): Promise<void> {
  const { keepAlive } = reply
  const pieces = pulling(body)
  let timer: NodeJS.Timeout | undefined
  let isBegun = false
  let last: string | Uint8Array = ''
  try {
    writeHead(response, reply.status, headersOf(reply, call))
    if (keepAlive !== undefined) {
      timer = setInterval(() => { if (!response.writableNeedDrain) writeChunk(response, typeof keepAlive.text === 'string' ? keepAlive.text : keepAlive.text()) }, keepAlive.everyMs)
    }
    let next = pull(pieces)
    for (;;) {
      const there = (next instanceof Promise ? await (isBegun ? next : afterHead(response, next)) : next) ?? pieces.pull()
      const given = there instanceof Promise ? await there : there
      if (given.done === true) break
      if (response.destroyed) {
        await pieces.return?.()
        break
      }
      call.record.firstByteMs ??= performance.now() - call.receivedAtMs
      if (haveEnded(pieces)) {
        last = given.value
        break
      }
      const ahead = mayReadAhead(response, given.value) ? pull(pieces) : undefined
      if (ahead !== undefined && !(ahead instanceof Promise) && ahead.done !== true && haveEnded(pieces)) {
        last = joined(given.value, ahead.value)
        break
      }
      const room = writeChunk(response, given.value)
      if (!isBegun) releaseHead(response)
      isBegun = true
      timer?.refresh()
      if (!room) await drained(response, call.signal)
      next = ahead ?? pull(pieces)
    }
    const recorded = response.destroyed ? undefined : beforeLastByte?.(call)
    if (recorded !== undefined) await recorded
    if (!response.destroyed) endWithChunk(response, last)
  } catch (error) {
    if (response.headersSent) response.destroy()
    await pieces.return?.()
    throw error
  } finally {
    clearInterval(timer)
  }
  await written(response, call.signal, graceMs)
}

/** Characters of a piece for which there is room in any case where nothing waits to be sent. */
const smallLength = 4096

/**
 * Returns whether to look for the next piece before this one is written: what is there already may be the last, and is one write
 * with it. Not for a caller who does not read, for whom nothing should be read ahead.
 */
function mayReadAhead (response: ServerResponse, piece: string | Uint8Array): boolean {
  return piece.length <= smallLength && response.writableLength === 0
}

/** Returns whether what was pulled last is all. */
function haveEnded (pieces: PullSource<unknown>): boolean {
  return pieces.hasEnded === true
}

/**
 * Pulls, or gives the promise for when to; what is thrown is given by the promise, so that a piece before it is written before it.
 */
function pull<T> (pieces: PullSource<T>): PullResult<T> | Promise<PullResult<T> | void> {
  try {
    return pieces.whenReady?.() ?? pieces.pull()
  } catch (error) {
    return Promise.reject(error) // as a source rejects with it
  }
}

function joined (piece: string | Uint8Array, last: string | Uint8Array): string | Uint8Array {
  return typeof piece === 'string' && typeof last === 'string' ? piece + last : Buffer.concat([Buffer.from(piece), Buffer.from(last)])
}

/** Waits for the first piece. The head is sent with it in one packet, unless it takes longer than a turn. */
async function afterHead<T> (response: ServerResponse, first: Promise<T>): Promise<T> {
  const head = setImmediate(() => { response.flushHeaders() })
  try {
    return await first
  } finally {
    clearImmediate(head)
  }
}

/**
 * Resolves when the last byte is sent or the connection is closed: until then the call is open, so
 * that it counts, has its deadline and is waited for. A caller who does not read the last bytes
 * within the grace period after a deadline loses the socket.
 */
function written (response: ServerResponse, signal: CallSignal, graceMs: number): Promise<void> {
  if (response.destroyed) return Promise.resolve()
  // The system has taken every byte: the close follows, whatever the signal does.
  return response.writableLength === 0 ? new Promise(resolve => { response.once('close', resolve) }) : writtenInTime(response, signal, graceMs)
}

async function writtenInTime (response: ServerResponse, signal: CallSignal, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const giveUp = (): void => { timer = setTimeout(() => response.destroy(), graceMs) }
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  await new Promise<void>(resolve => { response.once('close', resolve) })
  clearTimeout(timer)
  signal.removeEventListener('abort', giveUp)
}

/** Resolves when there is room again or the caller has left. An `AbortSignal` for this would cost more than a write. */
function drained (response: ServerResponse, signal: CallSignal): Promise<void> {
  return new Promise(resolve => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      signal.removeEventListener('abort', go)
      resolve()
    }
    if (signal.aborted || response.destroyed) return resolve()
    response.on('drain', go).on('close', go)
    signal.addEventListener('abort', go, { once: true })
  })
}
