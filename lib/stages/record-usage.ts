import type { Batch } from '../core/batch.ts'
import type { Usage } from '../core/usage.ts'
import type { Stage } from '../core/stage.ts'

interface Countable {
  readonly type: string
  readonly usage?: Usage
  /** The images of an `image-answer`. */
  readonly data?: readonly unknown[]
}

/** Puts the usage an answer reports, and its images, into the books; batches go through as they are. */
export function recordUsage<R, E extends Countable> (): Stage<Batch<R, E>> {
  return async function * (source) {
    for await (const batch of source) {
      const { record } = batch.call
      for (const { type, usage, data = [] } of batch.events) {
        if (type === 'usage' && usage !== undefined) record.usage = usage
        const images = type === 'image-end' ? 1 : type === 'image-answer' ? data.length : 0
        if (images > 0) record.images = (record.images ?? 0) + images
      }
      yield batch
    }
  }
}
