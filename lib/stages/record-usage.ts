import { transform, type PassThroughStage, type Stage } from '../pipeline/stage.ts'
import { UsageMeter } from '../usage/usage-meter.ts'
import type { Batch } from '../core/call.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'

export interface RecordUsageOptions<R> {
  /**
   * Estimates the usage of a complete answer that reports none. Default: `usage/call-cost` estimates it when
   * the row is made.
   */
  readonly estimate?: (request: R) => Usage
}

/**
 * Records what an answer used: tokens as reported by the provider, added to those of earlier turns; the
 * length of its text so far; images, pages, seconds of audio, characters of speech. Batches pass unchanged.
 * `usage/usage-meter` counts, also for answers that are read on after their caller has left.
 *
 * As the first stage of a `chain`, it needs explicit type arguments: `recordUsage<ChatInput, ChatEvent>()`.
 */
export function recordUsage<R = unknown, E extends AnswerEvent = AnswerEvent> (
  { estimate }: RecordUsageOptions<R> = {}
): PassThroughStage<Batch<R, E>> {
  const stage: Stage<Batch<R, AnswerEvent>> = transform(() => {
    let meter: UsageMeter | undefined // state of one answer, of one turn
    return {
      push: batch => {
        const { record, request } = batch.call
        meter ??= new UsageMeter(record)
        meter.read(batch.events)
        if (estimate !== undefined && !meter.hasReported) {
          record.usage.total = estimate(request)
          record.usage.isEstimated = true
        }
        return batch
      }
    }
  })
  return stage as PassThroughStage<Batch<R, E>> // each batch comes out as it went in
}
