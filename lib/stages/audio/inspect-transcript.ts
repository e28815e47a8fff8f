/**
 * Runs the guards on transcripts: on a stream like on the text of a conversation, on a complete transcript
 * part by part.
 */

import { GatewayError } from '../../core/errors.ts'
import { noteIgnored } from '../../core/record.ts'
import { altersAnswer, type TextGuards } from '../../guards/text-guards.ts'
import { replaceTranscriptTexts } from '../../audio/text-places.ts'
import { once } from '../../pipeline/sources.ts'
import { flatMap, type Stage } from '../../pipeline/stage.ts'
import { inspectAnswer } from '../inspect-answer.ts'
import { inspectResults } from '../inspect-results.ts'
import type { RecordingInput } from '../../audio/input.ts'
import { copyCall, type Batch, type RoutedCall } from '../../core/call.ts'
import type { ChatEvent, Transcript, TranscriptEvent } from '../../core/events.ts'
import type { DiarizedSegment, TokenLogprob } from '../../../schemas/transcription.ts'

type RecordingCall = RoutedCall<RecordingInput>
type Answer<E> = Stage<RecordingCall, Batch<RecordingInput, E>>

/** Returns the call without log probabilities in its answer: they repeat text that a guard may change. */
export function asPlainTranscript (call: RecordingCall): RecordingCall {
  if (!call.request.logprobs) return call
  noteIgnored(call.record.request, 'include')
  return copyCall(call, { request: { ...call.request, logprobs: false } })
}

/**
 * Replaces what the guards find in the transcripts of another stage.
 *
 * @param guards absent: transcripts pass unchanged
 * @throws GatewayError for a finding that refuses the call or spans several subtitles
 */
export function inspectTranscript (
  guards: TextGuards | undefined,
  answer: Answer<TranscriptEvent>
): Answer<TranscriptEvent> {
  if (guards === undefined) return answer
  return flatMap(call =>
    call.request.stream ? streamed(guards, answer, call) : complete(guards, answer, call)
  )
}

function complete (
  guards: TextGuards,
  answer: Answer<TranscriptEvent>,
  call: RecordingCall
): AsyncIterable<Batch<RecordingInput, TranscriptEvent>> {
  const { format } = call.request
  const inspected = inspectResults<RecordingInput, TranscriptEvent>(
    guards,
    (event, replace) => {
      if (event.type !== 'transcript-end') return event
      const transcript = replaceTranscriptTexts(event.transcript, replace)
      if (transcript === event.transcript) return event
      const { written, segments } = transcript
      if ((format === 'srt' || format === 'vtt') && written !== format && segments === undefined) {
        throw new GatewayError('content_refused', {
          message:
            'A finding spans several subtitles. Send `response_format: json`.'
        })
      }
      return { ...event, transcript }
    },
    answer
  )
  return inspected(once(call))
}

async function* streamed (
  guards: TextGuards,
  answer: Answer<TranscriptEvent>,
  call: RecordingCall
): AsyncGenerator<Batch<RecordingInput, TranscriptEvent>, void, undefined> {
  const alters = altersAnswer(guards, call)
  let isBegun = false
  let textBefore = ''
  let end: Transcript | undefined
  const turns: DiarizedSegment[] = []
  const chatEventsOf = (event: TranscriptEvent): ChatEvent[] => {
    if (event.type === 'transcript-delta') {
      isBegun = true
      const { text, logprobs, segmentId } = event
      const kept = alters ? undefined : logprobs
      textBefore += text
      const delta: SegmentDelta = {
        type: 'text-delta',
        choice: 0,
        text,
        ...kept !== undefined && { logprobs: { content: kept } },
        ...segmentId !== undefined && { segmentId }
      }
      return [delta]
    }
    if (event.type === 'usage') return [] // recorded before
    if (event.type === 'transcript-turn') {
      turns.push(event.turn)
      return []
    }
    end = event.transcript
    const { text } = event.transcript
    if (!isBegun) textBefore = text
    return [
      ...isBegun || text === '' ? [] : [{ type: 'text-delta', choice: 0, text } as const],
      { type: 'choice-end', choice: 0, reason: 'stop' }
    ]
  }
  const said = flatMap<RecordingCall, Batch<RecordingInput, ChatEvent>>(async function * (inspected) {
    for await (const batch of answer(once(inspected))) {
      yield { ...batch, events: batch.events.flatMap(chatEventsOf) }
    }
  })
  let textAfter = ''
  const eventsOf = (event: ChatEvent): TranscriptEvent[] => {
    if (event.type === 'text-delta') {
      textAfter += event.text
      const { text, logprobs: { content } = {}, segmentId }: SegmentDelta = event
      const logprobs = content as readonly TokenLogprob[] | undefined // put there above
      return [{
        type: 'transcript-delta',
        text,
        ...logprobs !== undefined && { logprobs },
        ...segmentId !== undefined && { segmentId }
      }]
    }
    if (event.type !== 'choice-end' || end === undefined) return []
    // Who said what repeats the text, so it waits until the guards have seen all of it.
    const spoken = alters && turns.length === 0 ? end.turns ?? [] : turns
    const isSeen = !alters || (textAfter === textBefore && hasInOrder(textAfter, spoken))
    return [
      ...isSeen ? spoken.map(turn => ({ type: 'transcript-turn', turn } as const)) : [],
      { type: 'transcript-end', transcript: alters ? plain(end, textAfter) : end }
    ]
  }
  for await (const batch of inspectAnswer(guards, undefined, said)(once(call))) {
    yield { ...batch, events: batch.events.flatMap(eventsOf) }
  }
}

/** The guards pass on what they do not know of an event. */
type SegmentDelta = ChatEvent & { readonly type: 'text-delta' } & { readonly segmentId?: string }

/** Returns true if the text has each turn as it is, one after the other. */
function hasInOrder (text: string, turns: readonly DiarizedSegment[]): boolean {
  let end = 0
  return turns.every(turn => {
    const said = turn.text.trim()
    const start = text.indexOf(said, end)
    end = start + said.length
    return start !== -1
  })
}

/** Everything sent is the rest of the text: its parts would reveal what was replaced. */
function plain (
  { words: _words, segments: _segments, turns: _turns, logprobs: _logprobs, ...rest }: Transcript,
  text: string
): Transcript {
  return { ...rest, text }
}
