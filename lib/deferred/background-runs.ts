/**
 * Runs responses in the background, and serves their streams, each as often as a caller requests it.
 *
 * A response belongs to the process that runs it (a lease). If that process dies, the response ends as
 * `failed` instead of starting again, since its tools may already have acted. The running process reads
 * streams as they are written; other processes, and later readers, use the store. While the store is
 * unreachable, responses go on, and their results wait for it.
 */

import { randomUUID } from 'node:crypto'
import { Outage } from '../async/outage.ts'
import { sleep } from '../async/sleep.ts'
import { abortable } from '../async/cancellation.ts'
import { GatewayError } from '../core/errors.ts'
import { append } from '../json/append.ts'
import { formatMegabytes } from '../text/format-megabytes.ts'
import { endOfStream, splitFrames, sseEvent } from '../wire/sse-frames.ts'
import type { CallSignal } from '../core/call.ts'
import type { ResponseOrigin, ResponseToKeep } from '../dialects/responses/archive.ts'
import type { Lease } from '../stores/lease.ts'
import type { CountedBytes } from '../stores/response-frames.ts'
import type { ResponseStore } from '../stores/response-store.ts'
import type { ResponseObject } from '../../schemas/responses.ts'
import type { CallListener } from './run-detached.ts'
import { untilStored } from './until-stored.ts'

export interface BackgroundRunsOptions {
  readonly events: CallListener
  /**
   * Responses that run at a time in this process. A key may have half of the slots that others leave free.
   */
  readonly maxRunning: () => number
  /** Called with failures of the store. */
  readonly onFailure: (error: unknown) => void
  /** When a lease ends unless it is renewed. Default 15 seconds. */
  readonly leaseMs?: number
}

/** The work of a running response. */
export interface BackgroundWork {
  readonly toKeep: ResponseToKeep
  /** Frames written before the work begins; none for a response without a stream. */
  readonly firstFrames: readonly string[]
  /** Does the work, and returns the text of the stream. Every failure is thrown. */
  readonly run: (signal: AbortSignal, write: (text: string) => void) => Promise<void>
  /** Returns the response after a failure. */
  readonly failed: (error: unknown) => ResponseObject
  /** Called when the work has ended, or could not begin. */
  readonly onEnd?: (() => void) | undefined
}

interface Running {
  readonly keyId: string
  readonly controller: AbortController
  /** False while the response is being stored: the store does not have it yet. */
  isStored: boolean
  /** True once its result is being stored. */
  isFinishing: boolean
  /** The frames not stored yet. */
  frames: string[]
  stored: number
  /** What the write in progress, or the last failed one, has counted. */
  counted: CountedBytes
  /** The last frame of the stream. */
  last: string | undefined
  /** Bytes of all frames so far. */
  bytes: number
  /** The previous write, which the next one waits for. */
  written: Promise<void>
  changed: Wakeup
}

/** Resolved when there are frames that readers do not have yet. */
interface Wakeup {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

/** Milliseconds between two writes of a stream to the store, and between two polls by other processes. */
const writeEveryMs = 200

/** Characters of frames sent or written together; one frame may be longer. */
const joinedLength = 256 * 1024

const terminal: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])

export class BackgroundRuns {
  readonly events: CallListener
  readonly #store: ResponseStore
  readonly #options: Required<BackgroundRunsOptions>
  readonly #owner = randomUUID()
  readonly #running = new Map<string, Running>()
  readonly #work = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | undefined
  /** When the store was last unreachable, by `performance.now()`. */
  #unreachableAtMs = -Infinity

  constructor (store: ResponseStore, options: BackgroundRunsOptions) {
    this.#store = store
    this.#options = { leaseMs: 15_000, ...options }
    this.events = options.events
  }

  /** Starts renewing leases, and ends the responses of dead processes. */
  start (): void {
    const poll = (): void => {
      this.#polling ??= this.#poll().catch((error: unknown) => {
        this.#unreachableAtMs = performance.now()
        this.#options.onFailure(error)
      }).finally(() => { this.#polling = undefined })
    }
    this.#timer = setInterval(poll, this.#options.leaseMs / 6).unref()
    poll()
  }

  /** Ends the running responses as `failed`. */
  async stop (): Promise<void> {
    clearInterval(this.#timer)
    for (const { controller } of this.#running.values()) controller.abort(new GatewayError('shutting_down'))
    await Promise.all(this.#work)
    await this.#polling
  }

  /** Resolves when the responses that run now have ended; later ones do not count. */
  async whenIdle (): Promise<void> {
    await Promise.all(this.#work)
  }

  /**
   * Starts the work of a response once it is stored.
   *
   * @throws GatewayError `overloaded` when too many run, or when the store fails
   */
  async begin (work: BackgroundWork): Promise<void> {
    try {
      await this.#begin(work)
    } catch (error) {
      work.onEnd?.()
      throw error
    }
  }

  async #begin (work: BackgroundWork): Promise<void> {
    const { keyId, response: { id } } = work.toKeep
    const own = [...this.#running.values()].filter(running => running.keyId === keyId).length
    if (this.#running.size + own >= this.#options.maxRunning()) {
      throw new GatewayError('overloaded', {
        message: 'Too many responses run in the background. Try again later.'
      })
    }
    const running: Running = {
      keyId,
      controller: new AbortController(),
      isStored: false,
      isFinishing: false,
      frames: [...work.firstFrames],
      stored: 0,
      counted: { bytes: 0 },
      last: work.firstFrames.at(-1),
      bytes: 0,
      written: Promise.resolve(),
      changed: createWakeup()
    }
    this.#running.set(id, running)
    try {
      await this.#store.keep(work.toKeep, this.#lease())
      running.isStored = true
    } catch (error) {
      this.#running.delete(id)
      throw error
    }
    const done = this.#run(id, running, work).catch(this.#options.onFailure).finally(() => {
      this.#running.delete(id)
      this.#work.delete(done)
      running.changed.resolve()
      work.onEnd?.()
    })
    this.#work.add(done)
  }

  /**
   * Replaces a running response with its result.
   *
   * @param placeholders those of its texts, sealed
   * @throws GatewayError `file_too_large`, `overloaded`
   */
  async finish (response: ResponseObject, origin?: ResponseOrigin, placeholders?: string): Promise<void> {
    const running = this.#running.get(response.id)
    const finish = async (): Promise<boolean> =>
      await this.#store.finish(response, this.#owner, origin, placeholders)
    if (running === undefined) {
      await finish()
      return
    }
    running.isFinishing = true
    await this.#untilStored(running, finish)
  }

  /**
   * Ends a response, whichever process runs it.
   *
   * @returns its state afterwards
   * @throws GatewayError `overloaded`
   */
  async cancel (keyId: string, response: ResponseObject): Promise<ResponseObject | undefined> {
    const ended = await this.#store.cancel(keyId, response)
    if (ended?.status === 'cancelled') {
      this.#running.get(response.id)?.controller.abort(new GatewayError('client_closed_request'))
    }
    return ended
  }

  /**
   * Yields the frames of a stream from an index on, including future ones.
   *
   * @throws the reason of the signal; GatewayError `overloaded`
   */
  async *stream (
    keyId: string,
    id: string,
    from: number,
    signal: CallSignal
  ): AsyncGenerator<string, void, undefined> {
    let next = from
    for (let running = this.#running.get(id); running !== undefined; running = this.#running.get(id)) {
      const { changed, frames, stored } = running
      if (next < stored) {
        for await (const { text, number } of this.#storedFrames(id, next)) {
          next = number
          if (text !== '') yield text
        }
        next = Math.max(next, stored) // the response may have been deleted
      } else {
        const some = firstOf(frames, next - stored)
        next += some.length
        if (some.length > 0) yield some.join('')
        else await abortable(changed.promise, signal)
      }
    }
    for (;;) {
      const status = await this.#store.status(keyId, id)
      const isEnded = status === undefined || terminal.has(status)
      let last: string | undefined
      for await (const { text, number, last: newest } of this.#storedFrames(id, next)) {
        next = number
        last = newest
        if (text !== '') yield text
      }
      if (isEnded) {
        const response = endsStream(last) ? undefined : await this.#store.find(keyId, id)
        if (response !== undefined) yield endingOf(response, next)
        break
      }
      await sleep(writeEveryMs, signal)
    }
    yield endOfStream
  }

  /**
   * Reads the stored frames of a stream from an index on: their text, the index after them, and the last one
   * read or the one before.
   */
  async *#storedFrames (
    id: string,
    from: number
  ): AsyncGenerator<
    { readonly text: string, readonly number: number, readonly last: string | undefined },
    void,
    undefined
  > {
    let at = Math.max(from - 1, 0)
    for await (const frames of this.#store.frames.read(id, at)) {
      const text = frames.slice(Math.max(from - at, 0)).join('')
      at += frames.length
      yield { text, number: Math.max(from, at), last: frames.at(-1) }
    }
  }

  async #run (
    id: string,
    running: Running,
    { toKeep, firstFrames, run, failed }: BackgroundWork
  ): Promise<void> {
    const isStreamed = firstFrames.length > 0
    let isWriting = false
    const outage = new Outage({ onBegin: this.#options.onFailure })
    const write = async (): Promise<void> => await this.#write(id, running)
    const writing = setInterval(() => {
      if (isWriting) return
      isWriting = true
      write().then(outage.succeeded, outage.failed).finally(() => { isWriting = false })
    }, writeEveryMs)
    const update = async (response: ResponseObject): Promise<boolean> =>
      await this.#untilStored(running, async () => await this.#store.update(response, this.#owner))
    try {
      if (isStreamed) await this.#untilStored(running, write)
      await update({ ...toKeep.response, status: 'in_progress' })
      await run(running.controller.signal, text => this.#add(running, this.#counted(running, text)))
      if (running.controller.signal.aborted) throw running.controller.signal.reason
    } catch (error) {
      const response = failed(error)
      const isMine = await update(response)
      if (isMine && isStreamed && !endsStream(running.last)) {
        this.#add(running, endingOf(response, running.stored + running.frames.length))
      }
    } finally {
      clearInterval(writing)
      if (isStreamed) await this.#untilStored(running, write)
    }
  }

  async #untilStored<T> ({ controller: { signal } }: Running, write: () => Promise<T>): Promise<T> {
    const { onFailure, leaseMs } = this.#options
    return await untilStored(write, { signal, onFailure, leaseMs })
  }

  /** @throws GatewayError `file_too_large` for a stream that exceeds the limit of its stored size */
  #counted (running: Running, text: string): string {
    const maxBytes = this.#store.maxStreamBytes
    running.bytes += Buffer.byteLength(text)
    if (running.bytes <= maxBytes) return text
    throw new GatewayError('file_too_large', {
      message: `The stream is larger than ${formatMegabytes(maxBytes)}, the most that is stored.`
    })
  }

  #add (running: Running, text: string): void {
    const frames = splitFrames(text).filter(frame => frame !== endOfStream)
    if (frames.length === 0) return
    append(running.frames, frames)
    running.last = frames.at(-1)
    running.changed.resolve()
    running.changed = createWakeup()
  }

  /**
   * Stores the frames that are not stored yet, one write at a time. Frames of a failed write are part of the
   * next one.
   */
  async #write (id: string, running: Running): Promise<void> {
    const before = running.written
    const write = async (): Promise<void> => {
      await before.catch(() => undefined) // the caller reports it; its frames are kept
      while (running.frames.length > 0) {
        const added = firstOf(running.frames, 0)
        await this.#store.frames.add(id, running.stored, added, running.counted)
        running.counted = { bytes: 0 }
        running.frames = running.frames.slice(added.length)
        running.stored += added.length
      }
    }
    running.written = write()
    await running.written
  }

  async #poll (): Promise<void> {
    const ids = [...this.#running.keys()]
    // The renewal may miss a response that is stored or finished at the same time.
    const stored = ids.filter(id => this.#running.get(id)?.isStored === true)
    if (ids.length > 0) {
      const mine = await this.#store.renew(ids, this.#lease())
      for (const id of stored) {
        const running = this.#running.get(id)
        if (!mine.has(id) && running?.isFinishing === false) {
          running.controller.abort(new GatewayError('client_closed_request'))
        }
      }
    }
    // Leases that ended while the store was unreachable may be those of living processes, which renew them
    // now.
    const mayEnd = performance.now() - this.#unreachableAtMs > this.#options.leaseMs
    await this.#store.failOrphans(mayEnd ? this.#store.now() : 0, {
      code: 'server_error',
      message: 'The process that worked on this response has ended.'
    })
  }

  #lease (): Lease {
    return { owner: this.#owner, untilMs: this.#store.now() + this.#options.leaseMs }
  }
}

function createWakeup (): Wakeup {
  let resolve = (): void => undefined
  const finished = new Promise<void>(done => { resolve = done })
  return { promise: finished, resolve }
}

/** Returns the last frame of a stream whose work did not write one. */
function endingOf (response: ResponseObject, number: number): string {
  const { status } = response
  const type = `response.${status === 'completed' || status === 'incomplete' ? status : 'failed'}`
  return sseEvent(type, JSON.stringify({ type, response, sequence_number: number }))
}

/**
 * Returns the frames from an index on that are joined per tick: at least one, if there is one.
 */
function firstOf (frames: readonly string[], from: number): readonly string[] {
  let to = from
  for (let length = 0; to < frames.length && length < joinedLength; to++) length += frames[to]?.length ?? 0
  return frames.slice(from, to)
}

function endsStream (frame: string | undefined): boolean {
  return frame !== undefined && /^event: response\.(?:completed|incomplete|failed)\n/.test(frame)
}
