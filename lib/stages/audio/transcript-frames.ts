/**
 * Turns transcripts into frames of an event stream. Frames are unnamed and give their type in `type`.
 *
 * A model that cannot stream still answers in events when the caller asked for events: as one piece with the
 * whole transcript.
 */

import { endOfStream, sseData, sseFrames, type Frames } from '../../wire/sse-frames.ts'
import type { Batch } from '../../core/call.ts'
import type { TranscriptEvent } from '../../core/events.ts'
import type { TranscriptionStreamEvent } from '../../../schemas/transcription.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function transcriptFrames (): Stage<Batch<unknown, TranscriptEvent>, Frames> {
  return sseFrames(() => {
    let begun = false
    let hasTurns = false
    return {
      print: events => {
        let text = ''
        for (const event of events) {
          if (event.type === 'usage') continue // recorded before; the last message has it for the caller
          for (const message of messagesOf(event, begun, hasTurns)) text += sseData(JSON.stringify(message))
          begun = true
          hasTurns ||= event.type === 'transcript-turn'
        }
        return text
      },
      end: () => endOfStream
    }
  })
}

function messagesOf (
  event: Exclude<TranscriptEvent, { readonly type: 'usage' }>, begun: boolean, hasTurns: boolean
): TranscriptionStreamEvent[] {
  if (event.type === 'transcript-turn') return [event.turn]
  const logprobs = event.type === 'transcript-delta' ? event.logprobs : event.transcript.logprobs
  const probabilities = logprobs === undefined ? {} : { logprobs: [...logprobs] }
  if (event.type === 'transcript-delta') {
    const { text, segmentId: id } = event
    const segment = id === undefined ? {} : { segment_id: id }
    return [{ type: 'transcript.text.delta', delta: text, ...segment, ...probabilities }]
  }
  const { text, languages, turns = [], usage } = event.transcript
  const messages: TranscriptionStreamEvent[] = []
  if (!begun && text !== '') messages.push({ type: 'transcript.text.delta', delta: text, ...probabilities })
  messages.push(...hasTurns ? [] : turns, {
    type: 'transcript.text.done',
    text,
    ...languages !== undefined && { languages: [...languages] },
    ...probabilities,
    ...usage !== undefined && { usage }
  })
  return messages
}
