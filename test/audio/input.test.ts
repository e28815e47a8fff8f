import t from 'tap'
import { speechInput, transcriptionInput, translationInput } from '../../lib/audio/input.ts'
import { wavOf } from '../support/forms.ts'
import { routedCall } from '../support/stages.ts'
import type { SpeechRequest } from '../../schemas/speech.ts'

const head = wavOf(100)
const file = {
  name: 'blob',
  head,
  mediaType: 'audio/wav',
  sizeBytes: head.length,
  open: async function* () {
    yield head
  }
}

t.test('a transcription with only a file and a model gives JSON, not streamed', async t => {
  const { request } = await transcriptionInput(routedCall({ file, model: ['a/b'] }))
  t.strictSame(request, {
    model: ['a/b'],
    file: { ...file, name: 'blob.wav' },
    format: 'json',
    task: 'transcribe',
    stream: false,
    logprobs: false,
    granularities: []
  })
})

t.test('fields that are set are passed on; empty ones are treated as unset', async t => {
  const { request } = await transcriptionInput(
    routedCall({
      file,
      model: ['a/b'],
      language: 'de',
      prompt: '',
      temperature: 0,
      response_format: 'verbose_json' as const,
      stream: true,
      include: ['logprobs' as const],
      timestamp_granularities: ['word' as const],
      chunking_strategy: 'auto' as const
    })
  )
  t.strictSame(request, {
    model: ['a/b'],
    file: { ...file, name: 'blob.wav' },
    format: 'verbose_json',
    temperature: 0,
    task: 'transcribe',
    stream: true,
    logprobs: true,
    granularities: ['word'],
    language: 'de',
    chunking: 'auto'
  })
})

t.test('timestamp granularities need the format that shows them', async t => {
  await t.rejects(
    transcriptionInput(
      routedCall({
        file,
        model: ['a/b'],
        timestamp_granularities: ['word' as const],
        response_format: 'json' as const
      })
    ),
    {
      code: 'invalid_value',
      param: 'timestamp_granularities',
      message: '`timestamp_granularities` requires `response_format` to be `verbose_json`.'
    }
  )
})

t.test('a translation is never streamed and has no details', async t => {
  const { request } = await translationInput(
    routedCall({ file, model: ['a/b'], prompt: 'names', response_format: 'srt' as const })
  )
  t.strictSame(request, {
    model: ['a/b'],
    file: { ...file, name: 'blob.wav' },
    format: 'srt',
    prompt: 'names',
    task: 'translate',
    stream: false,
    logprobs: false,
    granularities: []
  })
})

t.test('a file that is not audio is refused', async t => {
  const text = { ...file, head: Buffer.from('hello'), name: 'a.txt' }
  await t.rejects(transcriptionInput(routedCall({ file: text, model: ['a/b'] })), {
    code: 'unsupported_format'
  })
  await t.rejects(translationInput(routedCall({ file: text, model: ['a/b'] })), {
    code: 'unsupported_format'
  })
})

const speech: SpeechRequest = { model: 'm', input: 'né 🎈', voice: 'alloy' }

t.test('speech is streamed as events only if `stream_format` is `sse`', async t => {
  t.strictSame(speechInput(routedCall(speech)).request, { ...speech, stream: false })
  t.equal(speechInput(routedCall({ ...speech, stream_format: 'sse' })).request.stream, true)
  t.equal(speechInput(routedCall({ ...speech, stream_format: 'audio' })).request.stream, false)
})
