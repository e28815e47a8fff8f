/**
 * Turns transcripts into frames of an event stream. Frames are unnamed and give their type in `type`.
 *
 * A model that cannot stream still answers in events when the caller asked for events: as one piece with the
 * whole transcript.
 */

import { endOfStream, sseData, sseFrames } from '../../wire/sse-frames.ts'
import type { Batch } from '../../core/call.ts'
import type { TranscriptEvent } from '../../core/events.ts'
import type { TranscriptionStreamEvent } from '../../../schemas/transcription.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function transcriptFrames (): Stage<Batch<unknown, TranscriptEvent>, string> {
  return sseFrames(() => {
    let begun = false
    return {
      print: events => {
        let text = ''
        for (const event of events) {
          if (event.type === 'usage') continue // recorded before; the last message has it for the caller
          for (const message of messagesOf(event, begun)) text += sseData(JSON.stringify(message))
          begun = true
        }
        return text
      },
      end: () => endOfStream
    }
  })
}

function messagesOf (
  event: Exclude<TranscriptEvent, { readonly type: 'usage' }>, begun: boolean
): TranscriptionStreamEvent[] {
  const logprobs = event.type === 'transcript-delta' ? event.logprobs : event.transcript.logprobs
  const probabilities = logprobs === undefined ? {} : { logprobs: [...logprobs] }
  if (event.type === 'transcript-delta') {
    return [{ type: 'transcript.text.delta', delta: event.text, ...probabilities }]
  }
  const { text, usage } = event.transcript
  const messages: TranscriptionStreamEvent[] = []
  if (!begun && text !== '') messages.push({ type: 'transcript.text.delta', delta: text, ...probabilities })
  messages.push({ type: 'transcript.text.done', text, ...probabilities, ...usage !== undefined && { usage } })
  return messages
}
