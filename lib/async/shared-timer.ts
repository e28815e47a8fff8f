/**
 * Times many waits of equal length with one Node.js timer, such as those of 10,000 open streams, which every
 * event restarts. Separate timers with their functions would take 0.25 KB each.
 */

import { Ring, RingMember } from './ring.ts'

/** The base class of whatever waits; a member waits for one timer at a time. */
export abstract class TimedMember extends RingMember {
  /** When the wait ends, by `performance.now()`. */
  dueMs = 0

  /** Called when the wait ends; it must not throw. */
  abstract onDue (): void
}

/** Members called in one tick: thousands of streams may have begun at the same time. */
const membersPerTick = 200

export class SharedTimer {
  readonly #ms: number
  /** In order of their end. */
  readonly #waiting = new Ring<TimedMember>()
  #timer: NodeJS.Timeout | undefined

  constructor (ms: number) {
    this.#ms = ms
  }

  /** Starts or restarts the wait of a member. It does not keep the process running. */
  start (member: TimedMember): void {
    this.#waiting.delete(member)
    this.#waiting.add(member)
    member.dueMs = performance.now() + this.#ms
    if (this.#timer === undefined) this.#runAfter(this.#ms)
  }

  /** Stops the wait of a member, if there is one. */
  stop (member: TimedMember): void {
    this.#waiting.delete(member)
  }

  #runAfter (ms: number): void {
    this.#timer = setTimeout(() => this.#run(), Math.ceil(ms)).unref()
  }

  #run (): void {
    const nowMs = performance.now()
    try {
      for (let count = 0; count < membersPerTick; count++) {
        const { first } = this.#waiting
        if (first === undefined || first.dueMs > nowMs) break
        this.#waiting.delete(first)
        first.onDue()
      }
    } finally {
      const { first } = this.#waiting
      // Not earlier: a member that restarts its wait would set a timer for itself, and due members would wait
      // for that one.
      this.#timer = undefined
      if (first !== undefined) this.#runAfter(Math.max(0, first.dueMs - performance.now()))
    }
  }
}

const timers = new Map<number, SharedTimer>()

/** Returns the timer for all waits of this length. Each length has one, so use few lengths. */
export function sharedTimer (ms: number): SharedTimer {
  let timer = timers.get(ms)
  if (timer === undefined) timers.set(ms, timer = new SharedTimer(ms))
  return timer
}
