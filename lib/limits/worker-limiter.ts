/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over IPC.
 * Only calls of limited keys do this.
 *
 * An IPC message costs far more than the decision, so a worker sends all reservations and settlements of one
 * tick in one message and gets all decisions in one. Requests made while it waits go into the next message. A
 * single call waits only for the end of the tick.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json/type-guards.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { sendMessage, type IpcChannel, type WorkerChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { Account } from './call-accounts.ts'
import {
  cancelledUsage,
  type LimitDecision,
  type ReservationRequest,
  type ActualUsage,
  type RecordedUsage
} from './reservation.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules share this IPC channel. */
type Message =
  | CountMessage
  | DecisionsMessage
  | { readonly limits: 'settled', readonly request: number }

interface CountMessage {
  readonly limits: 'count'
  /** Each distinct list of accounts once: lists make up most of a message. */
  readonly lists: ReadonlyArray<readonly Account[]>
  readonly reserve: readonly NumberedReservation[]
  readonly settle: readonly Settlement[]
  readonly record: readonly NumberedRecord[]
}

interface DecisionsMessage {
  readonly limits: 'decisions'
  readonly decisions: readonly NumberedDecision[]
  /** True if sent separately, after the other decisions. */
  readonly isLate: boolean
}

/** Replaces the list of accounts with its index in the message. */
type Listed<T extends { readonly accounts: readonly Account[] }> =
  Omit<T, 'accounts'> & { readonly accounts: number }

/** Numbered by the worker. */
interface NumberedReservation {
  readonly request: number
  readonly reservation: Listed<ReservationRequest>
}

interface NumberedDecision {
  readonly request: number
  readonly decision: LimitDecision
}

interface Settlement {
  readonly reservation: number
  readonly used: ActualUsage
}

/** Numbered like reservations. */
interface NumberedRecord {
  readonly request: number
  readonly usages: ReadonlyArray<Listed<RecordedUsage>>
}

interface Waiting<Reply> {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: GatewayError) => void
}

/**
 * Milliseconds that a call waits for a free concurrency slot. A caller may receive the last byte of an answer
 * and send a call to another worker before the first call is settled.
 */
const placeWaitMs = 20

/** Reserves for the calls of a worker, at the primary. */
export class WorkerLimiter implements Limiter {
  readonly #primary: IpcChannel<Message>
  readonly #maxWaitMs: number
  readonly #deciding = new Map<number, Waiting<LimitDecision>>()
  readonly #recording = new Map<number, Waiting<void>>()
  #lastRequest = 0
  #next = new NextMessage()
  /** True while there is something to send. */
  #isDue = false
  /** True until the decisions on the last message arrive. */
  #isAsking = false

  /** @param maxWaitMs how long a call waits for a decision; the event loop of the primary may be blocked */
  constructor (primary: IpcChannel<Message>, maxWaitMs = 15_000) {
    this.#primary = primary
    this.#maxWaitMs = maxWaitMs
    primary.on('message', message => { if (isMessage(message)) this.#onMessage(message) })
    primary.on('disconnect', () => {
      for (const waiting of [this.#deciding, this.#recording]) {
        for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
        waiting.clear()
      }
    })
  }

  async reserve (request: ReservationRequest): Promise<LimitDecision> {
    const decision = this.#ask(this.#deciding, number => this.#next.addReservation(number, request))
    const inTime = await withTimeout(this.#maxWaitMs, decision)
    if (inTime !== undefined) return inTime
    decision.then(late => {
      if (late.admitted) this.settle(late.reservation, cancelledUsage)
    }, () => { /* nothing is reserved */ })
    throw new GatewayError('overloaded', {
      message: 'The limits of this key could not be checked in time. Try again later.',
      retryAfterSeconds: 5
    })
  }

  settle (reservation: number, used: ActualUsage): void {
    this.#next.settle.push({ reservation, used })
    this.#sendSoon()
  }

  settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    return this.#ask(this.#recording, number => this.#next.addRecord(number, usages))
  }

  /** Sends the next message now, before the worker exits. */
  flush (): void {
    this.#isAsking = false
    this.#send()
  }

  #ask<Reply> (waiting: Map<number, Waiting<Reply>>, add: (request: number) => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#primary.connected === false) return reject(new GatewayError('shutting_down'))
      const request = ++this.#lastRequest
      waiting.set(request, { resolve, reject })
      add(request)
      this.#sendSoon()
    })
  }

  /** Sends at the end of the tick, or when the decisions on the last message arrive. */
  #sendSoon (): void {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(this.#send)
  }

  readonly #send = (): void => {
    if (this.#isAsking || !this.#isDue) return
    const message = this.#next.message()
    this.#next = new NextMessage()
    this.#isDue = false
    this.#isAsking = message.reserve.length > 0
    sendMessage(this.#primary, message)
  }

  #onMessage (message: Message): void {
    if (message.limits === 'settled') {
      this.#recording.get(message.request)?.resolve()
      this.#recording.delete(message.request)
    }
    if (message.limits !== 'decisions') return
    for (const { request, decision } of message.decisions) {
      this.#deciding.get(request)?.resolve(decision)
      this.#deciding.delete(request)
    }
    if (message.isLate) return
    this.#isAsking = false
    if (this.#isDue) setImmediate(this.#send)
  }
}

/** The next message of a worker. */
class NextMessage {
  readonly #lists: Array<readonly Account[]> = []
  /** The index of each list, by its JSON: calls of one key have equal lists. */
  readonly #indexes = new Map<string, number>()
  readonly #reserve: NumberedReservation[] = []
  readonly #record: NumberedRecord[] = []
  readonly settle: Settlement[] = []

  addReservation (request: number, reservation: ReservationRequest): void {
    this.#reserve.push({ request, reservation: this.#listed(reservation) })
  }

  addRecord (request: number, usages: readonly RecordedUsage[]): void {
    this.#record.push({ request, usages: usages.map(usage => this.#listed(usage)) })
  }

  message (): CountMessage {
    return {
      limits: 'count',
      lists: this.#lists,
      reserve: this.#reserve,
      settle: this.settle,
      record: this.#record
    }
  }

  /** Replaces a list of accounts with its index; adds new lists. */
  #listed<T extends { readonly accounts: readonly Account[] }> (from: T): Listed<T> {
    const json = JSON.stringify(from.accounts)
    let index = this.#indexes.get(json)
    if (index === undefined) {
      index = this.#lists.push(from.accounts.map(withoutBudgets)) - 1
      this.#indexes.set(json, index)
    }
    return { ...from, accounts: index }
  }
}

/** Removes budgets: only errors and warnings need them, and workers make those. */
function withoutBudgets (account: Account): Account {
  if (account.counting !== 'sum') return account
  const { budget: _budget, soft: _soft, ...counted } = account
  return counted
}

/**
 * Serves a worker in the primary. When it exits, releases its reservations; those in sums once its usage rows
 * are stored.
 */
export function answerLimitMessages (
  worker: WorkerChannel<Message>,
  limiter: LocalLimiter,
  holder: string
): void {
  let hasExited = false
  worker.on('message', message => {
    if (hasExited || !isMessage(message) || message.limits !== 'count') return
    const { lists } = message
    // A worker sends every list that it refers to.
    const accountsAt = (index: number): readonly Account[] => lists[index] as readonly Account[]
    // Settle first: it frees capacity.
    for (const { reservation, used } of message.settle) limiter.settle(reservation, used)
    for (const { request, usages } of message.record) {
      const recorded = usages.map(usage => ({ ...usage, accounts: accountsAt(usage.accounts) }))
      // The worker stores no rows until it gets the reply, so it always gets one.
      const reply = (): void => { sendMessage(worker, { limits: 'settled', request }) }
      void limiter.settleRecorded(recorded).then(reply, reply)
    }
    if (message.reserve.length === 0) return
    const decisions: NumberedDecision[] = []
    for (const { request, reservation: listed } of message.reserve) {
      const reservation = { ...listed, accounts: accountsAt(listed.accounts) }
      const decision = limiter.reserve(reservation, holder)
      // Calls that wait for the ledger or for a free slot do not delay the others.
      if (decision instanceof Promise || hasNoPlace(reservation, decision))
        void answerLater(request, reservation, decision)
      else decisions.push({ request, decision })
    }
    // Sent even if empty, because the worker waits for it.
    sendMessage(worker, { limits: 'decisions', decisions, isLate: false })
  })
  worker.on('exit', () => {
    hasExited = true
    limiter.release(holder)
  })

  const answerLater = async (
    request: number,
    reservation: ReservationRequest,
    pending: LimitDecision | Promise<LimitDecision>
  ): Promise<void> => {
    let decision = await pending
    if (hasNoPlace(reservation, decision)) {
      await delay(placeWaitMs)
      decision = await limiter.reserve(reservation, holder)
    }
    if (!hasExited)
      sendMessage(worker, { limits: 'decisions', decisions: [{ request, decision }], isLate: true })
    // The worker exited while usage rows were read, so no call has the reservation.
    else if (decision.admitted) limiter.settle(decision.reservation, cancelledUsage)
  }
}

function hasNoPlace ({ accounts }: ReservationRequest, decision: LimitDecision): boolean {
  return !decision.admitted && accounts[decision.accountIndex]?.counting === 'open'
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'limits' in message
}
