/** Configured guards on endpoints for images, recordings and documents. */

import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { messagesIn, type Json } from '../support/conversations.ts'
import { wav } from '../support/audio.ts'
import {
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const ticket = 'TCK-123456'
const stage: GuardSettings = {
  name: 'tickets',
  use: 'pattern',
  at: ['request', 'answer'],
  action: 'mask',
  patterns: [{ name: 'ticket', match: 'TCK-\\d{6}', maxLength: 10 }]
}
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)

async function start (
  t: Test,
  script: Script | ((request: SeenRequest) => Script),
  parts: Partial<GuardSettings> = {}
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const providers = [upstreamAt(upstream.url), upstreamAt(upstream.url, 'mistral', 'mistral')]
  return { upstream, api: await testGateway(t, { providers, guards: [{ ...stage, ...parts }] }) }
}

const json = (value: unknown): Script => ({
  headers: { 'content-type': 'application/json' },
  pieces: [JSON.stringify(value)]
})

async function sendForm (
  api: TestGateway,
  path: string,
  fields: Readonly<Record<string, string>>,
  file: readonly [name: string, bytes: Uint8Array, fileName: string]
): Promise<Response> {
  const form = new FormData()
  for (const [key, value] of Object.entries(fields)) form.append(key, value)
  form.append(file[0], new Blob([new Uint8Array(file[1])]), file[2])
  return await fetch(api.url + path, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${testKey}` }
  })
}

const record = async (
  api: TestGateway,
  fields: Readonly<Record<string, string>>,
  path = 'transcriptions'
): Promise<Response> =>
  await sendForm(api, `/v1/audio/${path}`, { model: 'openai/whisper-1', ...fields }, [
    'file',
    wav,
    `of ${ticket}.wav`
  ])

t.test('images: the prompt, its end user and the prompt revised by the model', async t => {
  const { upstream, api } = await start(
    t,
    json({ created: 1, data: [{ b64_json: 'aGk=', revised_prompt: `A drawing of ${ticket}` }] })
  )
  const response = await api.post('/v1/images/generations', {
    model: 'openai/gpt-image-1',
    prompt: `Draw ${ticket}`,
    user: ticket
  })
  t.equal(response.status, 200)
  t.match(await response.json(), { data: [{ b64_json: 'aGk=', revised_prompt: 'A drawing of [ticket]' }] })
  t.match(upstream.requests[0]?.json, { prompt: 'Draw [ticket]', user: '[ticket]' })
  await until(() => api.lines.some(({ msg }) => msg === 'call'), 'the line')
  t.match(
    api.lines.find(({ msg }) => msg === 'call'),
    {
      findings: [
        { stage: 'tickets', point: 'request', count: 2 },
        { point: 'answer', count: 1 }
      ]
    }
  )
})

t.test('image streams: only the revised prompt differs', async t => {
  const event = (value: Json): string => `event: ${String(value['type'])}\ndata: ${JSON.stringify(value)}\n\n`
  const partial = { type: 'image_generation.partial_image', b64_json: 'aGk=', partial_image_index: 0 }
  const completed = {
    type: 'image_generation.completed',
    b64_json: 'aGk=',
    revised_prompt: `of ${ticket}`,
    size: '1024x1024',
    x_new: [1.0]
  }
  const { api } = await start(t, { headers: eventStream, pieces: [event(partial), event(completed)] })
  const body = await (
    await api.post('/v1/images/generations', {
      model: 'openai/gpt-image-1',
      prompt: 'x',
      stream: true,
      partial_images: 1
    })
  ).text()
  t.ok(body.includes(`data: ${JSON.stringify(partial)}\n`))
  t.ok(body.includes(`data: ${JSON.stringify(completed).replace(ticket, '[ticket]')}\n`))
})

t.test('image edits: the prompt and the file names', async t => {
  const { upstream, api } = await start(t, json({ created: 1, data: [{ b64_json: 'aGk=' }] }))
  const response = await sendForm(
    api,
    '/v1/images/edits',
    { model: 'openai/gpt-image-1', prompt: `Add ${ticket}` },
    ['image', png, `${ticket}.png`]
  )
  t.equal(response.status, 200, await response.text())
  const sent = upstream.requests[0]?.bytes.toString('latin1') ?? ticket
  t.notOk(sent.includes(ticket))
  t.ok(sent.includes('Add [ticket]'))
  t.ok(sent.includes(png.toString('latin1')), 'the image itself is unchanged')
})

t.test('recordings: the prompt, the file name, and all parts of the transcript', async t => {
  const segment = {
    id: 0,
    seek: 0,
    start: 0,
    end: 1,
    text: ` Ask for ${ticket}.`,
    tokens: [1, 2],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0
  }
  const verbose = {
    task: 'transcribe',
    language: 'english',
    duration: 1,
    text: `Ask for ${ticket}. Now.`,
    words: [{ word: ticket, start: 0, end: 1 }],
    segments: [segment, { ...segment, id: 1, text: ' Now.' }]
  }
  const { upstream, api } = await start(t, json(verbose))
  const full = await record(api, {
    prompt: `as in ${ticket}`,
    response_format: 'verbose_json',
    'timestamp_granularities[]': 'segment'
  })
  const answer = (await full.json()) as Json
  t.equal(full.status, 200)
  t.match(answer, {
    text: 'Ask for [ticket]. Now.',
    segments: [{ text: ' Ask for [ticket].', tokens: [] }, { text: ' Now.' }]
  })
  t.notMatch(JSON.stringify(answer), ticket)
  const sent = upstream.requests[0]?.bytes.toString('latin1') ?? ticket
  t.notOk(sent.includes(ticket))
  t.ok(sent.includes('as in [ticket]') && sent.includes('of [ticket].wav'))
  for (const [format, expected] of [
    ['json', '{"text":"Ask for [ticket]. Now."}'],
    ['text', 'Ask for [ticket]. Now.\n']
  ] as const) {
    t.equal(
      await (
        await record((await start(t, json({ text: verbose.text }))).api, { response_format: format })
      ).text(),
      expected
    )
  }
  const translated = await record(api, {}, 'translations')
  t.match(await translated.json(), { text: 'Ask for [ticket]. Now.' })
})

t.test('a recording keeps its format when its extension is part of what is masked', async t => {
  const { upstream, api } = await start(t, json({ text: 'x' }), {
    patterns: [{ name: 'mail', match: '\\w+@[\\w.]+', maxLength: 40 }]
  })
  const fields = { model: 'openai/whisper-1' }
  for (const [given, sent] of [
    ['call of ada@example.com.WAV', 'call of [mail].wav'],
    ['ada@example.wav', '[mail].wav'],
    ['call ada@x.org', 'call [mail].wav']
  ] as const) {
    await (await sendForm(api, '/v1/audio/transcriptions', fields, ['file', wav, given])).text()
    t.match(upstream.requests.at(-1)?.text, `filename="${sent}"`)
  }
})

t.test('end users and metadata are masked in records even if the endpoint does not use them', async t => {
  const { api } = await start(t, ({ path }) => json(
    path.includes('ocr') ? { pages: [{ index: 0, markdown: 'x' }], model: 'm' } : { text: 'x' }
  ))
  const document = { type: 'document_url', document_url: 'https://example.com/a.png' }
  await (await api.post('/v1/ocr', {
    model: 'mistral/mistral-ocr-latest', document, user: ticket, metadata: { of: ticket }
  })).text()
  await (await record(api, { prompt: ticket, user: ticket })).text()
  await until(() => api.lines.filter(({ msg }) => msg === 'call').length === 2, 'the lines')
  t.match(api.lines.filter(({ msg }) => msg === 'call'), [
    { status: 200, end_user: '[ticket]', metadata: { of: '[ticket]' } },
    { status: 200, end_user: '[ticket]' }
  ])
  t.notOk(JSON.stringify(api.lines).includes(ticket))
})

t.test('a finding across several segments removes them all, and refuses subtitles', async t => {
  const part = (id: number, text: string): Json => ({
    id,
    seek: 0,
    start: id,
    end: id + 1,
    text,
    tokens: [7],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0
  })
  const verbose = json({
    language: 'english',
    duration: 2,
    text: `It is ${ticket}.`,
    segments: [part(0, ' It is TCK-'), part(1, '123456.')]
  })
  const subtitles: Script = {
    headers: { 'content-type': 'text/plain' },
    pieces: [
      '1\n00:00:00,000 --> 00:00:01,000\nIt is TCK-\n\n2\n00:00:01,000 --> 00:00:02,000\n123456.\n\n'
    ]
  }
  const { api } = await start(t, ({ text }) => (/\r\n(?:srt|vtt)\r\n/.test(text) ? subtitles : verbose))
  for (const format of ['srt', 'vtt']) {
    const refused = await record(api, { response_format: format })
    t.equal(refused.status, 400, format)
    t.match(await refused.json(), { error: { code: 'content_refused' } })
  }
  const answer = (await (await record(api, { response_format: 'verbose_json' })).json()) as Json
  t.equal(answer['text'], 'It is [ticket].')
  t.notMatch(JSON.stringify(answer), /123456|"tokens"/)
})

t.test(
  'a transcript stream is held until a ticket is complete, and has no log probabilities',
  async t => {
    const events = [
      ...['It is TC', 'K-12', '3456. And', ' more.'].map(delta => ({
        type: 'transcript.text.delta',
        delta,
        logprobs: [{ token: delta, logprob: 0, bytes: [1] }]
      })),
      {
        type: 'transcript.text.done',
        text: `It is ${ticket}. And more.`,
        logprobs: [{ token: ticket, logprob: 0, bytes: [1] }]
      }
    ]
    const { upstream, api } = await start(t, {
      headers: eventStream,
      pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`)
    })
    const body = await (
      await record(api, { model: 'openai/gpt-4o-transcribe', stream: 'true', 'include[]': 'logprobs' })
    ).text()
    const messages = messagesIn(body)
    t.equal(
      messages
        .filter(({ type }) => type === 'transcript.text.delta')
        .map(({ delta }) => delta)
        .join(''),
      'It is [ticket]. And more.'
    )
    t.match(messages.at(-1), { type: 'transcript.text.done', text: 'It is [ticket]. And more.' })
    t.notMatch(body, /logprobs|3456/)
    t.notMatch(upstream.requests[0]?.text, /logprobs/, 'they are not requested')
    const reported = await start(
      t,
      { headers: eventStream, pieces: events.map(event => `data: ${JSON.stringify(event)}\n\n`) },
      { action: 'report' }
    )
    const plain = await (
      await record(reported.api, {
        model: 'openai/gpt-4o-transcribe',
        stream: 'true',
        'include[]': 'logprobs'
      })
    ).text()
    t.same(messagesIn(plain), events, 'reporting changes nothing')
  }
)

t.test('documents: the URL and the pages', async t => {
  const page = (index: number, markdown: string): Json => ({ index, markdown, images: [], dimensions: null })
  const { upstream, api } = await start(
    t,
    json({
      pages: [page(0, 'First'), page(1, `| ${ticket} |`)],
      model: 'm',
      usage_info: { pages_processed: 2, doc_size_bytes: 5 }
    })
  )
  const response = await api.post('/v1/ocr', {
    model: 'mistral/mistral-ocr-latest',
    document: { type: 'document_url', document_url: `https://example.com/${ticket}.pdf` }
  })
  t.same(await response.json(), {
    pages: [
      { index: 0, markdown: 'First' },
      { index: 1, markdown: '| [ticket] |' }
    ],
    model: 'mistral/mistral-ocr-latest'
  })
  t.notMatch(upstream.requests[0]?.text, ticket)
})

t.test('a request is refused before it is sent, and an answer before it is returned', async t => {
  const answers: Readonly<Record<string, Script>> = {
    images: json({ created: 1, data: [{ b64_json: 'aGk=', revised_prompt: ticket }] }),
    audio: json({ text: ticket }),
    ocr: json({
      pages: [{ index: 0, markdown: ticket }],
      model: 'm',
      usage_info: { pages_processed: 1, doc_size_bytes: 5 }
    })
  }
  const { upstream, api } = await start(
    t,
    ({ path }) => answers[/images|audio|ocr/.exec(path)?.[0] ?? ''] ?? json({}),
    { action: 'refuse' }
  )
  const calls = (here: string): Readonly<Record<string, () => Promise<Response>>> => ({
    images: async () =>
      await api.post('/v1/images/generations', { model: 'openai/gpt-image-1', prompt: here }),
    edits: async () =>
      await sendForm(api, '/v1/images/edits', { model: 'openai/gpt-image-1', prompt: here }, [
        'image',
        png,
        'a.png'
      ]),
    transcription: async () =>
      await sendForm(api, '/v1/audio/transcriptions', { model: 'openai/whisper-1', prompt: here }, [
        'file',
        wav,
        'a.wav'
      ]),
    ocr: async () =>
      await api.post('/v1/ocr', {
        model: 'mistral/mistral-ocr-latest',
        document: { document_url: `https://example.com/${here}.pdf` }
      })
  })
  for (const [name, call] of Object.entries(calls(ticket))) {
    const response = await call()
    t.equal(response.status, 400, name)
    t.match(await response.json(), { error: { code: 'content_refused' } }, name)
  }
  t.equal(upstream.requests.length, 0)
  for (const [name, call] of Object.entries(calls('x'))) {
    const response = await call()
    const body = await response.text()
    t.equal(response.status, 400, `${name}: ${body}`)
    t.match(body, /content_refused/, name)
    t.notMatch(body, ticket, name)
  }
})

t.test('a request text that a provider repeats in an error is masked too, also in the log', async t => {
  const { api } = await start(
    t,
    {
      status: 400,
      headers: { 'content-type': 'application/json' },
      pieces: [JSON.stringify({ error: { message: `no ${ticket} here` } })]
    },
    { at: ['answer'] }
  )
  const body = await (
    await api.post('/v1/images/generations', { model: 'openai/gpt-image-1', prompt: ticket })
  ).text()
  t.match(body, /no \[ticket\] here/)
  await until(() => api.lines.some(({ msg }) => msg === 'call'), 'the line of the call')
  t.match(api.lines.find(({ msg }) => msg === 'call'), { cause: /no \[ticket\] here/ })
  t.notMatch(JSON.stringify(api.lines), ticket)
})

t.test('a guard for other endpoints has no effect', async t => {
  const { upstream, api } = await start(
    t,
    json({ created: 1, data: [{ b64_json: 'aGk=', revised_prompt: ticket }] }),
    { only: { endpoints: ['chat', 'ocr'] } }
  )
  const body = await (
    await api.post('/v1/images/generations', { model: 'openai/gpt-image-1', prompt: ticket })
  ).text()
  t.match(body, ticket)
  t.match(upstream.requests[0]?.json, { prompt: ticket })
})
