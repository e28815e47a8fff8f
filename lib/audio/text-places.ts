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
 * segments and turns where a finding spans several of them. Turns that did not make up the text, for example
 * because it also names the speakers, keep their own replacements.
 */
export function replaceTranscriptTexts (transcript: Transcript, replace: ReplaceText): Transcript {
  const { words: _words, logprobs: _logprobs, segments, turns, ...rest } = transcript
  const whole = replace(transcript.text, text)
  const spoken = segments?.map(segment => ({ ...segment, text: replace(segment.text, text), tokens: [] }))
  const said = turns?.map(turn => ({ ...turn, text: replace(turn.text, text) }))
  const areSame = haveSameTexts(spoken, segments) && haveSameTexts(said, turns)
  if (areSame && whole === transcript.text) return transcript
  const madeUpText = turns !== undefined && makeUp(turns, transcript.text)
  return {
    ...rest,
    text: whole,
    ...spoken !== undefined && makeUp(spoken, whole) && { segments: spoken },
    ...said !== undefined && (!madeUpText || makeUp(said, whole)) && { turns: said }
  }
}

type Texts = ReadonlyArray<{ readonly text: string }>

function haveSameTexts (parts: Texts = [], others: Texts = []): boolean {
  return parts.every((part, at) => part.text === others[at]?.text)
}

function makeUp (parts: Texts, whole: string): boolean {
  return withoutSpace(parts.map(({ text }) => text).join('')) === withoutSpace(whole)
}

function withoutSpace (given: string): string {
  return given.replaceAll(/\s/g, '')
}
