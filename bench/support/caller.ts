/** One caller on one connection, with just enough HTTP to find the end of an answer. */

import { connect, type Socket } from 'node:net'
import { nowUs, stampDigits, stampPattern } from '../../lib/load/answers.ts'
import type { AnswerCheck } from '../../lib/load/answer-check.ts'

export interface CallerOptions {
  readonly port: number
  readonly request: Buffer
  readonly check: AnswerCheck
}

export class Caller {
  latencies: number[] = []
  firstBytes: number[] = []
  /** Milliseconds from an event's time stamp to its arrival. */
  events: number[] = []
  frames = 0
  seconds = 0
  closed = false
  readonly #options: CallerOptions
  #socket: Socket | undefined
  #sentAtMs = 0
  #pieces: Buffer[] = []
  /** Bytes received so far of a head or of a chunk's size line. */
  #begun: Buffer | undefined
  #state: 'head' | 'complete' | 'chunks' = 'head'
  /** Bytes still to come: of a complete body, or of a chunk and its line end. */
  #left = 0
  #first: (() => void) | undefined
  #onAnswer: (() => void) | undefined
  #failed: ((error: Error) => void) | undefined

  constructor (options: CallerOptions) {
    this.#options = options
  }

  /** Calls repeatedly until then; resolves when the last answer is complete. */
  async loop (untilMs: number): Promise<void> {
    await this.#connect()
    const startMs = performance.now()
    do {
      await new Promise<void>((resolve, reject) => {
        this.#onAnswer = resolve
        this.#failed = reject
        this.#ask()
      })
    } while (performance.now() < untilMs)
    this.seconds = (performance.now() - startMs) / 1000
  }

  /** Calls once and resolves with the first byte; a deaf caller reads nothing at all. */
  async open (deaf: boolean): Promise<void> {
    await this.#connect()
    await new Promise<void>((resolve, reject) => {
      this.#first = resolve
      this.#failed = reject
      this.#ask()
      if (!deaf) return
      this.#socket?.pause()
      resolve()
    })
  }

  forget (): void {
    this.latencies = []
    this.firstBytes = []
    this.events = []
    this.frames = 0
  }

  close (): void {
    this.#socket?.destroy()
  }

  async #connect (): Promise<void> {
    if (this.#socket !== undefined) return
    this.#socket = await new Promise<Socket>((resolve, reject) => {
      const socket = connect(this.#options.port, '127.0.0.1', () => resolve(socket))
      socket.setNoDelay(true)
      socket.once('error', reject)
    })
    this.#socket.on('data', bytes => this.#read(bytes))
    const over = (): void => {
      this.closed = true
      this.#failed?.(new Error('the connection was closed before the answer was complete'))
    }
    this.#socket.on('error', over).on('close', over)
  }

  #ask (): void {
    this.#state = 'head'
    this.#sentAtMs = performance.now()
    this.#socket?.write(this.#options.request)
  }

  #read (bytes: Buffer): void {
    try {
      if (this.#begun !== undefined) bytes = Buffer.concat([this.#begun, bytes])
      this.#begun = undefined
      const at = this.#state === 'head' ? this.#readHead(bytes) : 0
      if (at === undefined) this.#begun = bytes
      else if (this.#state === 'complete') this.#readSized(bytes.subarray(at))
      else this.#readChunks(bytes, at)
    } catch (error) {
      this.#failed?.(error as Error) // only our own errors are thrown there
      this.close()
    }
  }

  #readHead (bytes: Buffer): number | undefined {
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const head = bytes.toString('latin1', 0, end)
    if (!head.startsWith('HTTP/1.1 200')) {
      throw new Error(`${head.split('\r\n')[0]} ${bytes.toString('utf8', end).slice(0, 300)}`)
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    this.#state = length === undefined ? 'chunks' : 'complete'
    this.#left = Number(length ?? 0)
    return end + 4
  }

  #readSized (bytes: Buffer): void {
    if (bytes.length > 0) this.#take(bytes)
    this.#left -= bytes.length
    if (this.#left <= 0) this.#complete()
  }

  #readChunks (bytes: Buffer, at: number): void {
    while (at < bytes.length) {
      if (this.#left > 0) {
        const end = Math.min(at + this.#left, bytes.length)
        const dataEnd = Math.min(at + this.#left - 2, end)
        if (dataEnd > at) this.#take(bytes.subarray(at, dataEnd))
        this.#left -= end - at
        at = end
        continue
      }
      const lineEnd = bytes.indexOf('\r\n', at)
      if (lineEnd === -1) break
      const size = parseInt(bytes.toString('latin1', at, lineEnd), 16)
      if (size === 0 && bytes.length < lineEnd + 4) break
      if (size === 0) return this.#complete()
      this.#left = size + 2
      at = lineEnd + 2
    }
    if (at < bytes.length) this.#begun = bytes.subarray(at)
  }

  #take (bytes: Buffer): void {
    if (this.#pieces.push(bytes) === 1) {
      this.firstBytes.push(performance.now() - this.#sentAtMs)
      this.#first?.()
    }
    if (!this.#options.check.stamped) return
    for (
      let at = bytes.indexOf(stampPattern);
      at !== -1;
      at = bytes.indexOf(stampPattern, at + stampDigits)
    ) {
      const us = Number(
        bytes.toString('latin1', at + stampPattern.length, at + stampPattern.length + stampDigits)
      )
      if (us > 0) this.events.push((nowUs() - us) / 1000)
    }
  }

  #complete (): void {
    this.latencies.push(performance.now() - this.#sentAtMs)
    this.frames += this.#options.check.answer(this.#pieces)
    this.#pieces = []
    this.#onAnswer?.()
  }
}
