/**
 * Images to the frames of an event stream.
 *
 * Frames are unnamed and say in `type` what they are: official clients of this API drop frames
 * with a name of their own. What a provider wrote goes out as it came; one frame is megabytes.
 */

import { printAll } from '../../wire/frame-printer.ts'
import { endOfStream, sseData } from '../../wire/sse.ts'
import { sseFrames } from '../sse-frames.ts'
import type { Batch } from '../../core/batch.ts'
import type { ImageEvent, JsonLine } from '../../core/events.ts'
import type { Stage } from '../../pipeline/stage.ts'

/** @param prefix of the type of frames that are made here, of an answer that came complete */
export function imageFrames (prefix: 'image_generation' | 'image_edit'): Stage<Batch<{ readonly stream?: boolean | undefined }, ImageEvent>, string | Uint8Array> {
  return sseFrames(() => ({
    print: events => printAll(events, event => frameOf(event, prefix)),
    end: () => endOfStream
  }))
}

function frameOf (event: ImageEvent, prefix: string): string | Uint8Array {
  switch (event.type) {
    case 'image-partial':
    case 'image-end': return frameBytes(event.json)
    case 'image-answer': {
      const { data, about, createdSeconds } = event
      return data.map(image => sseData(JSON.stringify({
        type: `${prefix}.completed`, ...image, created_at: createdSeconds, ...about
      }))).join('')
    }
    case 'usage': return ''
  }
}

/** Returns what `sseData` does as bytes: text would be copied once more when it is put together, and once more when it is written. */
function frameBytes (json: JsonLine): Uint8Array {
  return Buffer.concat([before, ...typeof json === 'string' ? [Buffer.from(json)] : json, after])
}

const [before, after] = [Buffer.from('data: '), Buffer.from('\n\n')]
