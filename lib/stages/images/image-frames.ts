/**
 * Images to the frames of an event stream.
 *
 * Frames are unnamed and say in `type` what they are: official clients of this API drop frames
 * with a name of their own. What a provider wrote goes out as it came; one frame is megabytes.
 */

import { endOfStream, sseData, sseFrames } from '../../wire/sse-frames.ts'
import type { Batch } from '../../core/batch.ts'
import type { ImageEvent } from '../../core/events.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** @param prefix of the type of frames that are made here, of an answer that came complete */
export function imageFrames (
  prefix: 'image_generation' | 'image_edit'
): Stage<Batch<{ readonly stream?: boolean | undefined }, ImageEvent>, string> {
  return sseFrames(() => ({
    print: events => events.map(event => frameOf(event, prefix)).join(''),
    end: () => endOfStream
  }))
}

function frameOf (event: ImageEvent, prefix: string): string {
  switch (event.type) {
    case 'image-partial':
    case 'image-end': return sseData(event.json)
    case 'image-answer': {
      const { data, about, createdSeconds } = event
      return data.map(image => sseData(JSON.stringify({
        type: `${prefix}.completed`, ...image, created_at: createdSeconds, ...about
      }))).join('')
    }
    case 'usage': return ''
  }
}
