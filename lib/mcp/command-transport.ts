/**
 * Connects to a tool server in a child process: one JSON-RPC message per line of its pipes. Other lines, such
 * as logs, are skipped.
 *
 * Each line is limited in bytes, values and memory, and lines are read in slices so that other calls can run.
 * The session ends with the process, even if a process it started keeps the pipes open; later output is
 * ignored.
 */

import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { isList, isObject } from '../json/type-guards.ts'
import { maxDepth, parseBounded, ValueCounter } from '../json/parse-bounded.ts'
import { maxParseCost, slicesOf } from './guarded-fetch.ts'
import {
  brokenAnswerCode, idText, isAnswer, listTooLargeCode, noAnswer, noMemoryCode, repairMessage,
  type Listing, type SentRequest
} from './repair-message.ts'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { HeldMemory } from '../core/held-memory.ts'

export interface CommandOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Maximum size of a line, and of unread input of the process. */
  readonly maxBytes: number
  /** Memory for the incoming line. */
  readonly memory: HeldMemory
  /** Receives facts from tool lists. */
  readonly listing: Listing
  /** Milliseconds for the process to exit by itself, and again after SIGTERM. Default: 2000. */
  readonly graceMs?: number
}

/** Maximum unread replies: a process that sends requests without reading replies gets no more. */
const maxOpenReplies = 100
/**
 * Time to read what a process wrote before it exited, if another process keeps its pipe open. Extended while
 * more data waits, up to the capacity of a pipe: anything beyond that is from the other process.
 */
const drainMs = 250
const maxDrainBytes = 1024 * 1024
/** Each byte counts twice: a line is in memory as bytes and as a string. */
const copies = 2
const lineFeed = 10

export class CommandTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: JSONRPCMessage) => void) | undefined
  /** The client library recognises a process transport by `stderr` and `pid`. */
  readonly stderr = null
  readonly #options: CommandOptions
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined
  /** By id as a string. */
  readonly #unanswered = new Map<string, SentRequest>()
  #openReplies = 0
  #closing: Promise<void> | undefined
  #endedByItself = false
  /** The incoming line. */
  #pieces: Buffer[] = []
  #lineBytes = 0
  #heldBytes = 0
  #counter = new ValueCounter(Infinity)
  /** True while the rest of a line is skipped. */
  #isRefused = false

  constructor (options: CommandOptions) {
    this.#options = options
  }

  get pid (): number | null {
    return this.#child?.pid ?? null
  }

  /** True if the process exited before the transport was closed. */
  get endedByItself (): boolean {
    return this.#endedByItself
  }

  /** @throws the system's error if the command cannot be started */
  async start (): Promise<void> {
    const { command, args, env } = this.#options
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child = child
    await once(child, 'spawn') // fails without free file descriptors: then there are no pipes
    child.on('error', error => this.onerror?.(error))
    child.stdin.on('error', error => this.onerror?.(error))
    void this.#read(child)
  }

  /** @throws Error if the process does not read, or has exited */
  async send (message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (stdin === undefined || this.#closing !== undefined) throw new Error('the tool server has ended')
    if (stdin.writableLength > this.#options.maxBytes) {
      void this.close()
      throw new Error('the tool server does not read its input')
    }
    const isReply = !('method' in message)
    if (isReply) {
      if (this.#openReplies === maxOpenReplies) return
      this.#openReplies++
    } else {
      const { method, params } = message
      if ('id' in message) this.#unanswered.set(idText(message.id), { id: message.id, method })
      else if (method === 'notifications/cancelled') this.#unanswered.delete(idText(params?.['requestId']))
    }
    await new Promise<void>((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, error => {
        if (isReply) this.#openReplies--
        if (error == null) resolve()
        else reject(error)
      })
    })
  }

  /**
   * Resolves once the process has exited: closes its input, then sends signals. A process that survives
   * SIGKILL is left to the system.
   */
  async close (): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close (): Promise<void> {
    this.#endLine()
    this.#unanswered.clear()
    const child = this.#child
    queueMicrotask(() => this.onclose?.()) // after the transport is closed
    if (child?.pid === undefined) return
    child.stdin.end()
    const { graceMs = 2000 } = this.#options
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await exits(child, graceMs)) break
      child.kill(signal)
    }
    await exits(child, graceMs)
    child.stdin.destroy()
    child.stdout.destroy()
  }

  async #read (child: ChildProcessByStdio<Writable, Readable, null>): Promise<void> {
    const { stdout } = child
    let drained: NodeJS.Timeout | undefined
    let takenBytes = 0
    const taken = async function * (): AsyncGenerator<Uint8Array> {
      for await (const piece of stdout as AsyncIterable<Uint8Array>) {
        takenBytes += piece.length
        yield piece
      }
    }
    const arrivedBytes = (): number => takenBytes + stdout.readableLength
    const drain = (mostBytes: number): void => {
      const [before, isFilled] = [takenBytes, stdout.readableLength > 0]
      // The turn before this timer may have been long: read what is in the pipe first.
      setImmediate(() => {
        const isMore = isFilled || stdout.readableLength > 0 || takenBytes > before
        if (isMore && arrivedBytes() < mostBytes) drained?.refresh()
        else stdout.destroy()
      })
    }
    child.once('exit', () => { drained = setTimeout(drain, drainMs, arrivedBytes() + maxDrainBytes) })
    try {
      for await (const slice of slicesOf(taken())) {
        if (this.#closing === undefined) this.#take(Buffer.from(slice.buffer, slice.byteOffset, slice.length))
      }
    } catch (error) {
      this.onerror?.(error as Error) // a stream error
    }
    this.#endedByItself = this.#closing === undefined
    await this.close()
    clearTimeout(drained)
  }

  #take (slice: Buffer): void {
    let from = 0
    for (let end = slice.indexOf(lineFeed); end !== -1; end = slice.indexOf(lineFeed, from)) {
      this.#add(slice.subarray(from, end))
      if (this.#closing !== undefined) return
      this.#readLine(Buffer.concat(this.#pieces).toString())
      this.#endLine()
      from = end + 1
    }
    this.#add(slice.subarray(from))
  }

  #add (piece: Buffer): void {
    if (this.#closing !== undefined) return // its memory would never be released
    const { maxBytes, memory } = this.#options
    this.#lineBytes += piece.length
    if (this.#lineBytes > maxBytes) {
      this.#refuse(listTooLargeCode)
      void this.close() // the line may never end
      return
    }
    if (this.#isRefused || piece.length === 0) return
    this.#counter.push(piece)
    if (this.#counter.parseCost > maxParseCost || this.#counter.deepest > maxDepth) {
      this.#refuse(listTooLargeCode)
      return
    }
    try {
      memory.take(copies * piece.length)
      this.#heldBytes += piece.length
      this.#pieces.push(piece)
    } catch {
      this.#refuse(noMemoryCode)
    }
  }

  #endLine (): void {
    this.#options.memory.release(copies * this.#heldBytes)
    this.#pieces = []
    this.#lineBytes = 0
    this.#heldBytes = 0
    this.#counter = new ValueCounter(Infinity)
    this.#isRefused = false
  }

  /** Skips the rest of a line. All requests fail, because the id in it stays unread. */
  #refuse (code: number): void {
    if (this.#isRefused) return
    this.#isRefused = true
    this.#pieces = []
    this.#failUnanswered(code)
  }

  #failUnanswered (code: number): void {
    const requests = [...this.#unanswered.values()]
    this.#unanswered.clear()
    for (const request of requests) this.#deliver(noAnswer(request, code))
  }

  #readLine (line: string): void {
    if (!/^\s*[{[]/.test(line)) return
    let value: unknown
    try {
      value = parseBounded(line)
    } catch {
      return // a log line
    }
    for (const message of isList(value) ? value : [value]) this.#readMessage(message)
  }

  #readMessage (message: unknown): void {
    if (!isObject(message)) return
    if (!isAnswer(message)) {
      if (typeof message['method'] === 'string') this.#deliver(message)
      return
    }
    const id = idText(message['id'])
    const request = this.#unanswered.get(id)
    this.#unanswered.delete(id)
    if (request !== undefined) this.#deliver(repairMessage(message, request, this.#options.listing))
    // An answer without id fails all requests; answers to unknown ids are late.
    else if (message['id'] === undefined || message['id'] === null) this.#failUnanswered(brokenAnswerCode)
  }

  #deliver (message: unknown): void {
    try {
      this.onmessage?.(message as JSONRPCMessage) // the client library validates it
    } catch (error) {
      this.onerror?.(error as Error) // an error of the client library
    }
  }
}

async function exits (child: ChildProcessByStdio<Writable, Readable, null>, ms: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true
  return await new Promise<boolean>(resolve => {
    const onExit = (): void => {
      clearTimeout(timer)
      resolve(true)
    }
    const timer = setTimeout(() => {
      child.off('exit', onExit)
      resolve(false)
    }, ms)
    child.once('exit', onExit)
  })
}
