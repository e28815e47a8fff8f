import { createHash } from 'node:crypto'
import t from 'tap'
import { eventStream } from '../support/upstream.ts'
import { testGateway, testKey, type TestGateway } from '../support/gateway.ts'
import { partsOf, wavOf } from '../support/forms.ts'
import { keptUploads } from '../support/uploads.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import {
  transcriptions,
  translations,
  wav,
  start,
  json,
  segment,
  words,
  verbose,
  logprobs,
  usage
} from '../support/audio.ts'

interface FormOptions {
  readonly name?: string
  readonly bytes?: Uint8Array
  readonly signal?: AbortSignal
}

/** Sends a form: the fields, and a recording unless its bytes are empty. */
async function sendForm (
  api: TestGateway,
  path: string,
  fields: Readonly<Record<string, string | readonly string[]>>,
  { name = 'talk.wav', bytes = wav, signal }: FormOptions = {}
): Promise<Response> {
  const form = new FormData()
  for (const [key, value] of Object.entries(fields)) {
    for (const text of [value].flat()) form.append(key, text)
  }
  if (bytes.length > 0) {
    form.append('file', new Blob([new Uint8Array(bytes)], { type: 'application/octet-stream' }), name)
  }
  return await fetch(api.url + path, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${testKey}` },
    ...signal !== undefined && { signal }
  })
}

t.test('a recording is sent part by part as it arrives', async t => {
  const { upstream, api } = await start(t, { pieces: [JSON.stringify(verbose)] })
  const response = await sendForm(
    api,
    transcriptions,
    {
      'model': 'openai/whisper-1',
      'language': 'en',
      'prompt': 'Names: "Ada"\r\n',
      'response_format': 'verbose_json',
      'temperature': '0.5',
      'timestamp_granularities[]': ['word', 'segment'],
      'user': 'left out'
    },
    { name: '../my "talk"\u0007.WAV' }
  )
  t.equal(response.status, 200)
  const { task: _task, ...shown } = verbose
  t.same(await json(response), shown)
  const [request] = upstream.requests
  t.equal(request?.path, '/v1/audio/transcriptions')
  t.equal(request?.headers['content-length'], String(request?.bytes.length))
  t.notOk(request?.headers['transfer-encoding'])
  t.same(request === undefined ? [] : await partsOf(request), [
    ['model', 'whisper-1'],
    ['response_format', 'verbose_json'],
    ['language', 'en'],
    ['prompt', 'Names: "Ada"\r\n'],
    ['temperature', '0.5'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
    ['file', { name: 'my "talk".WAV', type: 'application/octet-stream', base64: wav.toString('base64') }]
  ])
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { endpoint: 'transcriptions', audio_seconds: 2 })
  await until(() => keptUploads().length === 0, 'every upload to be deleted')
})

t.test('each format has its own body and media type, written by the gateway if the model cannot', async t => {
  const native: Readonly<Record<string, readonly [body: string, type: string]>> = {
    json: ['{"text":"Hello.","usage":{"type":"duration","seconds":2}}', 'application/json'],
    verbose_json: [JSON.stringify(verbose), 'application/json'],
    text: ['{"looks": "like JSON"}\n', 'text/plain; charset=utf-8'],
    srt: ['1\n00:00:00,000 --> 00:00:01,500\nNative.\n\n', 'text/plain; charset=utf-8'],
    vtt: ['WEBVTT\n\n00:00.000 --> 00:01.500\nNative.\n\n', 'text/plain; charset=utf-8']
  }
  const traits = { transcription: { formats: ['text', 'srt', 'vtt'] } } as const
  const { upstream, api } = await start(t, async request => {
    const format = (await partsOf(request)).find(([name]) => name === 'response_format')?.[1]
    const [body = '', type = ''] = native[typeof format === 'string' ? format : ''] ?? []
    return { headers: { 'content-type': type }, pieces: [body] }
  }, {}, { models: [{ id: 'openai/text-only', traits, hidden: false }] })
  const json = 'application/json; charset=utf-8'
  const plain = 'text/plain; charset=utf-8'
  const cue = '00:00:00,000 --> 00:00:01,500'
  const rows: ReadonlyArray<
    readonly [model: string, format: string, sentFormat: string, type: string, body: string | RegExp]
  > = [
    ['openai/whisper-1', '', 'json', json, '{"text":"Hello.","usage":{"type":"duration","seconds":2}}'],
    ['openai/text-only', 'text', 'text', plain, '{"looks": "like JSON"}\n'],
    ['openai/text-only', 'srt', 'srt', plain, native['srt']?.[0] ?? ''],
    ['openai/text-only', 'vtt', 'vtt', 'text/vtt; charset=utf-8', native['vtt']?.[0] ?? ''],
    ['openai/whisper-1', 'text', 'json', plain, 'Hello.\n'],
    ['openai/whisper-1', 'srt', 'verbose_json', plain, `1\n${cue}\nHello.\n\n`],
    [
      'openai/whisper-1',
      'verbose_json',
      'verbose_json',
      json,
      /^\{"language":"english","duration":1.5,"text":"Hello.","segments":\[\{"id":0.*"usage":/
    ],
    ['openai/gpt-4o-transcribe', 'text', 'json', plain, 'Hello.\n'],
    ['groq/whisper-large-v3', 'srt', 'verbose_json', plain, `1\n${cue}\nHello.\n\n`],
    [
      'groq/whisper-large-v3',
      'vtt',
      'verbose_json',
      'text/vtt; charset=utf-8',
      `WEBVTT\n\n${cue.replaceAll(',', '.')}\nHello.\n\n`
    ]
  ]
  for (const [model, format, sentFormat, type, body] of rows) {
    const response = await sendForm(api, transcriptions, {
      model,
      ...format !== '' && { response_format: format }
    })
    t.equal(response.status, 200, `${model} ${format}`)
    t.equal(response.headers.get('content-type'), type)
    const text = await response.text()
    if (typeof body === 'string') t.equal(text, body)
    else t.match(text, body)
    t.notMatch(text, '"words"', 'words were not requested')
    const sent = upstream.requests.at(-1)
    t.same(sent && (await partsOf(sent)).find(([name]) => name === 'response_format'), [
      'response_format',
      sentFormat
    ])
  }
})

t.test('the seconds of a recording are recorded, whatever the format of its transcript', async t => {
  const { api } = await start(t, async request => {
    const format = (await partsOf(request)).find(([name]) => name === 'response_format')?.[1]
    return format === 'json' || format === 'verbose_json'
      ? { pieces: [JSON.stringify(verbose)] }
      : { headers: { 'content-type': 'text/plain' }, pieces: ['Hello.\n'] }
  })
  for (const [index, format] of ['text', 'srt', 'vtt'].entries()) {
    await (await sendForm(api, transcriptions, { model: 'openai/whisper-1', response_format: format })).text()
    await until(() => api.lines.length === index + 1, 'a line in the log')
    t.match(api.lines[index], { audio_seconds: 2 }, format)
  }
})

t.test('words and segments are included if requested', async t => {
  const { api } = await start(t, {
    pieces: [JSON.stringify({ ...verbose, segments: [{ start: 0, end: 1, text: 'x' }] })]
  })
  const keys = async (granularities: readonly string[]): Promise<string[]> =>
    Object.keys(
      await json(
        await sendForm(api, transcriptions, {
          'model': 'whisper-1',
          'response_format': 'verbose_json',
          'timestamp_granularities[]': granularities
        })
      )
    )
  t.same(await keys([]), ['language', 'duration', 'text', 'segments', 'usage'])
  t.same(await keys(['word']), ['language', 'duration', 'text', 'words', 'usage'])
  t.same(await keys(['word', 'segment']), ['language', 'duration', 'text', 'words', 'segments', 'usage'])
  const comma = await sendForm(api, transcriptions, {
    model: 'whisper-1',
    response_format: 'verbose_json',
    timestamp_granularities: 'word,segment'
  })
  t.match(await json(comma), {
    words,
    segments: [
      { id: 0, seek: 0, tokens: [], temperature: 0, avg_logprob: 0, compression_ratio: 0, no_speech_prob: 0 }
    ]
  })
})

t.test('a transcript whose provider counted nothing is charged by an estimate', async t => {
  const zero = { type: 'tokens', input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  const { api } = await start(t, { pieces: [JSON.stringify({ text: 'Hello.', usage: zero })] })
  const response = await sendForm(api, transcriptions, { model: 'openai/gpt-4o-transcribe' })
  t.not(response.headers.get('x-headgate-cost-usd'), '0')
  t.same(await json(response), { text: 'Hello.' })
})

t.test('a transcript is streamed, and events are sent even if the model does not stream', async t => {
  const frames = [
    'data: {"type":"transcript.text.delta","delta":"Hel","logprobs":[{"token":"Hel","logprob":-0.1,"bytes":[72]}]}\n\n',
    'data: {"type":"transcript.text.delta","delta":"lo."}\n\n'
  ]
  const done = `data: ${JSON.stringify({ type: 'transcript.text.done', text: 'Hello.', logprobs, usage })}\n\n`
  const { upstream, api } = await start(
    t,
    (_request, number) =>
      [
        { headers: eventStream, pieces: [...frames, done, 'data: [DONE]\n\n'] },
        { pieces: [JSON.stringify({ text: 'Hello.', usage: { type: 'duration', seconds: 2 } })] },
        { headers: eventStream, pieces: frames },
        { headers: eventStream, pieces: [...frames, done] }
      ][number] ?? { silent: true }
  )
  const streamed = await sendForm(api, transcriptions, {
    model: 'openai/gpt-4o-transcribe',
    stream: 'true',
    include: 'logprobs',
    chunking_strategy: '{"type":"server_vad","threshold":0.5}'
  })
  t.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(await streamed.text(), frames.join('') + done + 'data: [DONE]\n\n')
  const parts = upstream.requests[0] === undefined ? [] : await partsOf(upstream.requests[0])
  t.same(parts.slice(2, 5), [
    ['include[]', 'logprobs'],
    ['chunking_strategy', '{"type":"server_vad","threshold":0.5}'],
    ['stream', 'true']
  ])

  const made = await sendForm(api, transcriptions, { model: 'openai/whisper-1', stream: 'true' })
  t.equal(
    await made.text(),
    [
      'data: {"type":"transcript.text.delta","delta":"Hello."}',
      'data: {"type":"transcript.text.done","text":"Hello.","usage":{"type":"duration","seconds":2}}',
      'data: [DONE]',
      ''
    ].join('\n\n')
  )
  const sentFormat = upstream.requests[1] === undefined ? [] : await partsOf(upstream.requests[1])
  t.notOk(
    sentFormat.some(([name]) => name === 'stream'),
    'it would be ignored'
  )

  const cut = await (
    await sendForm(api, transcriptions, { model: 'openai/gpt-4o-transcribe', stream: 'true' })
  ).text()
  t.match(cut, /event: error\ndata: .*upstream_stream_interrupted/)
  const complete = await sendForm(api, transcriptions, { model: 'openai/gpt-4o-transcribe' })
  t.same(await json(complete), { text: 'Hello.', logprobs, usage }, 'events where none were requested')
  await until(() => api.lines.length === 4, 'four lines in the log')
  t.match(api.lines[0], { usage: { prompt: 14, completion: 3, total: 17 }, streamed: true })
})

const turns = [
  { type: 'transcript.text.segment', id: 'seg_1', start: 0, end: 1, text: 'Hello Bob,', speaker: 'agent' },
  { type: 'transcript.text.segment', id: 'seg_2', start: 1, end: 2, text: ' hi.', speaker: 'B' }
]
const diarized = { task: 'transcribe', duration: 2, text: 'Hello Bob, hi.', segments: turns, usage }

t.test('a transcript tells speakers apart, complete and streamed', async t => {
  const frames = [
    { type: 'transcript.text.delta', delta: 'Hello Bob,', segment_id: 'seg_1' },
    turns[0],
    { type: 'transcript.text.delta', delta: ' hi.', segment_id: 'seg_2' },
    turns[1],
    { type: 'transcript.text.done', text: 'Hello Bob, hi.', usage }
  ].map(event => `data: ${JSON.stringify(event)}\n\n`)
  const { upstream, api } = await start(t, (_request, number) =>
    number === 0
      ? { pieces: [JSON.stringify(diarized)] }
      : { headers: eventStream, pieces: [...frames, 'data: [DONE]\n\n'] }
  )
  const samples = ['data:audio/wav;base64,QUE=', 'data:audio/wav;base64,QkI=']
  const form = {
    'model': 'openai/gpt-4o-transcribe-diarize',
    'response_format': 'diarized_json',
    'chunking_strategy': 'auto',
    'known_speaker_names[]': ['agent', 'Bob'],
    'known_speaker_references[]': samples
  }
  t.same(await json(await sendForm(api, transcriptions, form)), diarized)
  const parts = upstream.requests[0] === undefined ? [] : await partsOf(upstream.requests[0])
  t.same(parts.slice(1, -1), [
    ['response_format', 'diarized_json'],
    ['known_speaker_names[]', 'agent'],
    ['known_speaker_names[]', 'Bob'],
    ['known_speaker_references[]', samples[0]],
    ['known_speaker_references[]', samples[1]],
    ['chunking_strategy', 'auto']
  ])
  const streamed = await sendForm(api, transcriptions, { ...form, stream: 'true' })
  t.equal(await streamed.text(), frames.join('') + 'data: [DONE]\n\n')
})

t.test('samples of four speakers, and names with commas, reach the model as they are', async t => {
  const { upstream, api } = await start(t, { pieces: [JSON.stringify(diarized)] })
  const tenSeconds = Buffer.alloc(10 * 16_000 * 2, 'a').toString('base64')
  const samples = Array.from({ length: 4 }, () => `data:audio/wav;base64,${tenSeconds}`)
  const names = ['Doe, Jane', 'Roe, Richard', 'Bob', 'Eve']
  const answer = await sendForm(api, transcriptions, {
    'model': 'openai/gpt-4o-transcribe-diarize',
    'response_format': 'diarized_json',
    'known_speaker_names[]': names,
    'known_speaker_references[]': samples
  })
  t.equal(answer.status, 200)
  const parts = upstream.requests[0] === undefined ? [] : await partsOf(upstream.requests[0])
  const sent = (wanted: string) => parts.flatMap(([name, value]) => name === wanted ? [value] : [])
  t.same(sent('known_speaker_names[]'), names)
  t.ok(sent('known_speaker_references[]').every((sample, at) => sample === samples[at]))
  t.equal(sent('known_speaker_references[]').length, 4)
})

t.test('a recording of a speaker must be sent itself, not as an address', async t => {
  const { upstream, api } = await start(t, { pieces: [JSON.stringify(diarized)] })
  const answer = await sendForm(api, transcriptions, {
    'model': 'openai/gpt-4o-transcribe-diarize',
    'response_format': 'diarized_json',
    'chunking_strategy': 'auto',
    'known_speaker_names[]': ['agent', 'Bob'],
    'known_speaker_references[]': ['data:audio/wav;base64,QUE=', 'http://169.254.169.254/a.wav']
  })
  t.equal(answer.status, 422)
  t.match(await json(answer), {
    detail: [{ loc: ['body', 'known_speaker_references', 1], msg: "String should match pattern '^data:'" }]
  })
  t.equal(upstream.requests.length, 0)
})

t.test('parameters that a model does not take are refused, and never left out', async t => {
  const answer = { text: 'Hi', languages: [{ code: 'de' }] }
  const { upstream, api } = await start(t, { pieces: [JSON.stringify(answer)] })
  for (const [param, value] of [
    ['response_format', 'diarized_json'],
    ['known_speaker_names', 'agent'],
    ['known_speaker_references', 'data:audio/wav;base64,QUE='],
    ['languages', 'de'],
    ['keywords', 'Headgate']
  ] as const) {
    const refused = await sendForm(api, transcriptions, { model: 'openai/gpt-4o-transcribe', [param]: value })
    t.equal(refused.status, 400)
    t.match(await json(refused), { error: { code: 'unsupported_parameter', param } })
  }
  t.equal(upstream.requests.length, 0)
  const form = {
    'model': 'openai/gpt-transcribe',
    'languages[0]': 'de',
    'languages[1]': 'en',
    'keywords[]': 'Headgate'
  }
  t.same(await json(await sendForm(api, transcriptions, form)), answer)
  const parts = upstream.requests[0] === undefined ? [] : await partsOf(upstream.requests[0])
  t.same(parts.slice(2, -1), [['languages[]', 'de'], ['languages[]', 'en'], ['keywords[]', 'Headgate']])
})

t.test('translations are English text, and take fewer parameters', async t => {
  const { upstream, api } = await start(t, (_request, number) => ({
    pieces: [JSON.stringify(number === 0 ? { text: 'Hi.', usage } : { ...verbose, language: undefined })]
  }))
  const response = await sendForm(api, translations, {
    model: 'openai/whisper-1',
    language: 'de',
    prompt: '',
    temperature: '0'
  })
  t.same(await json(response), { text: 'Hi.' })
  const [request] = upstream.requests
  t.equal(request?.path, '/v1/audio/translations')
  t.same(
    (request === undefined ? [] : await partsOf(request)).map(([name]) => name),
    ['model', 'response_format', 'temperature', 'file']
  )
  const long = await sendForm(api, translations, { model: 'whisper-1', response_format: 'verbose_json' })
  t.same(await json(long), { language: 'english', duration: 1.5, text: 'Hello.', segments: [segment] })
  const refused = await sendForm(api, translations, { model: 'openai/gpt-4o-transcribe' })
  t.equal(refused.status, 400)
  t.match(await json(refused), { error: { code: 'unsupported_parameter', param: 'model' } })
})

t.test('an invalid request is refused, naming the parameter', async t => {
  const { upstream, api } = await start(t, { pieces: ['{"text":"x"}'] })
  const model = 'openai/whisper-1'
  const newer = 'openai/gpt-4o-transcribe'
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
  type Fields = Parameters<typeof sendForm>[2]
  const rows: ReadonlyArray<
    readonly [fields: Fields, status: number, expected: object, options?: FormOptions]
  > = [
    [{ model }, 422, { detail: [{ loc: ['body', 'file'], type: 'missing' }] }, { bytes: Buffer.alloc(0) }],
    [{ model, file: 'text' }, 422, { detail: [{ loc: ['body', 'file'] }] }, { bytes: Buffer.alloc(0) }],
    [{}, 422, { detail: [{ loc: ['body', 'model'], type: 'missing' }] }],
    [
      { model, temperature: '1.5' },
      422,
      { detail: [{ loc: ['body', 'temperature'], type: 'less_than_equal' }] }
    ],
    [
      { model, temperature: 'warm' },
      422,
      { detail: [{ loc: ['body', 'temperature'], type: 'float_parsing' }] }
    ],
    [
      { model, response_format: 'pdf' },
      422,
      { detail: [{ loc: ['body', 'response_format'], type: 'literal_error' }] }
    ],
    [{ model, stream: 'perhaps' }, 422, { detail: [{ loc: ['body', 'stream'], type: 'bool_parsing' }] }],
    [{ model, 'include[]': 'all' }, 422, { detail: [{ loc: ['body', 'include', 0] }] }],
    [{ model, chunking_strategy: 'never' }, 422, { detail: [{ loc: ['body', 'chunking_strategy'] }] }],
    [{ model: 'openaj/whisper-1' }, 404, { error: { code: 'model_not_found', param: 'model' } }],
    [
      { model, 'timestamp_granularities[]': 'word' },
      400,
      { error: { code: 'invalid_value', param: 'timestamp_granularities' } }
    ],
    [{ model, include: 'logprobs' }, 400, { error: { code: 'unsupported_parameter', param: 'include' } }],
    [
      { model, chunking_strategy: 'auto' },
      400,
      { error: { code: 'unsupported_parameter', param: 'chunking_strategy' } }
    ],
    [
      { model: newer, response_format: 'srt' },
      400,
      { error: { code: 'unsupported_parameter', param: 'response_format' } }
    ],
    [
      { model: newer, response_format: 'verbose_json' },
      400,
      { error: { code: 'unsupported_parameter', param: 'response_format' } }
    ],
    [
      { model: newer, response_format: 'text', include: 'logprobs' },
      400,
      { error: { code: 'unsupported_parameter', param: 'include' } }
    ],
    [
      { model: 'openai/gpt-4o-transcribe-diarize', prompt: 'x' },
      400,
      { error: { code: 'unsupported_parameter', param: 'prompt' } }
    ],
    [
      { model },
      400,
      { error: { code: 'unsupported_format', param: 'file', message: /png/ } },
      { bytes: png, name: 'talk.mp3' }
    ],
    [
      { model },
      400,
      { error: { code: 'unsupported_format', param: 'file' } },
      { bytes: Buffer.from('hello'), name: 'talk.txt' }
    ]
  ]
  for (const [fields, status, expected, options] of rows) {
    const response = await sendForm(api, transcriptions, fields, options)
    t.equal(response.status, status, JSON.stringify(fields))
    t.match(await json(response), expected)
  }
  const asJson = await api.post(transcriptions, { model })
  t.equal(asJson.status, 415)
  t.match(await json(asJson), { error: { code: 'unsupported_media_type', message: /multipart/ } })
  t.equal(upstream.requests.length, 0)
  t.equal(
    (await fetch(api.url + transcriptions, { method: 'POST', body: new FormData() })).status,
    401,
    'the key comes first'
  )
  await until(() => keptUploads().length === 0, 'every upload to be deleted')
})

t.test('a name without a usable extension gets the one matching its bytes', async t => {
  const { upstream, api } = await start(t, { pieces: ['{"text":"x"}'] })
  const mp3 = Buffer.concat([
    Buffer.from('ID3\u0004\0\0\0\0\0\0'),
    Buffer.from('fff344c4', 'hex'),
    Buffer.alloc(140)
  ])
  const mp4 = Buffer.from('0000001c667479704d344120000002004d34412069736f6d69736f32', 'hex')
  const webm = Buffer.from(
    '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701',
    'hex'
  )
  const rows: ReadonlyArray<readonly [sent: string, bytes: Uint8Array, expected: string]> = [
    ['blob', wav, 'blob.wav'],
    ['rec.bin', mp3, 'rec.mp3'],
    ['.x', mp4, 'audio.m4a'],
    ['note.opus', webm, 'note.webm'],
    ['keep.mpga', mp3, 'keep.mpga'],
    ['a.b.MP4', mp4, 'a.b.MP4'],
    ['raw.mp3', Buffer.alloc(100, 1), 'raw.mp3']
  ]
  for (const [name, bytes, expected] of rows) {
    const response = await sendForm(api, transcriptions, { model: 'whisper-1' }, { name, bytes })
    t.equal(response.status, 200, name)
    const last = upstream.requests.at(-1)
    const file =
      last === undefined ? undefined : (await partsOf(last)).find(([part]) => part === 'file')?.[1]
    t.equal(Object(file).name, expected)
  }
})

t.test('25 MB are accepted, one byte more is refused', async t => {
  const audioFileBytes = 25 * 1024 * 1024
  const { upstream, api } = await start(
    t,
    { pieces: ['{"text":"x"}'] },
    {},
    { limits: { ...settings().limits, audioFileBytes } }
  )
  const bytes = Buffer.alloc(audioFileBytes + 1)
  wav.copy(bytes)
  const over = await sendForm(api, transcriptions, { model: 'whisper-1' }, { bytes })
  t.equal(over.status, 413)
  t.match(await json(over), {
    error: { code: 'file_too_large', param: 'file', type: 'invalid_request_error' }
  })
  t.equal(upstream.requests.length, 0)
  t.equal(
    (await sendForm(api, transcriptions, { model: 'whisper-1' }, { bytes: bytes.subarray(0, -1) })).status,
    200
  )
  t.ok((upstream.requests[0]?.bytes.length ?? 0) > audioFileBytes)
  await until(() => keptUploads().length === 0, 'every upload to be deleted')
})

t.test('another model transcribes if the first cannot, and a retry sends the recording again', async t => {
  const subtitles = '1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n'
  const { upstream, api } = await start(
    t,
    (_request, number) =>
      number === 0
        ? { status: 503, pieces: ['{}'] }
        : { pieces: [JSON.stringify(verbose)] },
    { retries: 1 }
  )
  const response = await sendForm(api, transcriptions, {
    'model[]': ['openai/gpt-4o-transcribe', 'openai/whisper-1'],
    'response_format': 'srt'
  })
  t.equal(await response.text(), subtitles)
  t.equal(response.headers.get('x-headgate-model'), 'openai/whisper-1')
  t.equal(upstream.requests.length, 2, 'the model that cannot was not even called')
  for (const request of upstream.requests) {
    const parts = await partsOf(request)
    t.same(parts[0], ['model', 'whisper-1'])
    t.equal(Object(parts.at(-1)?.[1]).base64, wav.toString('base64'))
  }
  await sendForm(api, transcriptions, { model: 'openai/gpt-4o-transcribe,openai/whisper-1' })
  t.same((await partsOf(upstream.requests[2] ?? { bytes: Buffer.alloc(0), headers: {} }))[0], [
    'model',
    'gpt-4o-transcribe'
  ])
})

t.test('a caller who disconnects ends the call at the provider and leaves no file', async t => {
  const { upstream, api } = await start(
    t,
    { silent: true },
    {},
    { limits: { ...settings().limits, bodyMemoryBytes: 1000 } }
  )
  const leaving = new AbortController()
  const answer = sendForm(api, transcriptions, { model: 'whisper-1' }, { signal: leaving.signal })
  answer.catch(() => undefined)
  const seen = await upstream.request(0)
  t.equal(keptUploads().length, 1, 'too large for the memory')
  leaving.abort()
  await seen.aborted
  await until(() => api.lines.length === 1 && keptUploads().length === 0, 'a line in the log for each call')
  t.match(api.lines[0], { outcome: 'client_closed' })
})

t.test('the sandbox transcribes what it was sent, the same in every format', async t => {
  const api = await testGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
  const ask = async (fields: Readonly<Record<string, string>>, path = transcriptions): Promise<Response> =>
    await sendForm(api, path, { model: 'sandbox/listener', ...fields }, { bytes: wavOf(2) })
  const text =
    'This is the sandbox, which hears nothing. It was given talk.wav, which has 32044 bytes. That is 2.00 seconds of sound.'
  const plain = await json(await ask({ include: 'logprobs' }))
  t.match(plain, { text, usage: { type: 'tokens', input_tokens: 20 } })
  t.equal((plain['logprobs'] as Array<{ token: string }>).map(({ token }) => token).join(''), text)
  t.equal(await (await ask({ response_format: 'text' })).text(), `${text}\n`)
  t.match(
    await (await ask({ response_format: 'srt' })).text(),
    /^1\n00:00:00,000 --> 00:00:00,\d{3}\nThis is the sandbox/
  )
  t.match(
    await (await ask({ response_format: 'vtt' })).text(),
    /^WEBVTT\n\n00:00:00\.000 --> [^]*--> 00:00:02\.000\n/
  )
  const long = await json(
    await ask({ 'response_format': 'verbose_json', 'timestamp_granularities[]': 'word' })
  )
  const spans = long['words'] as Array<{ word: string, start: number, end: number }>
  t.equal(spans.map(({ word }) => word).join(' '), text)
  t.equal(spans.at(-1)?.end, 2)
  const streamed = await (await ask({ stream: 'true' })).text()
  t.equal([...streamed.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join(''), text)
  t.same(await json(await ask({}, translations)), { text })
  const wrong = await ask({ model: 'sandbox/speaker' })
  t.equal(wrong.status, 404)
})

t.test(
  'recordings arrive as sent, one after another or at once, whatever happens to others',
  async t => {
    // Some callers disconnect, and some requests fail and are retried. Their memory is reused for others.
    const seen: string[] = []
    let requests = 0
    const { api } = await start(
      t,
      async request => {
        const file = (await partsOf(request)).find(([name]) => name === 'file')?.[1]
        if (typeof file === 'object') {
          seen.push(createHash('sha256').update(file.base64, 'base64').digest('hex'))
        }
        return ++requests % 7 === 0 ? { status: 503, pieces: ['{}'] } : { pieces: ['{"text":"Hello."}'] }
      },
      { retries: 3 },
      { limits: { ...settings().limits, audioFileBytes: 4_000_000 } }
    )
    const sendOne = async (number: number): Promise<void> => {
      const bytes = Buffer.concat([wav, Buffer.alloc(400_000 + number * 120_011, `recording ${number} `)])
      const leaving = new AbortController()
      const sent = sendForm(
        api,
        transcriptions,
        { model: 'openai/whisper-1' },
        { bytes, signal: leaving.signal }
      )
      if (number % 5 === 4) {
        setImmediate(() => leaving.abort())
        return void (await t.rejects(sent, { name: 'AbortError' }))
      }
      const response = await sent
      const text = await response.text()
      t.equal(response.status, 200, `recording ${number}: ${text}`)
      t.ok(
        seen.includes(createHash('sha256').update(bytes).digest('hex')),
        `recording ${number} came as it was sent`
      )
    }
    for (let number = 0; number < 6; number++) await sendOne(number)
    await Promise.all(Array.from({ length: 18 }, async (_, number) => await sendOne(number)))
  }
)
