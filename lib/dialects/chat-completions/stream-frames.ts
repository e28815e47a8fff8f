/**
 * Prints the frames that the streams of a model have in common but for the id and the time of the answer and its counts: the role, what is around
 * a text, the end. Those of a stream that begins like the last one of its model are put together of texts; to make and print their
 * chunks takes 7 µs more.
 */

import { ChunkBuilder, completionUsage, type Chunk, type StreamEnd } from './chunk.ts'
import { placeholder } from '../../json/placeholder.ts'
import { copyString } from '../../text/copy-string.ts'
import { memoized } from '../../text/memoized.ts'
import { endOfStream, sseData } from '../../wire/sse.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'

/** The text around that of a delta. */
export interface Frame {
  readonly before: string
  readonly after: string
  readonly isAscii: boolean
}

const noUsage: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
/** Those of the last stream of each model. */
const known = memoized((): { last?: StreamFrames } => ({}))

/** Returns the frames of streams that begin like this one. @param withUsage true where usage comes in a chunk of its own */
export function streamFrames (head: AnswerHead, withUsage: boolean): StreamFrames {
  const frames = known(head.model)
  return frames.last?.isOf(head, withUsage) === true ? frames.last : frames.last = new StreamFrames(head, withUsage)
}

/** The frames of choice 0, without what stands in front of their model. */
export class StreamFrames {
  readonly #head: AnswerHead
  readonly #withUsage: boolean
  readonly #role: string
  readonly #text: Frame
  readonly #beforeUsage: string
  readonly #afterUsage: string
  readonly #finishes = new Map<FinishReason, string>()

  constructor (head: AnswerHead, withUsage: boolean) {
    this.#head = { ...head, id: '', createdSeconds: 0 }
    this.#withUsage = withUsage
    const [role = '', text = ''] = this.#printed({ type: 'text-delta', choice: 0, text: placeholder })
    this.#role = role
    this.#text = around(text, placeholder)
    const [usage = ''] = this.#printed({ type: 'usage', usage: noUsage })
    const [beforeUsage = '', afterUsage = ''] = usage.split(JSON.stringify(completionUsage(noUsage)))
    this.#beforeUsage = beforeUsage
    this.#afterUsage = afterUsage
  }

  isOf ({ fingerprint, serviceTier }: AnswerHead, withUsage: boolean): boolean {
    return fingerprint === this.#head.fingerprint && serviceTier === this.#head.serviceTier && withUsage === this.#withUsage
  }

  /** Returns the frame of the role. */
  role (head: AnswerHead): string {
    return startOf(head) + this.#role
  }

  /** Returns the text around that of a delta. */
  text (head: AnswerHead): Frame {
    const { before, after, isAscii } = this.#text
    const start = startOf(head)
    return { before: copyString(start + before), after, isAscii: isAscii && Buffer.byteLength(start) === start.length }
  }

  /** Returns the last frames. */
  end (head: AnswerHead, { reason, usage }: StreamEnd): string {
    const start = startOf(head)
    let finish = this.#finishes.get(reason)
    if (finish === undefined) this.#finishes.set(reason, finish = this.#printed({ type: 'text-delta', choice: 0, text: '' }, { type: 'choice-end', choice: 0, reason }).at(-1) ?? '')
    const counts = usage === undefined ? '' : `${start}${this.#beforeUsage}${JSON.stringify(completionUsage(usage))}${this.#afterUsage}`
    return `${start}${finish}${counts}${endOfStream}`
  }

  /** Prints the chunks of events, and those of the end. */
  #printed (...events: readonly ChatEvent[]): string[] {
    const chunks = new ChunkBuilder(this.#head, this.#withUsage)
    const start = startOf(this.#head).length
    return [...events.flatMap(event => chunks.of(event)), ...chunks.end()].map(chunk => copyString(sseData(JSON.stringify(chunk)).slice(start)))
  }
}

/** Returns what is around the text of a delta, which is the placeholder. */
export function frameOf (chunk: Chunk | undefined): Frame {
  return around(sseData(JSON.stringify(chunk)), placeholder)
}

function around (frame: string, text: string): Frame {
  const [before = '', after = ''] = frame.split(JSON.stringify(text))
  const length = before.length + after.length
  return { before: copyString(before), after: copyString(after), isAscii: Buffer.byteLength(before) + Buffer.byteLength(after) === length }
}

/** Returns what the frames of an answer begin with, up to the time. */
function startOf ({ id, createdSeconds }: AnswerHead): string {
  return `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${createdSeconds}`
}
