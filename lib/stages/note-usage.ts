import type { Batch } from '../batch.ts'
import type { Usage } from '../events.ts'
import type { Stage } from '../stage.ts'

/** Puts the usage an answer reports into the books; batches go through as they are. */
export function noteUsage<R, E extends { readonly type: string, readonly usage?: Usage }> (): Stage<Batch<R, E>> {
  return async function * (source) {
    for await (const batch of source) {
      for (const { type, usage } of batch.events) {
        if (type === 'usage' && usage !== undefined) batch.call.record.usage = usage
      }
      yield batch
    }
  }
}
