/**
 * Sends one call as several upstream requests, for providers that limit the size of one (`Adapter.split`): a
 * few at a time, read as one answer (`Adapter.join`).
 *
 * Batches of the parts come out in order of arrival. A part is read on only after its last batch was taken.
 * The first failure ends a stream, after everything read before it. When a part of a complete answer fails,
 * the parts in flight are awaited briefly: the provider bills them, and the next attempt does not send
 * completed parts again. Usage reported by any part counts, however the answer ends.
 */

import { standardSignal } from '../async/cancellation.ts'
import { GatewayError, asGatewayError } from '../core/errors.ts'
import { numberOf, property } from '../json/type-guards.ts'
import { addReported, addUsage, reportedBy, type ReportedUsage, type Usage } from '../core/usage.ts'
import { ProviderFailure, usageOfError, withUsage } from '../providers/provider-failure.ts'
import { PartNotes } from './part-notes.ts'
import { isWasted, recordWasted } from './route-attempt.ts'
import { sendRequest, type SendContext, type UpstreamPart, type UpstreamTarget } from './send-request.ts'
import { bufferedResponse, usageIn, type AnyEvent, type OpenResponse } from './open-response.ts'
import type { PartShare } from '../core/usage-facts.ts'
import type { AdapterInput, Join } from '../providers/provider.ts'
import type { Route } from '../core/route.ts'

/** Requests of one call in flight at a time. */
const maxParallel = 8
/** Maximum wait for parts in flight after one has failed: the caller waits as well. */
const partsGraceMs = 2000
/** Why parts are cut off at the end of that time. */
const graceIsOver = new Error('another part has failed')

/**
 * Opens the answer to all parts.
 *
 * A streamed answer is open with the first visible output of any part, a complete answer when all parts have
 * ended. Until then, a failure of one part fails the whole attempt, and another route may be tried.
 *
 * @throws what `sendRequest` throws
 */
export function sendParts<R, E extends AnyEvent> (
  context: SendContext,
  parts: ReadonlyArray<UpstreamPart<R, E>>,
  target: UpstreamTarget<R, E>
): Promise<OpenResponse<E>> {
  const [first] = parts
  if (first === undefined) throw new RangeError('a request has at least one part')
  const join = target.adapter.join?.(parts.length) ?? joinChoices<E>(parts.length)
  const { streamed, route } = first.input
  const { call, signal: callSignal } = context
  const notes = new PartNotes(call.record, route, context.span)
  const joined = new JoinedResponse<E>(route, parts, join, !streamed, notes, async (index, signal) => {
    const { input } = parts[index] ?? first
    let isSent = false
    const either = AbortSignal.any([standardSignal(callSignal), signal])
    const onSent = (): void => {
      isSent = true
      context.onSent?.()
    }
    try {
      const sent = { ...context, signal: either, span: notes.begin(index), onSent }
      return await sendRequest(sent, input, target)
    } catch (error) {
      const share = shareOf(input, parts)
      if (isBilled(error) || (isSent && signal.reason === graceIsOver)) recordWasted(call, route, { share })
      // If the caller has left, only the prompt counts. A hedge that lost is aborted with a plain Error.
      else if (isSent && callSignal.aborted && callSignal.reason instanceof GatewayError) {
        recordWasted(call, route, { share: { ...share, answer: 0 } })
      }
      throw error
    }
  })
  // Every part is recorded or has its answer, so the attempt as a whole must not be billed again.
  return (streamed ? joined.begun() : joined.buffered()).catch((error: unknown) => {
    throw error instanceof ProviderFailure ? error : asGatewayError(error).with({ isRecorded: true })
  })
}

/** Returns true for the error of a part that its provider bills without having reported its usage. */
function isBilled (error: unknown): boolean {
  return error instanceof GatewayError && error.usage === undefined && isWasted(error)
}

/** Returns how much of its call a request is for. */
export function shareOf (
  { request }: Pick<AdapterInput<unknown>, 'request'>, parts: ReadonlyArray<UpstreamPart<unknown>>
): PartShare {
  const partOf = (count: (request: unknown) => number): number =>
    count(request) / parts.reduce((sum, { input }) => sum + count(input.request), 0)
  const answer = partOf(choicesIn)
  return { prompt: inputsIn(request) === 0 ? 1 : partOf(inputsIn), answer, images: answer }
}

function choicesIn (request: unknown): number {
  return numberOf(property(request, 'n')) ?? 1
}

/** Returns the number of inputs of a request for embeddings; 0 for any other. */
function inputsIn (request: unknown): number {
  const input = property(request, 'input')
  return Array.isArray(input) ? input.length : 0
}

/**
 * Joins parts with their own choices. Choices are numbered in order of their start: a part may give fewer
 * than requested, and the numbers still have no gap. There is one `answer-start`, and one `usage` with the
 * sum.
 */
export function joinChoices<E extends AnyEvent> (parts: number): Join<E> {
  const numbers = Array.from({ length: parts }, () => new Map<number, number>())
  const usages = new Map<number, E>()
  let started = false
  let choices = 0
  const numbered = (event: E, indexes: Map<number, number> | undefined): E => {
    if (event.choice === undefined) return event
    let choice = indexes?.get(event.choice)
    if (choice === undefined) indexes?.set(event.choice, choice = choices++)
    return choice === event.choice ? event : { ...event, choice }
  }
  return {
    read: (part, events, into) => {
      for (const event of events) {
        if (event.type === 'usage') usages.set(part, event)
        else if (event.type !== 'answer-start' || !started) into.push(numbered(event, numbers[part]))
        if (event.type === 'answer-start') started = true
      }
    },
    end: into => {
      const [first] = usages.values()
      // A partial sum would be a wrong bill: `reported` has the known usage.
      if (first === undefined || usages.size < parts) return
      const usage = [...usages.values()].reduce<Usage | undefined>(
        (sum, event) => addUsage(sum, event.usage),
        undefined
      )
      into.push({ ...first, usage })
    }
  }
}

const nothing: ReportedUsage = { usage: undefined, unreported: 0 }

/** A batch to be taken; its part is read on only afterwards. */
interface Offer<E> {
  readonly events: E[]
  readonly take: () => void
}

class JoinedResponse<E extends AnyEvent> implements OpenResponse<E> {
  readonly route: Route
  readonly #parts: ReadonlyArray<UpstreamPart<unknown, E>>
  readonly #keeps: boolean
  readonly #join: Join<E>
  readonly #notes: PartNotes
  readonly #open: (part: number, signal: AbortSignal) => Promise<OpenResponse<E>>
  readonly #cancelled = new AbortController()
  readonly #responses = new Set<OpenResponse<E>>()
  readonly #offers: Array<Offer<E>> = []
  #nextPart = 0
  #running = 0
  #wake: (() => void) | undefined
  #failure: unknown
  #failed = false
  #ended = false
  #sizeBytes = 0
  /** Usage of complete parts. */
  #complete = nothing
  /** Usage of failed parts. */
  #wasted = nothing

  /** @param keeps true if complete answers of parts are kept with them */
  constructor (
    route: Route, parts: ReadonlyArray<UpstreamPart<unknown, E>>, join: Join<E>, keeps: boolean,
    notes: PartNotes,
    open: (part: number, signal: AbortSignal) => Promise<OpenResponse<E>>
  ) {
    this.route = route
    this.#parts = parts
    this.#join = join
    this.#keeps = keeps
    this.#notes = notes
    this.#open = open
    this.#running = Math.min(maxParallel, parts.length)
    for (let runner = this.#running; runner > 0; runner--) void this.#run()
  }

  /** Waits for the first batch, without taking it. */
  async begun (): Promise<this> {
    await this.#changed()
    if (this.#failed) throw withUsage(this.#failure, this.reported().usage)
    return this
  }

  /** Reads everything into one batch. */
  async buffered (): Promise<OpenResponse<E>> {
    const all: E[] = []
    try {
      for (let events = await this.next(); events !== undefined; events = await this.next()) {
        for (const event of events) all.push(event)
      }
    } catch (error) {
      await this.#partsInFlight()
      throw withUsage(error, this.#wasted.usage) // complete parts are kept
    }
    return { ...bufferedResponse(this.route, all), reported: () => this.reported() }
  }

  async next (): Promise<E[] | undefined> {
    await this.#changed()
    const offer = this.#offers.shift()
    offer?.take()
    if (offer === undefined && this.#failed) throw withUsage(this.#failure, undefined) // also in `reported`
    return offer?.events ?? this.#last()
  }

  /** Waits briefly for the parts in flight after one has failed, and cancels the rest. */
  async #partsInFlight (): Promise<void> {
    const timer = setTimeout(() => this.#cancel(graceIsOver), partsGraceMs)
    while (this.#running > 0) await new Promise<void>(resolve => { this.#wake = resolve })
    clearTimeout(timer)
  }

  isFinished (): boolean {
    return this.#ended
  }

  sizeBytes (): number {
    let size = this.#sizeBytes
    for (const response of this.#responses) size += response.sizeBytes()
    return size
  }

  reported (): ReportedUsage {
    return [...this.#responses].reduce(
      (sum, response) => addReported(sum, response.reported()),
      addReported(this.#complete, this.#wasted)
    )
  }

  close (): void {
    this.#cancel()
    this.#offers.length = 0
  }

  /** Cancels all parts; everything read so far stays available. */
  #cancel (reason?: Error): void {
    this.#stopStarting()
    this.#cancelled.abort(reason)
    for (const response of this.#responses) response.close()
  }

  /** Starts no further part. Parts that wait for their batch to be taken continue. */
  #stopStarting (): void {
    this.#nextPart = this.#parts.length
    for (const { take } of this.#offers) take()
  }

  /** Resolves when there is a batch or a failure, or when all parts have ended. */
  async #changed (): Promise<void> {
    while (this.#offers.length === 0 && !this.#failed && this.#running > 0) {
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  async #run (): Promise<void> {
    try {
      while (this.#nextPart < this.#parts.length) await this.#read(this.#nextPart++)
    } catch (error) {
      this.#wasted = addReported(this.#wasted, { usage: usageOfError(error), unreported: 0 })
      if (!this.#failed) {
        this.#failed = true
        this.#failure = error
        if (this.#keeps) this.#stopStarting()
        else this.#cancel()
      }
    } finally {
      this.#running--
      this.#wake?.()
    }
  }

  async #read (part: number): Promise<void> {
    const received = this.#parts[part]?.answer
    if (received !== undefined) {
      this.#complete = addReported(this.#complete, reportedBy(usageIn(received)))
      return await this.#pass(part, received)
    }
    try {
      await this.#send(part)
      this.#notes.succeeded(part)
    } catch (error) {
      this.#notes.failed(part, error, this.#cancelled.signal.aborted)
      throw error
    }
  }

  async #send (part: number): Promise<void> {
    const response = await this.#open(part, this.#cancelled.signal)
    this.#responses.add(response)
    const answer: E[] = []
    let usage: Usage | undefined
    const reported = (): ReportedUsage => usage === undefined ? response.reported() : reportedBy(usage)
    try {
      for (let read = await response.next(); read !== undefined; read = await response.next()) {
        usage = usageIn(read) ?? usage
        if (this.#keeps) for (const event of read) answer.push(event)
        await this.#pass(part, read)
      }
      const done = this.#parts[part]
      if (this.#keeps && done !== undefined) done.answer = answer
      this.#complete = addReported(this.#complete, reported())
    } catch (error) {
      this.#wasted = addReported(this.#wasted, reported())
      throw error
    } finally {
      response.close()
      this.#responses.delete(response)
      this.#sizeBytes += response.sizeBytes()
    }
  }

  async #pass (part: number, read: readonly E[]): Promise<void> {
    const events: E[] = []
    this.#join.read(part, read, events)
    if (events.length > 0) await this.#offer(events)
  }

  async #offer (events: E[]): Promise<void> {
    if (this.#cancelled.signal.aborted || this.#failed) return
    await new Promise<void>(resolve => {
      this.#offers.push({ events, take: resolve })
      this.#wake?.()
    })
  }

  #last (): E[] | undefined {
    if (this.#ended) return undefined
    this.#ended = true
    const events: E[] = []
    this.#join.end(events)
    return events.length === 0 ? undefined : events
  }
}
