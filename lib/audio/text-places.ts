/** Where speech requests and transcripts hold text. Answers to speech requests are sound. */

import { modelTexts } from '../chat/model-texts.ts'
import { PlaceTable, fixed, text, unseen, type ReplaceText } from '../json/place-table.ts'
import type { Transcript } from '../core/events.ts'

export const speechRequestTexts = new PlaceTable({
  ...modelTexts,
  input: text,
  instructions: text,
  voice: fixed,
  'voice.id': fixed,
  response_format: unseen('one of a few words'),
  stream_format: unseen('one of a few words')
})

/**
 * Returns the transcript with its texts replaced; the same transcript where nothing differs. Where a text
 * differs, words, log probabilities and tokens are left out, since they would still reveal it; so are
 * segments if a finding spans several of them.
 */
export function replaceTranscriptTexts (transcript: Transcript, replace: ReplaceText): Transcript {
  const { words: _words, logprobs: _logprobs, segments, ...rest } = transcript
  const whole = replace(transcript.text, text)
  const parts = segments?.map(segment => replace(segment.text, text))
  const areSame = parts?.every((part, at) => part === segments?.[at]?.text) ?? true
  if (areSame && whole === transcript.text) return transcript
  return {
    ...rest,
    text: whole,
    ...parts !== undefined && withoutSpace(parts.join('')) === withoutSpace(whole) && {
      segments: segments?.map((segment, at) => ({ ...segment, text: parts[at] ?? '', tokens: [] })) ?? []
    }
  }
}

function withoutSpace (given: string): string {
  return given.replaceAll(/\s/g, '')
}
