/**
 * Shares one limiter among all workers of a machine: the primary process counts, workers reserve over the
 * IPC channel. Only calls of limited keys do so.
 *
 * A message costs both processes far more than what it asks for. So all that a worker reserves and settles in
 * one turn of the event loop is one message, and so are the decisions on it. What comes up while a worker
 * waits for decisions is sent after them. A call by itself waits for nothing but the end of the turn.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../json/guards.ts'
import { sendMessage, type IpcChannel, type WorkerChannel } from '../async/ipc.ts'
import { GatewayError } from '../core/errors.ts'
import type { Account } from './call-accounts.ts'
import {
  undoReservation,
  type ActualUsage,
  type LimitDecision,
  type RecordedUsage,
  type ReservationRequest
} from './reservation.ts'
import type { Limiter, LocalLimiter } from './limiter.ts'

/** Other modules send messages over the same IPC channel. */
type Message =
  | CountMessage
  | DecisionsMessage
  | { readonly limits: 'settled', readonly request: number }

interface CountMessage {
  readonly limits: 'count'
  /** Each list of accounts that calls of this message have, once: it is most of the text of a call. */
  readonly lists: ReadonlyArray<readonly Account[]>
  readonly reserve: readonly NumberedReservation[]
  readonly settle: readonly Settlement[]
  readonly record: readonly NumberedRecord[]
}

interface DecisionsMessage {
  readonly limits: 'decisions'
  readonly decisions: readonly NumberedDecision[]
  /** True where it was sent by itself, later than the others. */
  readonly isLate: boolean
}

/** Has the index of its list of accounts in the message. */
type Listed<T extends { readonly accounts: readonly Account[] }> =
  Omit<T, 'accounts'> & { readonly accounts: number }

/** Requests are numbered by their worker. */
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
 * Milliseconds for which a call without a place waits for one. A caller may have the last byte of an answer,
 * and be with another worker, before the settlement of that call has come.
 */
const placeWaitMs = 20

/** Reserves for the calls of a worker, at the primary. */
export class WorkerLimiter implements Limiter {
  readonly #primary: IpcChannel<Message>
  readonly #deciding = new Map<number, Waiting<LimitDecision>>()
  readonly #recording = new Map<number, Waiting<void>>()
  #lastRequest = 0
  #next = new NextMessage()
  /** True while there is something to send. */
  #isDue = false
  /** True while the decisions on the last message have not come. */
  #isAsking = false

  constructor (primary: IpcChannel<Message>) {
    this.#primary = primary
    primary.on('message', message => { if (isMessage(message)) this.#onMessage(message) })
    primary.on('disconnect', () => {
      for (const waiting of [this.#deciding, this.#recording]) {
        for (const { reject } of waiting.values()) reject(new GatewayError('shutting_down'))
        waiting.clear()
      }
    })
  }

  reserve (request: ReservationRequest): Promise<LimitDecision> {
    return this.#ask(this.#deciding, number => this.#next.addReservation(number, request))
  }

  settle (reservation: number, used: ActualUsage): void {
    this.#next.settle.push({ reservation, used })
    this.#sendSoon()
  }

  settleRecorded (usages: readonly RecordedUsage[]): Promise<void> {
    return this.#ask(this.#recording, number => this.#next.addRecord(number, usages))
  }

  /** Sends what waits for the next message: before the worker exits. */
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

  /** Sends at the end of the turn, or when the decisions on the last message have come. */
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

/** What a worker sends next. */
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

  /** Replaces a list of accounts with its index, and adds it where it is new. */
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

/** Leaves out budgets: they are for errors and warnings, which workers make. */
function withoutBudgets (account: Account): Account {
  if (account.counting !== 'sum') return account
  const { budget: _budget, soft: _soft, ...counted } = account
  return counted
}

/**
 * Serves a worker in the primary, and releases its reservations when it exits: what they have of budgets once
 * its usage rows are stored.
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
    // A worker sends each list that it names.
    const accountsAt = (index: number): readonly Account[] => lists[index] as readonly Account[]
    // First, as that makes room.
    for (const { reservation, used } of message.settle) limiter.settle(reservation, used)
    for (const { request, usages } of message.record) {
      const recorded = usages.map(usage => ({ ...usage, accounts: accountsAt(usage.accounts) }))
      // The worker stores no row before the reply, so it gets one in any case.
      const reply = (): void => { sendMessage(worker, { limits: 'settled', request }) }
      void limiter.settleRecorded(recorded).then(reply, reply)
    }
    if (message.reserve.length === 0) return
    const decisions: NumberedDecision[] = []
    for (const { request, reservation: listed } of message.reserve) {
      const reservation = { ...listed, accounts: accountsAt(listed.accounts) }
      const decision = limiter.reserve(reservation, holder)
      // While the ledger is read for one key, or a place is waited for, others do not wait.
      if (decision instanceof Promise || hasNoPlace(reservation, decision))
        void answerLater(request, reservation, decision)
      else decisions.push({ request, decision })
    }
    // Also without any: the worker sends no more before it comes.
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
    // The worker exited while usage rows were read: no call has the reservation.
    if (!hasExited)
      sendMessage(worker, { limits: 'decisions', decisions: [{ request, decision }], isLate: true })
    else if (decision.admitted) limiter.settle(decision.reservation, undoReservation)
  }
}

function hasNoPlace ({ accounts }: ReservationRequest, decision: LimitDecision): boolean {
  return !decision.admitted && accounts[decision.accountIndex]?.counting === 'open'
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'limits' in message
}
