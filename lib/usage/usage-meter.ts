/**
 * Reads an answer's usage from its events into the record of the call.
 *
 * `stages/record-usage` adds up here what the answers of a call used, reported or estimated. What failed,
 * aborted and slower requests used is recorded by `attempts/route-attempt`, if a provider bills them.
 * `call-cost` says what the call is charged, also one that was cut off, and `usage-row` makes the row of all
 * this, which `gateway/usage-recorder` writes.
 */

import { noteToolCall, type CallRecord } from '../core/record.ts'
import { noteOutput, noteUsage } from '../core/usage-facts.ts'
import type { AboutImages, AnswerEvent, Transcript } from '../core/events.ts'
import type { Units, Usage } from '../core/usage.ts'

export class UsageMeter {
  readonly #record: CallRecord
  /** The usage of earlier turns. */
  readonly #earlier: Usage | undefined
  #hasReported = false

  constructor (record: CallRecord) {
    this.#record = record
    this.#earlier = record.usage.total
  }

  /** True once the provider has reported the usage of the answer. */
  get hasReported (): boolean {
    return this.#hasReported
  }

  read (events: readonly AnswerEvent[]): void {
    let characters = 0
    for (const event of events) characters += this.#note(event)
    noteOutput(this.#record.usage, characters)
  }

  /** Returns the billed text characters of a chat event. */
  #note (event: AnswerEvent): number {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
      case 'tool-call-delta':
        return event.text.length
      case 'direct-frame':
      case 'direct-answer':
        return event.characters ?? 0
      case 'tool-call-start':
        noteToolCall(this.#record.tools, event.id)
        return 0
      case 'usage':
        this.#report(event.usage, event.requests)
        return 0
      case 'audio-start':
      case 'speech-delta':
        if (this.#record.usage.units?.characters === undefined) {
          this.#noteUnits({ characters: this.#record.usage.estimate?.estimateUnits()?.characters })
        }
        return 0
      case 'image-end':
        this.#noteImages(1, event.about)
        return 0
      case 'image-answer':
        this.#noteImages(event.data.length, event.about)
        return 0
      case 'transcript-end':
        this.#noteTranscript(event.transcript)
        return 0
      case 'result':
        if (event.units !== undefined) this.#noteUnits(event.units)
        return 0
      case 'answer-start':
      case 'thinking-block':
      case 'audio-delta':
      case 'tool-call-end':
      case 'annotation-delta':
      case 'extra':
      case 'choice-end':
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
      case 'audio-chunk':
      case 'image-partial':
      case 'embeddings':
      case 'transcript-delta':
      case 'transcript-turn':
        return 0
      default:
        return event satisfies never
    }
  }

  /** Tokens or seconds, whichever the provider reports. */
  #noteTranscript ({ usage, durationSeconds }: Transcript): void {
    const seconds = usage?.type === 'duration' ? usage.seconds : durationSeconds
    if (seconds !== undefined) this.#noteUnits({ audioSeconds: seconds })
    if (usage?.type !== 'tokens') return
    const { audio_tokens: audio } = usage.input_token_details ?? {}
    this.#report({
      promptTokens: usage.input_tokens,
      completionTokens: usage.output_tokens,
      totalTokens: usage.total_tokens,
      ...audio !== undefined && { promptAudioTokens: audio }
    })
  }

  #noteImages (count: number, { size, quality }: AboutImages = {}): void {
    const { usage: { units, estimate } } = this.#record
    const before = units?.images ?? { ...estimate?.estimateUnits()?.images, count: 0 }
    this.#noteUnits({
      images: {
        count: before.count + count,
        size: size ?? before.size,
        quality: quality ?? before.quality
      }
    })
  }

  #noteUnits (units: Units): void {
    this.#record.usage.units = { ...this.#record.usage.units, ...units }
  }

  #report (usage: Usage, requests?: readonly Usage[]): void {
    this.#hasReported = true
    noteUsage(this.#record.usage, usage, this.#earlier, requests)
  }
}
