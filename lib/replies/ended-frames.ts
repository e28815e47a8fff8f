import { pulling, type PullResult, type PullSource } from '../core/flow.ts'

type Frame = string | Uint8Array

const done: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * Adds to frames those that a printer yields at its end.
 *
 * A call is on record before its last frame leaves: that a frame is the last one is known before it is given, so the end is
 * read one frame ahead.
 */
export class EndedFrames implements AsyncIterableIterator<Frame, undefined>, PullSource<Frame> {
  readonly #frames: PullSource<Frame>
  readonly #last: () => AsyncIterable<string> | undefined
  /** The frames of the end; set once the others are over. */
  #rest: AsyncIterator<string, unknown> | undefined
  /** The frame that was read ahead. */
  #ahead: Frame | undefined
  #hasEnded = false

  /** @param last is called when the frames are over; it returns `undefined` where they are all */
  constructor (frames: AsyncIterable<Frame>, last: () => AsyncIterable<string> | undefined) {
    this.#frames = pulling(frames)
    this.#last = last
  }

  get hasEnded (): boolean {
    return this.#hasEnded
  }

  /** Frames at the end are there, or made at once, unless something is waited for before them. */
  get isRead (): boolean {
    return this.#rest === undefined && this.#frames.isRead === true
  }

  whenReady (go: () => void): boolean {
    return this.#rest === undefined && !this.#hasEnded && this.#frames.whenReady?.(go) === true
  }

  pause (): void {
    if (this.#rest === undefined) this.#frames.pause?.()
  }

  pull (): PullResult<Frame> | Promise<PullResult<Frame>> {
    if (this.#hasEnded) return done
    if (this.#rest !== undefined) return this.#pullRest(this.#rest)
    const given = this.#frames.pull()
    return given instanceof Promise ? given.then(there => this.#take(there)) : this.#take(given)
  }

  async next (): Promise<PullResult<Frame>> {
    return await this.pull()
  }

  async return (): Promise<PullResult<Frame>> {
    this.#hasEnded = true
    await (this.#rest ?? this.#frames).return?.()
    return done
  }

  [Symbol.asyncIterator] (): this {
    return this
  }

  #take (given: PullResult<Frame>): PullResult<Frame> | Promise<PullResult<Frame>> {
    if (given.done !== true && this.#frames.hasEnded !== true) return given
    const last = this.#last()
    if (last === undefined) {
      this.#hasEnded = true
      return given
    }
    this.#ahead = given.value
    this.#rest = last[Symbol.asyncIterator]()
    return this.#pullRest(this.#rest)
  }

  async #pullRest (rest: AsyncIterator<string, unknown>): Promise<PullResult<Frame>> {
    const frame = this.#ahead ?? await this.#read(rest)
    this.#ahead = frame === undefined ? undefined : await this.#read(rest)
    this.#hasEnded = this.#ahead === undefined
    return frame === undefined ? done : { done: false, value: frame }
  }

  async #read (rest: AsyncIterator<string, unknown>): Promise<string | undefined> {
    const given = await rest.next()
    return given.done === true ? undefined : given.value
  }
}
