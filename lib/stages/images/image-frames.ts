/**
 * Turns images into frames of an event stream.
 *
 * Frames are unnamed and give their type in `type`: official clients of this API drop named frames. Frames of
 * a provider are passed on unchanged; one frame is megabytes long.
 */

import { endOfStream, sseData, sseFrames, type Frames } from '../../wire/sse-frames.ts'
import type { Batch } from '../../core/call.ts'
import type { ImageEvent } from '../../core/events.ts'
import type { Stage } from '../../pipeline/stage.ts'

/**
 * @param prefix of the type of frames made here, for an answer that arrived complete
 */
export function imageFrames (
  prefix: 'image_generation' | 'image_edit'
): Stage<Batch<{ readonly stream?: boolean | undefined }, ImageEvent>, Frames> {
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
      const { data, about: { usage, ...about }, createdSeconds } = event
      return data.map((image, index) => sseData(JSON.stringify({
        type: `${prefix}.completed`, ...image, created_at: createdSeconds, ...about,
        // Clients add up the usage of the images, and this one is of all of them.
        ...index === data.length - 1 && usage !== undefined && { usage }
      }))).join('')
    }
    case 'usage': return ''
  }
}
