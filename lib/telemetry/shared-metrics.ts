/** Combines the metrics of all workers: the primary process requests them over IPC when it is scraped. */

import { isObject } from '../json/type-guards.ts'
import { sendMessage, type IpcChannel, type WorkerChannel } from '../async/ipc.ts'
import { mergeFamilies, type Family } from './metric-families.ts'
import { withTimeout } from '../async/with-timeout.ts'

/** Other modules share this IPC channel. */
type Message =
  | { readonly metrics: 'request' }
  | { readonly metrics: 'report', readonly families: readonly Family[] }

/** A slower worker is too busy; its last report is used instead. */
const reportTimeoutMs = 1000

/** Answers the primary, in a worker. */
export function answerMetricsMessages (primary: IpcChannel<Message>, families: () => Family[]): void {
  primary.on('message', message => {
    if (isMessage(message) && message.metrics === 'request') {
      sendMessage(primary, { metrics: 'report', families: families() })
    }
  })
}

interface Member {
  /** Its last report. */
  families: readonly Family[]
  onReport: () => void
}

/** The primary's side. */
export class SharedMetrics {
  readonly #members = new Map<WorkerChannel<Message>, Member>()
  /** Counts of exited workers. Without them counters would decrease, which looks like a restart. */
  #exited: readonly Family[] = []
  #collecting: Promise<void> | undefined

  join (worker: WorkerChannel<Message>): void {
    const member: Member = { families: [], onReport: () => {} }
    this.#members.set(worker, member)
    worker.on('message', message => {
      if (!isMessage(message) || message.metrics !== 'report') return
      member.families = message.families
      member.onReport()
    })
    worker.on('exit', () => {
      this.#members.delete(worker)
      this.#exited = mergeFamilies([this.#exited, member.families.filter(({ type }) => type !== 'gauge')])
      member.onReport()
    })
  }

  /** Returns the metrics of all workers, including exited ones. */
  async families (): Promise<Family[]> {
    this.#collecting ??= this.#collect().finally(() => { this.#collecting = undefined })
    await this.#collecting
    return mergeFamilies([...[...this.#members.values()].map(({ families }) => families), this.#exited])
  }

  async #collect (): Promise<void> {
    const answers = [...this.#members].map(async ([worker, member]) => {
      await new Promise<void>(resolve => {
        member.onReport = resolve
        sendMessage(worker, { metrics: 'request' })
      })
    })
    await withTimeout(reportTimeoutMs, Promise.all(answers))
  }
}

function isMessage (message: unknown): message is Message {
  return isObject(message) && 'metrics' in message
}
