/**
 * Several choices from a provider that gives fewer at once: as many requests as it takes, side by
 * side, read as one answer.
 *
 * Batches come out in the order they arrive, choices numbered in the order they begin: a request may
 * give fewer than it was asked for, and the whole answer has no gap then. There is one
 * `response-start`, and one `usage` with the sum. The first failure cancels everything.
 */

import { addUsage } from '../core/usage.ts'
import {
  openAttempt, bufferedAttempt, type AttemptCall, type OpenAttempt, type ProviderCallOptions, type AttemptRequest
} from './attempt.ts'
import type { Adapter, Ask, Provider } from '../providers/provider.ts'
import type { Usage } from '../core/usage.ts'

/** What of an event the merge looks at. */
export interface AnyEvent {
  readonly type: string
  readonly choice?: number
  readonly usage?: Usage
}

/** Requests of one call under way at once. */
const width = 8

/**
 * Opens an answer with all choices that are asked for; of as many requests as there must be.
 *
 * A streamed answer is open when the first of them says something real, a whole one when all have
 * ended: until then a failure is one of the whole, and another route may be tried.
 *
 * @throws what `openAnswer` throws
 */
export async function openChoices<R extends AttemptRequest, E extends AnyEvent> (
  call: AttemptCall, ask: Ask<R>, provider: Provider, adapter: Adapter<R, E>, options: ProviderCallOptions
): Promise<OpenAttempt<E>> {
  const most = adapter.maxChoices?.(ask) ?? Infinity
  const wanted = ask.request.n ?? 1
  if (wanted <= most) return await openAttempt(call, ask, provider, adapter, options)

  const answer = new FanOut<R, E>(partsOf(ask, wanted, most), async (part, signal) => {
    return await openAttempt({ ...call, signal: AbortSignal.any([call.signal, signal]) }, part, provider, adapter, options)
  })
  return ask.streamed ? await answer.begun() : await answer.whole()
}

function partsOf<R extends AttemptRequest> (ask: Ask<R>, wanted: number, most: number): Array<Ask<R>> {
  const parts: Array<Ask<R>> = []
  for (let asked = 0; asked < wanted; asked += most) {
    const n = Math.min(most, wanted - asked)
    parts.push({ ...ask, request: { ...ask.request, n: n === 1 ? undefined : n } })
  }
  return parts
}

/** A batch that waits to be taken; its request is not read on before. */
interface Offer<E> {
  readonly events: E[]
  readonly taken: () => void
}

class FanOut<R, E extends AnyEvent> implements OpenAttempt<E> {
  readonly #waiting: Array<Ask<R>>
  readonly #open: (ask: Ask<R>, signal: AbortSignal) => Promise<OpenAttempt<E>>
  readonly #cancelled = new AbortController()
  readonly #answers = new Set<OpenAttempt<E>>()
  readonly #offers: Array<Offer<E>> = []
  #running = 0
  /** Choices that have begun. */
  #choices = 0
  #wake: (() => void) | undefined
  #failure: unknown
  #failed = false
  #started = false
  #sizeBytes = 0
  /** The usage of each request; of those that did not say, nothing. */
  #usages: Array<E | undefined> = []

  constructor (parts: Array<Ask<R>>, open: (ask: Ask<R>, signal: AbortSignal) => Promise<OpenAttempt<E>>) {
    this.#waiting = parts
    this.#open = open
    this.#running = Math.min(width, parts.length)
    for (let runner = this.#running; runner > 0; runner--) void this.#run()
  }

  /** Waits for the first batch, which stays to be read. */
  async begun (): Promise<this> {
    await this.#changed()
    if (this.#failed) throw this.#failure
    return this
  }

  /** Reads everything into one batch. */
  async whole (): Promise<OpenAttempt<E>> {
    const all: E[] = []
    for (let events = await this.next(); events !== undefined; events = await this.next()) all.push(...events)
    return bufferedAttempt(all)
  }

  async next (): Promise<E[] | undefined> {
    await this.#changed()
    if (this.#failed) throw this.#failure
    const offer = this.#offers.shift()
    offer?.taken()
    return offer?.events ?? this.#last()
  }

  sizeBytes (): number {
    let size = this.#sizeBytes
    for (const answer of this.#answers) size += answer.sizeBytes()
    return size
  }

  close (): void {
    this.#waiting.length = 0
    this.#cancelled.abort()
    for (const answer of this.#answers) answer.close()
    for (const { taken } of this.#offers.splice(0)) taken()
  }

  /** Resolves when there is a batch, a failure, or nothing more to come. */
  async #changed (): Promise<void> {
    while (this.#offers.length === 0 && !this.#failed && this.#running > 0) {
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  async #run (): Promise<void> {
    try {
      for (let part = this.#waiting.shift(); part !== undefined; part = this.#waiting.shift()) await this.#read(part)
    } catch (error) {
      if (!this.#failed) {
        this.#failed = true
        this.#failure = error
        this.close()
      }
    } finally {
      this.#running--
      this.#wake?.()
    }
  }

  async #read (ask: Ask<R>): Promise<void> {
    const answer = await this.#open(ask, this.#cancelled.signal)
    this.#answers.add(answer)
    const numbers = new Map<number, number>()
    let usage: E | undefined
    try {
      for (let read = await answer.next(); read !== undefined; read = await answer.next()) {
        const events: E[] = []
        for (const event of read) {
          if (event.type === 'usage') usage = event
          else if (event.type !== 'response-start' || !this.#started) events.push(this.#numbered(event, numbers))
          if (event.type === 'response-start') this.#started = true
        }
        if (events.length > 0) await this.#offer(events)
      }
    } finally {
      answer.close()
      this.#answers.delete(answer)
      this.#sizeBytes += answer.sizeBytes()
    }
    this.#usages.push(usage)
  }

  #numbered (event: E, numbers: Map<number, number>): E {
    if (event.choice === undefined) return event
    let choice = numbers.get(event.choice)
    if (choice === undefined) numbers.set(event.choice, choice = this.#choices++)
    return choice === event.choice ? event : { ...event, choice }
  }

  async #offer (events: E[]): Promise<void> {
    if (this.#cancelled.signal.aborted) return
    await new Promise<void>(taken => {
      this.#offers.push({ events, taken })
      this.#wake?.()
    })
  }

  /** The sum, where every request reported: less than all of it would be a wrong bill. */
  #last (): E[] | undefined {
    const usages = this.#usages.splice(0)
    const [first] = usages
    if (first === undefined || usages.includes(undefined)) return undefined
    const usage = usages.reduce<Usage | undefined>((sum, event) => addUsage(sum, event?.usage), undefined)
    return [{ ...first, usage }]
  }
}
