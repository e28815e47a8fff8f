/** Where requests for speech, whose answers are sound, and transcripts hold text. */

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
 * Returns the transcript with other texts; the same where nothing differs. Where a text differs, words,
 * log probabilities and tokens would still say it, and are left out; so are segments, where something was
 * found that spans several.
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
