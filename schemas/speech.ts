/** The request of POST /v1/audio/speech. The answer is sound, or a stream of pieces of it. */

import { Type, type Static } from 'typebox'
import { guardsOption } from './call-options.ts'
import { ModelChoice } from './chat.ts'
import { Nullable, OneOf, type WithoutNulls } from './nullable.ts'

export const SpeechFormat = OneOf(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])
export type SpeechFormat = Static<typeof SpeechFormat>

const VoiceName = Type.String({ minLength: 1, maxLength: 256 })

export const SpeechRequest = Type.Object({
  model: Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })], {
    description: 'The model that speaks, or several in order of preference.'
  }),
  input: Type.String({ minLength: 1, maxLength: 4096, description: 'The text to speak.' }),
  voice: Type.Union([VoiceName, Type.Object({ id: VoiceName }, { description: 'A voice of the account.' })], {
    description: 'The voice; each provider has its own.'
  }),
  instructions: Nullable(Type.String({ maxLength: 4096 }), {
    description: 'Instructions for the voice. The models tts-1 and tts-1-hd ignore them.'
  }),
  response_format: Nullable(SpeechFormat, {
    default: 'mp3',
    description: '`pcm`: 24,000 samples a second, 16 bit, little-endian, one channel, no header.'
  }),
  speed: Nullable(Type.Number({ minimum: 0.25, maximum: 4 }), { default: 1 }),
  stream_format: Nullable(OneOf(['audio', 'sse']), {
    default: 'audio',
    description: 'Models that cannot send events answer with the sound itself.'
  }),
  ...guardsOption
})
export type SpeechRequest = WithoutNulls<Static<typeof SpeechRequest>>

const Count = Type.Integer({ minimum: 0 })

/** One message of a streamed answer; `[DONE]` follows the last. */
export const SpeechStreamEvent = Type.Union([
  Type.Object({ type: Type.Literal('speech.audio.delta'), audio: Type.String({ description: 'Base64.' }) }),
  Type.Object({
    type: Type.Literal('speech.audio.done'),
    usage: Type.Optional(Type.Object({ input_tokens: Count, output_tokens: Count, total_tokens: Count }))
  })
])
export type SpeechStreamEvent = Static<typeof SpeechStreamEvent>
