/**
 * Stores the bodies of ended calls whose project keeps them, one call after the other. Bodies without room in
 * memory are dropped and counted: calls never wait for this, and their usage rows do not depend on it.
 */

import { Outage } from '../async/outage.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { projectIdOf } from '../core/key.ts'
import { bodyRules, hasBodies, type CallRule, type KeptBodies } from './body-rules.ts'
import { BoundedMemory, CallCapture, type BodyMemory } from './call-capture.ts'
import { printBody, type PrintOptions } from './print-body.ts'
import { secretsIn, takeCapture } from './several-captures.ts'
import type { CaptureBodies } from '../core/body-capture.ts'
import type { Call } from '../core/call.ts'
import type { Secret } from '../core/secret.ts'
import type { CallBodyStore } from '../stores/call-body-store.ts'
import type { UsageRow } from '../stores/tables.ts'

export interface BodyRecorderOptions {
  /** Memory for bodies not stored yet. */
  readonly maxMemoryBytes: () => number
  /** Called with the first of several failures to store a body. */
  readonly onFailure: (error: unknown) => void
}

class KeptCapture extends CallCapture<CallRule> {}

interface CapturedCall {
  readonly capture: KeptCapture
  readonly row: Pick<UsageRow, 'id' | 'at_ms'>
  readonly secrets: readonly string[]
}

/**
 * Maximum calls that wait to be stored, including those with dropped bodies. For further calls, not even the
 * drop is recorded.
 */
const maxWaiting = 10_000

/** Maximum wait at the end of the process. */
const closeMs = 5000

export class BodyRecorder {
  readonly #store: Pick<CallBodyStore, 'add'>
  readonly #memory: BodyMemory
  #waiting: CapturedCall[] = []
  #dropped = 0
  readonly #outage: Outage
  #work: Promise<void> | undefined

  constructor (store: Pick<CallBodyStore, 'add'>, options: BodyRecorderOptions) {
    this.#store = store
    this.#outage = new Outage({ onBegin: options.onFailure })
    this.#memory = new BoundedMemory(options.maxMemoryBytes)
  }

  /** Calls whose bodies were dropped since the start. */
  get dropped (): number {
    return this.#dropped
  }

  /**
   * Returns the capture of bodies for a configuration.
   *
   * @param secrets of the gateway, to be redacted
   */
  capturing (kept: KeptBodies, secrets: readonly Secret[]): CaptureBodies {
    const ruleOf = bodyRules(kept)
    return (key, endpoint) => {
      const rule = hasBodies(endpoint) ? ruleOf(key) : undefined
      return rule && new KeptCapture({ ...rule, projectId: projectIdOf(key), secrets }, this.#memory)
    }
  }

  /**
   * Takes over the bodies of an ended call.
   *
   * @param row its usage row; without one nothing is stored
   */
  end ({ headers, record }: Call, row: UsageRow | undefined): void {
    const capture = takeCapture(record, KeptCapture)
    if (capture === undefined) return
    if (capture.isDropped) this.#dropped++
    if (row === undefined || this.#waiting.length >= maxWaiting) return capture.release()
    this.#waiting.push({ capture, row, secrets: secretsIn(headers) })
    this.#work ??= this.#storeAll()
  }

  /** Resolves when the bodies of all ended calls are stored. */
  async flush (): Promise<void> {
    while (this.#work !== undefined) await this.#work
  }

  /** Stores the waiting bodies, for a few seconds at most. */
  async close (): Promise<void> {
    await withTimeout(closeMs, this.flush())
  }

  async #storeAll (): Promise<void> {
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        try {
          await this.#storeOne(next)
          this.#outage.succeeded()
        } catch (error) {
          if (!next.capture.isDropped) this.#dropped++
          this.#outage.failed(error)
        } finally {
          next.capture.release()
        }
      }
    } finally {
      this.#work = undefined // immediately: what ends after the last check needs work of its own
    }
  }

  async #storeOne ({ capture, row, secrets: presented }: CapturedCall): Promise<void> {
    const { rule, request, answer, isDropped } = capture
    const { redaction, maxBytes, keepMs, readableBy, projectId, secrets } = rule
    const options: PrintOptions = {
      redaction,
      maxBytes,
      secrets: [...secrets.map(secret => secret.reveal()), ...presented]
    }
    await this.#store.add({
      id: row.id,
      project_id: projectId,
      readable_by: readableBy,
      expires_at_ms: row.at_ms + keepMs,
      state: isDropped ? 'dropped' : 'kept',
      request: request && await printBody(request, options),
      answer: answer && await printBody(answer, options)
    })
  }
}
