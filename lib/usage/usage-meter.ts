/** Reads out of the events of one answer what it used, into the record of its call. */

import { property } from '../json/guards.ts'
import { isOutput, noteOutput, noteUsage, type CallRecord } from '../core/record.ts'
import type { Transcript } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'

/** The fields of any event that say how much was used. */
export interface MeteredEvent {
  readonly type: string
  readonly usage?: Usage
  readonly text?: string
  /** The output in an event that is passed on unread. */
  readonly characters?: number
  /** The images of an `image-answer`. */
  readonly data?: readonly unknown[]
  /** The provider's words about images. */
  readonly about?: Readonly<Record<string, unknown>>
  readonly transcript?: Transcript
  readonly result?: unknown
  /** The id of a `tool-call-start`. */
  readonly id?: string
}

export class UsageMeter {
  readonly #record: CallRecord
  readonly #earlier: Usage | undefined
  #reported = false

  /** @param earlier the usage of the turns before */
  constructor (record: CallRecord, earlier: Usage | undefined = record.usage) {
    this.#record = record
    this.#earlier = earlier
  }

  /** True once the provider has said what the answer used. */
  get reported (): boolean {
    return this.#reported
  }

  /** Notes an estimate of the usage, until the provider reports it. */
  estimate (guess: () => Usage): void {
    if (this.#reported) return
    this.#record.usage = guess()
    this.#record.usageEstimated = true
  }

  read (events: readonly MeteredEvent[]): void {
    for (const event of events) if (!isOutput(event.type)) this.#note(event)
    noteOutput(this.#record, events)
  }

  #note ({ type, usage, data = [], about, transcript, result, id }: MeteredEvent): void {
    switch (type) {
      case 'tool-call-start':
        if (id !== undefined && id !== '') (this.#record.toolCallIds ??= []).push(id)
        break
      case 'usage':
        if (usage !== undefined) this.#report(usage)
        break
      case 'audio-start':
      case 'speech-delta':
        this.#record.spokenCharacters ??= this.#record.estimate?.estimateUnits()?.characters
        break
      case 'image-end':
        this.#noteImages(1, about)
        break
      case 'image-answer':
        this.#noteImages(data.length, about)
        break
      case 'transcript-end':
        if (transcript !== undefined) this.#noteTranscript(transcript)
        break
      case 'result':
        if (hasPages(result)) this.#record.pages = result.pages.length
    }
  }

  /** Tokens or seconds, whichever the provider counts. */
  #noteTranscript ({ usage, durationSeconds }: Transcript): void {
    const seconds = usage?.type === 'duration' ? usage.seconds : durationSeconds
    if (seconds !== undefined) this.#record.audioSeconds = seconds
    if (usage?.type !== 'tokens') return
    const { audio_tokens: audio } = usage.input_token_details ?? {}
    this.#report({
      promptTokens: usage.input_tokens,
      completionTokens: usage.output_tokens,
      totalTokens: usage.total_tokens,
      ...audio !== undefined && { promptAudioTokens: audio }
    })
  }

  #noteImages (count: number, { size, quality }: Readonly<Record<string, unknown>> = {}): void {
    const record = this.#record
    const requested = record.images === undefined ? record.estimate?.estimateUnits()?.images : undefined
    record.images = (record.images ?? 0) + count
    record.imageSize = typeof size === 'string' ? size : record.imageSize ?? requested?.size
    record.imageQuality = typeof quality === 'string' ? quality : record.imageQuality ?? requested?.quality
  }

  #report (usage: Usage): void {
    this.#reported = true
    noteUsage(this.#record, usage, this.#earlier)
  }
}

function hasPages (result: unknown): result is { readonly pages: readonly unknown[] } {
  return Array.isArray(property(result, 'pages'))
}
