/**
 * The metrics of all workers as one: the primary process asks them, over the channel that every child
 * process has, when it is asked itself.
 */

import { send, type IpcChannel } from '../async/ipc.ts'
import { mergeFamilies, type Family } from './metric-families.ts'
import { withTimeout } from '../async/with-timeout.ts'

/** Messages of others travel on the same channel. */
type Message =
  | { readonly metrics: 'tell' }
  | { readonly metrics: 'told', readonly families: readonly Family[] }

/** A worker that takes longer is too busy: what it said last has to do. */
const reportTimeoutMs = 1000

/** In a worker: answers the primary. */
export function serveMetricsRequests (primary: IpcChannel<Message>, families: () => Family[]): void {
  primary.on('message', message => {
    if (isMessage(message) && message.metrics === 'tell') send(primary, { metrics: 'told', families: families() })
  })
}

interface Member {
  /** What it said last. */
  families: readonly Family[]
  heard: () => void
}

/** In the primary. */
export class SharedMetrics {
  readonly #members = new Map<IpcChannel<Message>, Member>()
  /** What those that are gone had counted: a counter that goes back looks like a restart of everything. */
  #gone: readonly Family[] = []
  #asking: Promise<void> | undefined

  join (worker: IpcChannel<Message>): void {
    const member: Member = { families: [], heard: () => {} }
    this.#members.set(worker, member)
    worker.on('message', message => {
      if (!isMessage(message) || message.metrics !== 'told') return
      member.families = message.families
      member.heard()
    })
    worker.on('disconnect', () => {
      this.#members.delete(worker)
      this.#gone = mergeFamilies([this.#gone, member.families.filter(({ type }) => type !== 'gauge')])
      member.heard()
    })
  }

  /** Of all workers there are and were. */
  async families (): Promise<Family[]> {
    this.#asking ??= this.#ask().finally(() => { this.#asking = undefined })
    await this.#asking
    return mergeFamilies([...[...this.#members.values()].map(({ families }) => families), this.#gone])
  }

  async #ask (): Promise<void> {
    const answers = [...this.#members].map(async ([worker, member]) => {
      await new Promise<void>(resolve => {
        member.heard = resolve
        send(worker, { metrics: 'tell' })
      })
    })
    await withTimeout(reportTimeoutMs, Promise.all(answers))
  }
}

function isMessage (message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'metrics' in message
}
