/**
 * Validates the requests of the audio adapters to OpenAI, and our answers, against the API description.
 */

import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { writeTranscript } from '../../lib/audio/transcript.ts'
import { openaiSpeech } from '../../lib/providers/openai/speech.ts'
import { readTranscript } from '../../lib/providers/openai/transcription-response.ts'
import { openaiTranscription, openaiTranslation } from '../../lib/providers/openai/transcription.ts'
import { sandboxModels } from '../../lib/sandbox/sandbox-models.ts'
import { speak } from '../../lib/sandbox/speech.ts'
import { transcribe } from '../../lib/sandbox/transcriptions.ts'
import { partsOf, wavOf } from '../support/forms.ts'
import { description } from '../support/description.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import type { TranscriptEvent } from '../../lib/core/events.ts'
import type { RecordingInput, SpeechInput } from '../../lib/audio/input.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

const wav = wavOf(0.1)

const recording: RecordingInput = {
  task: 'transcribe',
  model: ['whisper-1'],
  file: {
    name: 'a.wav',
    mediaType: 'audio/wav',
    sizeBytes: wav.length,
    head: wav,
    open: () => Readable.from([wav])
  },
  format: 'json',
  stream: false,
  logprobs: false,
  granularities: []
}

function questionTo<R> (request: R, model: string): AdapterInput<R> {
  const traits =
    sandboxModels.find(entry => entry.model === model)?.traits ?? familyTraits(families, 'openai', model)
  const route = { providerId: 'openai', model, modelId: `openai/${model}`, traits }
  return { request, route, quirks: {}, streamed: false }
}

/** Converts form fields to the types in the schema. */
async function formValues (
  adapter: Adapter<RecordingInput, TranscriptEvent>,
  request: RecordingInput,
  model: string
): Promise<Record<string, unknown>> {
  const { headers, body } = adapter.request(questionTo(request, model))
  if (typeof body !== 'function') throw new Error('a form is opened anew for each attempt')
  const values: Record<string, unknown> = {}
  for (const [name, value] of await partsOf({ bytes: await buffer(body()), headers })) {
    const text = typeof value === 'string' ? value : value.name
    if (name.endsWith('[]')) {
      const key = name.slice(0, -2)
      values[key] = [values[key] ?? [], text].flat()
    } else {
      values[name] =
        name === 'temperature' || name === 'stream' || text.startsWith('{') ? JSON.parse(text) : text
    }
  }
  return values
}

const api = description('openai.json')
if (api !== undefined) {
  const { check } = api

  const said: SpeechInput = { model: 'x', input: 'Hi', voice: 'alloy', stream: false }
  const speeches: ReadonlyArray<readonly [name: string, request: SpeechInput]> = [
    ['least', said],
    [
      'most',
      {
        ...said,
        instructions: 'softly',
        response_format: 'flac',
        speed: 2,
        stream_format: 'sse',
        stream: true
      }
    ]
  ]
  for (const [name, request] of speeches) {
    for (const model of ['tts-1', 'gpt-4o-mini-tts']) {
      check(
        'CreateSpeechRequest',
        JSON.parse(String(openaiSpeech.request(questionTo(request, model)).body)),
        `${name}, ${model}`
      )
    }
  }

  const complete: RecordingInput = { ...recording, language: 'en', prompt: 'Names', temperature: 0.5 }
  const rows: ReadonlyArray<readonly [name: string, request: RecordingInput, model: string]> = [
    ['least', recording, 'whisper-1'],
    ['timed', { ...complete, format: 'verbose_json', granularities: ['word', 'segment'] }, 'whisper-1'],
    ['subtitles', { ...complete, format: 'vtt' }, 'whisper-1'],
    ['streamed', { ...complete, stream: true, logprobs: true, chunking: 'auto' }, 'gpt-4o-transcribe'],
    ['cut', { ...recording, chunking: { type: 'server_vad', threshold: 0.5 } }, 'gpt-4o-transcribe-diarize']
  ]
  for (const [name, request, model] of rows) {
    check('CreateTranscriptionRequest', await formValues(openaiTranscription, request, model), name)
  }
  check(
    'CreateTranslationRequest',
    await formValues(
      openaiTranslation,
      { ...recording, task: 'translate', prompt: 'x', temperature: 0 },
      'whisper-1'
    ),
    'all'
  )

  const [end] = readTranscript({
    language: 'english',
    duration: 1,
    text: 'Hi',
    words: [{ word: 'Hi', start: 0, end: 1 }],
    segments: [{ start: 0, end: 1, text: 'Hi' }],
    usage: { type: 'duration', seconds: 1 }
  })
  if (end?.type === 'transcript-end') {
    const answer = (request: RecordingInput): unknown =>
      JSON.parse(writeTranscript(end.transcript, request).text)
    check('CreateTranscriptionResponseJson', answer(recording), 'ours')
    check(
      'CreateTranscriptionResponseVerboseJson',
      answer({ ...recording, format: 'verbose_json', granularities: ['word', 'segment'] }),
      'ours'
    )
  }

  // The sandbox stands in for the provider, so its events must match the API too.
  const fast = { wordsPerSecond: 0 }
  const streams = [
    [
      'CreateSpeechResponseStreamEvent',
      await speak(openaiSpeech.request(questionTo({ ...said, stream: true }, 'speaker')), fast)
    ],
    [
      'CreateTranscriptionResponseStreamEvent',
      await transcribe(
        openaiTranscription.request(questionTo({ ...recording, stream: true, logprobs: true }, 'listener')),
        fast
      )
    ]
  ] as const
  for (const [definition, { body }] of streams) {
    for (const step of body) {
      if (step.type !== 'send') continue
      const [, data = ''] = /data: (.*)/.exec(String(step.bytes)) ?? []
      check(definition, JSON.parse(data), data.slice(0, 40))
    }
  }
  const timed = await transcribe(
    openaiTranscription.request(
      questionTo({ ...recording, format: 'verbose_json', granularities: ['word'] }, 'listener')
    ),
    fast
  )
  for (const step of timed.body) {
    if (step.type === 'send') {
      check('CreateTranscriptionResponseVerboseJson', JSON.parse(String(step.bytes)), 'of the sandbox')
    }
  }
}
