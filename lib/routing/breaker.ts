/**
 * Notices that a model at a provider is in trouble, so that calls with another choice need not find
 * out for themselves.
 *
 *     closed ── 5 failures in a row, or half of the last 20 ──► open ── cool-down ──► one probe
 *        ▲                                                       ▲                     │     │
 *        └────────────────────── it answers ─────────────────────┼─────────────────────┘     │
 *                                                                └── it fails: twice as long ┘
 *
 * It refuses nobody: whether an open circuit is passed over is for those to say who have another
 * route. What such a call finds out counts as well.
 */

const streak = 5
/** Attempts that are remembered, as the bits of a number: a failure is a one, the newest is the last. */
const remembered = 20
const all = 2 ** remembered - 1
const latest = 2 ** streak - 1
/** What happened before so long a silence says nothing about now. */
const forgottenAfterMs = 60_000
const firstCoolMs = 5000
const longestCoolMs = 60_000

/** An attempt that has begun: its outcome counts only as long as nothing has changed in between. */
export interface Attempt {
  readonly era: number
  readonly isProbe: boolean
}

/** The first attempt at a model of which nothing is known. */
export const firstAttempt: Attempt = { era: 0, isProbe: false }

export class Breaker {
  #outcomes = 0
  #seen = 0
  #lastMs = -Infinity
  /** When a probe may be made; `undefined` while closed. */
  #probeAtMs: number | undefined
  #coolMs = firstCoolMs
  #probing = false
  /** Counts openings and closings. */
  #era = 0

  /** True from the failures that opened it until an attempt succeeds. */
  get isOpen (): boolean {
    return this.#probeAtMs !== undefined
  }

  /** Milliseconds until a probe may be made, 0 while one is under way; `undefined` when a call may go. */
  openForMs (nowMs: number): number | undefined {
    if (this.#probeAtMs === undefined) return undefined
    if (nowMs < this.#probeAtMs) return this.#probeAtMs - nowMs
    return this.#probing ? 0 : undefined
  }

  /** Must be followed by `ended`, whatever happens. */
  begin (nowMs: number): Attempt {
    const isProbe = this.#probeAtMs !== undefined && nowMs >= this.#probeAtMs && !this.#probing
    if (isProbe) this.#probing = true
    return { era: this.#era, isProbe }
  }

  succeeded ({ era }: Attempt, nowMs: number): void {
    if (era !== this.#era) return
    if (this.#probeAtMs === undefined) this.#remember(0, nowMs)
    else this.#close()
  }

  failed ({ era }: Attempt, nowMs: number): void {
    if (era !== this.#era) return
    if (this.#probeAtMs === undefined) {
      this.#remember(1, nowMs)
      if (this.#isBad()) this.#open(nowMs)
    } else if (nowMs >= this.#probeAtMs) {
      this.#coolMs = Math.min(this.#coolMs * 2, longestCoolMs)
      this.#open(nowMs)
    }
  }

  /** The answer to an attempt that had succeeded was cut off: the newest success was none. */
  recordStreamFailure (nowMs: number): void {
    if (this.#probeAtMs !== undefined) return
    if (this.#seen === 0 || this.#isForgotten(nowMs)) this.#remember(1, nowMs)
    else this.#outcomes = (this.#outcomes | (this.#outcomes + 1)) & all // the last zero becomes a one
    if (this.#isBad()) this.#open(nowMs)
  }

  /** Makes room for another probe when this one has found nothing out. */
  ended ({ era, isProbe }: Attempt): void {
    if (isProbe && era === this.#era) this.#probing = false
  }

  #remember (outcome: 0 | 1, nowMs: number): void {
    if (this.#isForgotten(nowMs)) this.#forget()
    this.#lastMs = nowMs
    this.#outcomes = ((this.#outcomes << 1) | outcome) & all
    this.#seen = Math.min(this.#seen + 1, remembered)
  }

  #isForgotten (nowMs: number): boolean {
    return nowMs - this.#lastMs > forgottenAfterMs
  }

  #isBad (): boolean {
    if ((this.#outcomes & latest) === latest) return true
    return this.#seen === remembered && ones(this.#outcomes) * 2 >= remembered
  }

  #open (nowMs: number): void {
    this.#probeAtMs = nowMs + this.#coolMs
    this.#probing = false
    this.#era++
  }

  #close (): void {
    this.#probeAtMs = undefined
    this.#coolMs = firstCoolMs
    this.#probing = false
    this.#era++
    this.#forget()
  }

  #forget (): void {
    this.#outcomes = 0
    this.#seen = 0
  }
}

function ones (bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}
