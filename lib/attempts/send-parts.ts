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
import { addReported, reportedBy, sumOfUsage, type ReportedUsage, type Usage } from '../core/usage.ts'
import { ProviderFailure, requestsOfError, withUsage } from '../providers/provider-failure.ts'
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
export async function sendParts<R, E extends AnyEvent> (
  context: SendContext,
  parts: ReadonlyArray<UpstreamPart<R, E>>,
  target: UpstreamTarget<R, E>
): Promise<OpenResponse<E>> {
  const [first] = parts
  if (first === undefined) throw new RangeError('a request has at least one part')
  const requests = new PartRequests(context, parts, target, first.input.route)
  const join = target.adapter.join?.(parts.length) ?? joinChoices<E>(parts.length)
  try {
    return await (first.input.streamed ? new StreamedParts(requests, join).begun() : readAll(requests, join))
  } catch (error) {
    // Every part is recorded or has its answer, so the attempt as a whole must not be billed again.
    throw error instanceof ProviderFailure ? error : asGatewayError(error).with({ isRecorded: true })
  }
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
function joinChoices<E extends AnyEvent> (parts: number): Join<E> {
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
      const requests = [...usages.values()].flatMap(({ usage }) => usage ?? [])
      into.push({ ...first, usage: sumOfUsage(requests), requests })
    }
  }
}

const nothing: ReportedUsage = { requests: [], unreported: 0 }

/** Returns the error of an attempt with what its requests have used. */
function withReported (error: unknown, { requests }: ReportedUsage): unknown {
  return withUsage(error, requests.length === 0 ? undefined : sumOfUsage(requests), requests)
}

/** The requests of the parts, and what these have used. */
class PartRequests<R, E extends AnyEvent> {
  readonly route: Route
  readonly #context: SendContext
  readonly #parts: ReadonlyArray<UpstreamPart<R, E>>
  readonly #target: UpstreamTarget<R, E>
  readonly #notes: PartNotes
  readonly #cancelled = new AbortController()
  readonly #responses = new Set<OpenResponse<E>>()
  #nextPart = 0
  #sizeBytes = 0
  /** Usage of complete parts. */
  #complete = nothing
  /** Usage of failed parts. */
  #wasted = nothing

  constructor (
    context: SendContext, parts: ReadonlyArray<UpstreamPart<R, E>>, target: UpstreamTarget<R, E>, route: Route
  ) {
    this.route = route
    this.#context = context
    this.#parts = parts
    this.#target = target
    this.#notes = new PartNotes(context.call.record, route, context.span)
  }

  /**
   * Reads the parts, a few at a time. Resolves when those that were started have ended.
   *
   * @param onRead called with the events of each read; a part is read on when it returns or resolves
   * @param onFailure called for each part that fails
   */
  async readParts (
    onRead: (part: number, events: readonly E[]) => void | Promise<void>,
    onFailure: (error: unknown) => void
  ): Promise<void> {
    await Promise.all(Array.from({ length: Math.min(maxParallel, this.#parts.length) }, async () => {
      try {
        for (let part = this.#parts[this.#nextPart]; part !== undefined; part = this.#parts[this.#nextPart]) {
          const index = this.#nextPart++
          await this.#read(part, index, events => onRead(index, events))
        }
      } catch (error) {
        this.#wasted = addReported(this.#wasted, { requests: requestsOfError(error), unreported: 0 })
        onFailure(error)
      }
    }))
  }

  /** Starts no further part. */
  stop (): void {
    this.#nextPart = this.#parts.length
  }

  /** Stops, and cancels the parts in flight. */
  cancel (reason?: Error): void {
    this.stop()
    this.#cancelled.abort(reason)
    for (const response of this.#responses) response.close()
  }

  get isCancelled (): boolean {
    return this.#cancelled.signal.aborted
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

  /** Returns the usage of failed parts; complete ones are kept for the next attempt. */
  wasted (): ReportedUsage {
    return this.#wasted
  }

  async #read (
    part: UpstreamPart<R, E>, index: number, onRead: (events: readonly E[]) => void | Promise<void>
  ): Promise<void> {
    if (part.answer !== undefined) {
      this.#complete = addReported(this.#complete, reportedBy(usageIn(part.answer)))
      return await onRead(part.answer)
    }
    try {
      await this.#readResponse(part, await this.#send(part, index), onRead)
      this.#notes.succeeded(index)
    } catch (error) {
      this.#notes.failed(index, error, this.isCancelled)
      throw error
    }
  }

  async #readResponse (
    part: UpstreamPart<R, E>,
    response: OpenResponse<E>,
    onRead: (events: readonly E[]) => void | Promise<void>
  ): Promise<void> {
    this.#responses.add(response)
    const answer: E[] | undefined = part.input.streamed ? undefined : []
    let usage: Usage | undefined
    const reported = (): ReportedUsage => usage === undefined ? response.reported() : reportedBy(usage)
    try {
      for (let read = await response.next(); read !== undefined; read = await response.next()) {
        usage = usageIn(read) ?? usage
        if (answer !== undefined) for (const event of read) answer.push(event)
        await onRead(read)
      }
      if (answer !== undefined) part.answer = answer
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

  async #send (part: UpstreamPart<R, E>, index: number): Promise<OpenResponse<E>> {
    const { call, signal: callSignal, onSent } = this.#context
    const cancelled = this.#cancelled.signal
    let isSent = false
    try {
      return await sendRequest({
        ...this.#context,
        signal: AbortSignal.any([standardSignal(callSignal), cancelled]),
        span: this.#notes.begin(index),
        onSent: () => {
          isSent = true
          onSent?.()
        }
      }, part.input, this.#target)
    } catch (error) {
      const { route } = this
      const share = shareOf(part.input, this.#parts)
      const isCutOff = isSent && cancelled.reason === graceIsOver
      if (isBilled(error) || isCutOff) recordWasted(call, route, { share })
      // If the caller has left, only the prompt counts. A hedge that lost is aborted with a plain Error.
      else if (isSent && callSignal.aborted && callSignal.reason instanceof GatewayError) {
        recordWasted(call, route, { share: { ...share, answer: 0 } })
      }
      throw error
    }
  }
}

/** Reads all parts into one batch. After a failure, the parts in flight are awaited briefly. */
async function readAll<R, E extends AnyEvent> (
  requests: PartRequests<R, E>, join: Join<E>
): Promise<OpenResponse<E>> {
  const all: E[] = []
  let failure: { readonly error: unknown } | undefined
  let grace: NodeJS.Timeout | undefined
  await requests.readParts((part, events) => { join.read(part, events, all) }, error => {
    if (failure !== undefined) return
    failure = { error }
    requests.stop()
    grace = setTimeout(() => { requests.cancel(graceIsOver) }, partsGraceMs)
  })
  clearTimeout(grace)
  if (failure !== undefined) throw withReported(failure.error, requests.wasted())
  join.end(all)
  return { ...bufferedResponse(requests.route, all), reported: () => requests.reported() }
}

/** A batch to be taken; its part is read on only afterwards. */
interface Offer<E> {
  readonly events: E[]
  readonly take: () => void
}

/** Batches of the parts in order of arrival. The first failure cancels the other parts. */
class StreamedParts<R, E extends AnyEvent> implements OpenResponse<E> {
  readonly #requests: PartRequests<R, E>
  readonly #join: Join<E>
  readonly #offers: Array<Offer<E>> = []
  #failure: { readonly error: unknown } | undefined
  #isRead = false
  #isFinished = false
  #wake: (() => void) | undefined

  constructor (requests: PartRequests<R, E>, join: Join<E>) {
    this.#requests = requests
    this.#join = join
    void requests.readParts(async (part, read) => { await this.#offer(part, read) }, error => {
      if (this.#failure !== undefined) return
      this.#failure = { error }
      this.#cancel()
      this.#wake?.()
    }).then(() => {
      this.#isRead = true
      this.#wake?.()
    })
  }

  get route (): Route {
    return this.#requests.route
  }

  /** Waits for the first batch, without taking it. */
  async begun (): Promise<this> {
    await this.#changed()
    if (this.#failure !== undefined) throw withReported(this.#failure.error, this.reported())
    return this
  }

  async next (): Promise<E[] | undefined> {
    await this.#changed()
    const offer = this.#offers.shift()
    if (offer !== undefined) {
      offer.take()
      return offer.events
    }
    if (this.#failure !== undefined) throw withUsage(this.#failure.error, undefined) // also in `reported`
    if (this.#isFinished) return undefined
    this.#isFinished = true
    const events: E[] = []
    this.#join.end(events)
    return events.length === 0 ? undefined : events
  }

  isFinished (): boolean {
    return this.#isFinished
  }

  sizeBytes (): number {
    return this.#requests.sizeBytes()
  }

  reported (): ReportedUsage {
    return this.#requests.reported()
  }

  close (): void {
    this.#cancel()
    this.#offers.length = 0
  }

  /** Cancels all parts, also those that wait for a batch to be taken. Batches stay available. */
  #cancel (): void {
    this.#requests.cancel()
    for (const { take } of this.#offers) take()
  }

  /** Resolves when there is a batch or a failure, or when all parts have ended. */
  async #changed (): Promise<void> {
    while (this.#offers.length === 0 && this.#failure === undefined && !this.#isRead) {
      await new Promise<void>(resolve => { this.#wake = resolve })
    }
  }

  /** Resolves when the batch was taken. */
  async #offer (part: number, read: readonly E[]): Promise<void> {
    const events: E[] = []
    this.#join.read(part, read, events)
    if (events.length === 0 || this.#requests.isCancelled) return
    await new Promise<void>(resolve => {
      this.#offers.push({ events, take: resolve })
      this.#wake?.()
    })
  }
}
