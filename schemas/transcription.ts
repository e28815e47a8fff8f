/** The form of POST /v1/audio/transcriptions, and its answers. */

import { Type, type Static } from 'typebox'
import { guardsOption } from './call-options.ts'
import { FormFile } from './form.ts'
import { ModelName, Nullable, OneOf } from './nullable.ts'

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const

export const TranscriptFormat = OneOf([...formats, 'diarized_json'])
export type TranscriptFormat = Static<typeof TranscriptFormat>

/** The fields that transcriptions and translations share. */
export const audioForm = {
  file: FormFile('The recording: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm, up to 25 MB.'),
  model: Type.Array(ModelName, {
    minItems: 1, maxItems: 32, description: 'The model that transcribes, or several in order of preference.'
  }),
  prompt: Nullable(Type.String(), { description: 'Example text with the expected style and names.' }),
  response_format: Nullable(OneOf([...formats]), { default: 'json' }),
  temperature: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  ...guardsOption
}

export const ChunkingStrategy = Type.Union([
  OneOf(['auto']),
  Type.Object({
    type: Type.Literal('server_vad'),
    prefix_padding_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    silence_duration_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
  })
])
export type ChunkingStrategy = Static<typeof ChunkingStrategy>

export const TranscriptionRequest = Type.Object({
  ...audioForm,
  response_format: Nullable(TranscriptFormat, {
    default: 'json', description: '`diarized_json` tells the speakers apart.'
  }),
  language: Nullable(Type.String({ maxLength: 64 }), {
    description: 'The language that is spoken, in ISO 639-1: it makes the answer better and faster.'
  }),
  include: Nullable(Type.Array(OneOf(['logprobs'])), {
    description: 'Additional fields of the answer. Requires a model that supports them and the format `json`.'
  }),
  timestamp_granularities: Nullable(Type.Array(OneOf(['word', 'segment'])), {
    description: 'Granularity of timestamps; requires `verbose_json`. Default: segments.'
  }),
  stream: Nullable(Type.Boolean(), { default: false }),
  chunking_strategy: Nullable(ChunkingStrategy, { description: 'Strategy for splitting long recordings.' }),
  known_speaker_names: Nullable(Type.Array(Type.String(), { maxItems: 16 }), {
    description: 'Names of speakers, for `diarized_json`.'
  }),
  known_speaker_references: Nullable(Type.Array(Type.String({ pattern: '^data:' }), { maxItems: 16 }), {
    description:
      'A short recording of each of these speakers, as a `data:` URL. Fields may have up to 8 MB together.'
  }),
  languages: Nullable(Type.Array(Type.String({ maxLength: 64 })), {
    description: 'The languages that may be spoken, in ISO 639-1.'
  }),
  keywords: Nullable(Type.Array(Type.String()), { description: 'Words and phrases that may be said.' })
})
export type TranscriptionRequest = Static<typeof TranscriptionRequest>

export const TokenLogprob = Type.Object({
  token: Type.String(), logprob: Type.Number(), bytes: Type.Array(Type.Number())
})
export type TokenLogprob = Static<typeof TokenLogprob>

const Count = Type.Integer({ minimum: 0 })

export const TranscriptionUsage = Type.Union([
  Type.Object({
    type: Type.Literal('tokens'),
    input_tokens: Count,
    input_token_details: Type.Optional(Type.Object({
      text_tokens: Type.Optional(Count), audio_tokens: Type.Optional(Count)
    })),
    output_tokens: Count,
    total_tokens: Count
  }),
  Type.Object({ type: Type.Literal('duration'), seconds: Type.Number() })
])
export type TranscriptionUsage = Static<typeof TranscriptionUsage>

/** Times are seconds from the start of the recording. */
export const TranscriptWord = Type.Object({ word: Type.String(), start: Type.Number(), end: Type.Number() })
export type TranscriptWord = Static<typeof TranscriptWord>

export const TranscriptSegment = Type.Object({
  id: Type.Integer(),
  seek: Type.Integer(),
  start: Type.Number(),
  end: Type.Number(),
  text: Type.String(),
  tokens: Type.Array(Type.Integer()),
  temperature: Type.Number(),
  avg_logprob: Type.Number({ description: 'Below -1: the text is unreliable.' }),
  compression_ratio: Type.Number({ description: 'Above 2.4: the text repeats itself.' }),
  no_speech_prob: Type.Number({ description: 'Near 1, with a low avg_logprob: silence.' })
})
export type TranscriptSegment = Static<typeof TranscriptSegment>

export const DiarizedSegment = Type.Object({
  type: Type.Literal('transcript.text.segment'),
  id: Type.String(),
  start: Type.Number(),
  end: Type.Number(),
  text: Type.String(),
  speaker: Type.String({ description: 'One of `known_speaker_names`, or a letter.' })
})
export type DiarizedSegment = Static<typeof DiarizedSegment>

const Languages = Type.Optional(
  Type.Array(Type.Object({ code: Type.String() }), { description: 'The languages that were recognised.' })
)

export const Transcription = Type.Object({
  text: Type.String(),
  languages: Languages,
  logprobs: Type.Optional(Type.Array(TokenLogprob)),
  usage: Type.Optional(TranscriptionUsage)
})
export type Transcription = Static<typeof Transcription>

export const VerboseTranscription = Type.Object({
  language: Type.String(),
  duration: Type.Number({ description: 'Seconds.' }),
  text: Type.String(),
  words: Type.Optional(Type.Array(TranscriptWord)),
  segments: Type.Optional(Type.Array(TranscriptSegment)),
  usage: Type.Optional(TranscriptionUsage)
})
export type VerboseTranscription = Static<typeof VerboseTranscription>

export const DiarizedTranscription = Type.Object({
  task: Type.Literal('transcribe'),
  duration: Type.Number({ description: 'Seconds.' }),
  text: Type.String(),
  segments: Type.Array(DiarizedSegment),
  usage: Type.Optional(TranscriptionUsage)
})
export type DiarizedTranscription = Static<typeof DiarizedTranscription>

/** The plain one last: every other answer also matches its schema. */
export const TranscriptionAnswer = Type.Union([VerboseTranscription, DiarizedTranscription, Transcription])

/** One message of a streamed answer; `[DONE]` follows the last. */
export const TranscriptionStreamEvent = Type.Union([
  Type.Object({
    type: Type.Literal('transcript.text.delta'),
    delta: Type.String(),
    segment_id: Type.Optional(Type.String()),
    logprobs: Type.Optional(Type.Array(TokenLogprob))
  }),
  DiarizedSegment,
  Type.Object({
    type: Type.Literal('transcript.text.done'),
    text: Type.String(),
    languages: Languages,
    logprobs: Type.Optional(Type.Array(TokenLogprob)),
    usage: Type.Optional(TranscriptionUsage)
  })
])
export type TranscriptionStreamEvent = Static<typeof TranscriptionStreamEvent>
