/** Turns pieces of sound into frames of an event stream. Frames are unnamed and give their type in `type`. */

import { endOfStream, sseData, sseFrames, type Frames } from '../../wire/sse-frames.ts'
import type { Batch } from '../../core/call.ts'
import type { SpeechEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { SpeechStreamEvent } from '../../../schemas/speech.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function speechFrames (): Stage<Batch<unknown, SpeechEvent>, Frames> {
  return sseFrames(() => {
    let usage: Usage | undefined
    return {
      print: events => {
        let text = ''
        for (const event of events) {
          if (event.type === 'speech-delta') text += frame({ type: 'speech.audio.delta', audio: event.audio })
          if (event.type === 'usage') usage = event.usage
        }
        return text
      },
      end: () =>
        frame({ type: 'speech.audio.done', ...usage !== undefined && { usage: wireUsage(usage) } }) +
        endOfStream
    }
  })
}

function frame (event: SpeechStreamEvent): string {
  return sseData(JSON.stringify(event))
}

function wireUsage ({ promptTokens, completionTokens, totalTokens }: Usage) {
  return { input_tokens: promptTokens, output_tokens: completionTokens, total_tokens: totalTokens }
}
