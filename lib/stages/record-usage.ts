import { isOutput, noteOutput, noteUsage, type CallRecord } from '../core/record.ts'
import { transform, type PassThroughStage, type Stage, type Transformer } from '../core/stage.ts'
import type { Batch } from '../core/batch.ts'
import type { Transcript } from '../core/events.ts'
import type { Images, Usage } from '../core/usage.ts'

/** The fields of any event that say how much was used. */
interface MeteredEvent {
  readonly type: string
  readonly usage?: Usage
  readonly text?: string
  /** The images of an `image-answer`. */
  readonly data?: readonly unknown[]
  /** The provider's words about images. */
  readonly about?: Readonly<Record<string, unknown>>
  readonly transcript?: Transcript
  readonly result?: unknown
}

export interface RecordUsageOptions<R> {
  /** Estimates the usage of an answer of one batch that reports none. Default: the ledger does, at the end. */
  readonly estimate?: (request: R) => Usage
  /** Returns the size and the quality of the images a request asks for. */
  readonly images?: (request: R) => Pick<Images, 'size' | 'quality'>
}

/**
 * Writes what an answer used into the record of its call: tokens as the provider reports them, added to
 * those of earlier turns; the length of its text so far; images, pages, seconds of audio. Batches pass
 * unchanged.
 */
export function recordUsage<R = unknown> (options: RecordUsageOptions<R> = {}): PassThroughStage<Batch<R, MeteredEvent>> {
  const stage: Stage<Batch<R, MeteredEvent>> = transform(() => new UsageRecorder(options))
  return stage as PassThroughStage<Batch<R, MeteredEvent>> // each batch comes out as it went in
}

/** One answer, of one turn. */
class UsageRecorder<R> implements Transformer<Batch<R, MeteredEvent>, Batch<R, MeteredEvent>> {
  readonly #estimate: RecordUsageOptions<R>['estimate']
  readonly #images: RecordUsageOptions<R>['images']
  #earlier: Usage | undefined
  #begun = false
  #reported = false

  constructor ({ estimate, images }: RecordUsageOptions<R>) {
    this.#estimate = estimate
    this.#images = images
  }

  push (batch: Batch<R, MeteredEvent>): Batch<R, MeteredEvent> {
    const { record, request } = batch.call
    if (!this.#begun) {
      this.#begun = true
      this.#earlier = record.usage
      const { size, quality } = this.#images?.(request) ?? {}
      record.imageSize = size
      record.imageQuality = quality
    }
    for (const event of batch.events) if (!isOutput(event.type)) this.#note(event, record)
    noteOutput(record, batch.events)
    if (this.#estimate !== undefined && !this.#reported) {
      record.usage = this.#estimate(request)
      record.usageEstimated = true
    }
    return batch
  }

  #note ({ type, usage, data = [], about, transcript, result }: MeteredEvent, record: CallRecord): void {
    switch (type) {
      case 'usage':
        if (usage !== undefined) this.#report(usage, record)
        break
      case 'image-end':
        noteImages(1, about, record)
        break
      case 'image-answer':
        noteImages(data.length, about, record)
        break
      case 'transcript-end':
        if (transcript !== undefined) this.#noteTranscript(transcript, record)
        break
      case 'result':
        if (hasPages(result)) record.pages = result.pages.length
    }
  }

  /** Tokens or seconds, whichever the provider counts. */
  #noteTranscript ({ usage, durationSeconds }: Transcript, record: CallRecord): void {
    const seconds = usage?.type === 'duration' ? usage.seconds : durationSeconds
    if (seconds !== undefined) record.audioSeconds = seconds
    if (usage?.type !== 'tokens') return
    const { audio_tokens: audio } = usage.input_token_details ?? {}
    this.#report({
      promptTokens: usage.input_tokens,
      completionTokens: usage.output_tokens,
      totalTokens: usage.total_tokens,
      ...audio !== undefined && { promptAudioTokens: audio }
    }, record)
  }

  #report (usage: Usage, record: CallRecord): void {
    this.#reported = true
    noteUsage(record, usage, this.#earlier)
  }
}

function noteImages (count: number, { size, quality }: Readonly<Record<string, unknown>> = {}, record: CallRecord): void {
  record.images = (record.images ?? 0) + count
  if (typeof size === 'string') record.imageSize = size
  if (typeof quality === 'string') record.imageQuality = quality
}

function hasPages (result: unknown): result is { readonly pages: readonly unknown[] } {
  return typeof result === 'object' && result !== null && 'pages' in result && Array.isArray(result.pages)
}
