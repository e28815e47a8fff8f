import { transform, type PassThroughStage, type Stage } from '../pipeline/stage.ts'
import { UsageMeter } from '../usage/usage-meter.ts'
import type { Batch } from '../core/batch.ts'
import type { AnswerEvent } from '../core/events.ts'
import type { Usage } from '../core/usage.ts'

export interface RecordUsageOptions<R> {
  /**
   * Estimates the usage of an answer of one batch that reports none. Default: the ledger does, at the end.
   */
  readonly estimate?: (request: R) => Usage
}

/**
 * Writes what an answer used into the record of its call: tokens as the provider reports them, added to
 * those of earlier turns; the length of its text so far; images, pages, seconds of audio, characters that
 * were spoken. Batches pass unchanged. As first stage of a `chain`, give its type arguments:
 * `recordUsage<ChatInput, ChatEvent>()`. `usage/usage-meter` does the counting, also for answers that are
 * read on after their caller has left.
 */
export function recordUsage<R = unknown, E extends AnswerEvent = AnswerEvent> (
  { estimate }: RecordUsageOptions<R> = {}
): PassThroughStage<Batch<R, E>> {
  const stage: Stage<Batch<R, AnswerEvent>> = transform(() => {
    let meter: UsageMeter | undefined // of one answer, of one turn
    return {
      push: batch => {
        const { record, request } = batch.call
        meter ??= new UsageMeter(record)
        meter.read(batch.events)
        if (estimate !== undefined && !meter.reported) {
          record.usage = estimate(request)
          record.usageEstimated = true
        }
        return batch
      }
    }
  })
  return stage as PassThroughStage<Batch<R, E>> // each batch comes out as it went in
}
