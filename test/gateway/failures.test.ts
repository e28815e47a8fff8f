import t from 'tap'
import { encodePng } from '../../lib/sandbox/png.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { wavOf } from '../support/forms.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { keptUploads } from '../support/uploads.ts'
import { fakeUpstream, type Script } from '../support/upstream.ts'
import type { Provider } from '../../lib/providers/provider.ts'

const picture = await encodePng(
  paint({ text: 'x', number: 0, width: 8, height: 8, transparent: false, squares: 4 })
)

/** One kind of request to a provider. */
interface Question {
  readonly path: string
  /** Without the provider prefix. */
  readonly model: string
  readonly providers: readonly [first: string, second: string]
  readonly body: Readonly<Record<string, unknown>>
  /** For requests with a form: the field of the file and its bytes. */
  readonly file?: readonly [field: string, bytes: Buffer]
  /** The answer of a provider that supports it. */
  readonly answer: Script
}

const image: Script = { pieces: ['{"created":1,"data":[{"b64_json":"AAAA"}]}'] }
const painted: Script = {
  pieces: ['{"candidates":[{"content":{"parts":[{"inlineData":{"data":"AAAA"}}]}}]}']
}
const openai = ['openai', 'second'] as const
const recording = {
  providers: openai,
  model: 'whisper-1',
  body: {},
  file: ['file', wavOf(0.1)],
  answer: { pieces: ['{"text":"x"}'] }
} as const

const questions: Readonly<Record<string, Question>> = {
  'embeddings': {
    path: 'embeddings',
    providers: openai,
    model: 'text-embedding-3-small',
    body: { input: 'x' },
    answer: { pieces: ['{"data":[{"index":0,"embedding":[1]}]}'] }
  },
  'embeddings of Gemini': {
    path: 'embeddings',
    providers: ['google', 'google'],
    model: 'gemini-embedding-001',
    body: { input: 'x' },
    answer: { pieces: ['{"embeddings":[{"values":[1]}]}'] }
  },
  'speech': {
    path: 'audio/speech',
    providers: openai,
    model: 'tts-1',
    body: { input: 'x', voice: 'alloy' },
    answer: { headers: { 'content-type': 'audio/mpeg' }, pieces: ['sound'] }
  },
  'transcriptions': { path: 'audio/transcriptions', ...recording },
  'translations': { path: 'audio/translations', ...recording },
  'images': {
    path: 'images/generations',
    providers: openai,
    model: 'gpt-image-1',
    body: { prompt: 'x' },
    answer: image
  },
  'images in a stream': {
    path: 'images/generations',
    providers: openai,
    model: 'gpt-image-1',
    body: { prompt: 'x', stream: true },
    answer: image
  },
  'images of Gemini': {
    path: 'images/generations',
    providers: ['google', 'other-google'],
    model: 'gemini-2.5-flash-image',
    body: { prompt: 'x', n: 2 },
    answer: painted
  },
  'edits': {
    path: 'images/edits',
    providers: openai,
    model: 'dall-e-2',
    body: { prompt: 'x' },
    file: ['image', picture],
    answer: image
  },
  'variations': {
    path: 'images/variations',
    providers: openai,
    model: 'dall-e-2',
    body: {},
    file: ['image', picture],
    answer: image
  },
  'ocr': {
    path: 'ocr',
    providers: ['mistral', 'other-mistral'],
    model: 'mistral-ocr-latest',
    body: { document: { document_url: 'https://example.com/a.pdf' } },
    answer: { pieces: ['{"pages":[{"index":0,"markdown":"x"}]}'] }
  }
}

async function ask (
  api: TestGateway,
  { path, body, file }: Question,
  models: readonly string[],
  signal: AbortSignal | null = null
): Promise<Response> {
  const url = `/v1/${path}`
  if (file === undefined) {
    return await api.post(url, { ...body, model: models.length === 1 ? models[0] : models }, { signal })
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) form.append(name, String(value))
  for (const model of models) form.append('model', model)
  form.append(file[0], new File([new Uint8Array(file[1])], 'a.wav'))
  return await fetch(api.url + url, { method: 'POST', body: form, headers: { 'x-api-key': testKey }, signal })
}

/** Providers of every kind, all at one URL. */
async function start (
  t: Parameters<typeof testGateway>[0],
  script: Parameters<typeof fakeUpstream>[0],
  timeouts: Partial<Provider['timeouts']> = {}
) {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const kinds = [
    ['openai', 'openai'],
    ['second', 'openai'],
    ['google', 'google'],
    ['other-google', 'google'],
    ['mistral', 'mistral'],
    ['other-mistral', 'mistral']
  ] as const
  const providers = kinds.map(([id, kind]) => {
    const settings = upstreamAt(kind === 'google' ? upstream.url : `${upstream.url}/v1`, id, kind)
    return { ...settings, timeouts: { ...settings.timeouts, ...timeouts } }
  })
  return { upstream, api: await testGateway(t, { providers }) }
}

t.test('a failure of a provider gives the same result on every endpoint', async t => {
  const canary = 'sk-canary'
  const rows: ReadonlyArray<readonly [trouble: string, script: Script, status: number, code: RegExp]> = [
    ['silence', { silent: true }, 504, /^upstream_timeout$/],
    ['an answer that stalls', { pieces: ['{'], then: 'stall' }, 504, /^upstream_timeout$/],
    [
      'a cut answer',
      { headers: { 'content-length': '100' }, pieces: ['{"a":'], then: 'reset' },
      502,
      /^upstream_/
    ],
    ['half an answer', { pieces: ['{"a":'] }, 502, /^upstream_invalid_response$/],
    ['nothing', { pieces: ['null'] }, 502, /^upstream_(?:invalid_response|stream_interrupted)$/],
    ['an empty answer', { pieces: [] }, 502, /^upstream_invalid_response$/],
    [
      'the error page of a proxy',
      { headers: { 'content-type': 'text/html' }, pieces: [`<html>${canary}</html>`] },
      502,
      /^upstream_invalid_response$/
    ],
    ['a way elsewhere', { status: 302, headers: { location: 'https://example.com/' } }, 502, /^upstream_/],
    ['an error', { status: 500, pieces: [`oops ${canary}`] }, 502, /^upstream_error$/],
    [
      'no right',
      { status: 403, pieces: [`{"error":{"message":"${canary} may not"}}`] },
      502,
      /^upstream_auth_failed$/
    ],
    ['a limit', { status: 429, pieces: ['{"error":{"message":"slow down"}}'] }, 429, /^rate_limit_exceeded$/]
  ]
  for (const [trouble, script, status, code] of rows) {
    const { api } = await start(
      t,
      script,
      trouble === 'silence' || script.then === 'stall'
        ? { firstByteMs: 50, responseMs: 50, idleBytesMs: 50 }
        : {}
    )
    for (const [name, question] of Object.entries(questions)) {
      const response = await ask(api, question, [`${question.providers[0]}/${question.model}`])
      const text = await response.text()
      t.equal(response.status, status, `${name}: ${trouble}`)
      t.match(
        JSON.parse(text),
        { error: { code, type: status === 429 ? 'rate_limit_error' : 'server_error' } },
        text
      )
      t.notMatch(text, canary)
      if (trouble === 'the error page of a proxy' && !/^(?:embeddings|speech)/.test(name)) {
        t.match(text, /page of HTML, not JSON: its `base_url`/, name)
      }
    }
    await until(() => api.lines.length === Object.keys(questions).length, 'a line in the log for each call')
    t.notMatch(JSON.stringify(api.lines), /"outcome":"(?!error)/)
  }
  await until(() => keptUploads().length === 0, 'every upload to be deleted')
})

const chatQuestions: Readonly<Record<string, Question>> = {
  'chat': {
    path: 'chat/completions',
    providers: openai,
    model: 'gpt-4.1',
    body: { messages: 'x' },
    answer: {
      pieces: [
        '{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}'
      ]
    }
  },
  'chat of Gemini': {
    path: 'chat/completions',
    providers: ['google', 'other-google'],
    model: 'gemini-2.5-flash',
    body: { messages: 'x' },
    answer: { pieces: ['{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":"STOP"}]}'] }
  }
}

t.test('an impossible token count is kept from callers and totals', async t => {
  let text = ''
  const { api } = await start(t, () => ({ pieces: [text] }))
  let calls = 0
  for (const [name, question] of Object.entries({ ...questions, ...chatQuestions })) {
    const [body] = question.answer.pieces as readonly [string] // as they are above
    if (!body.startsWith('{')) continue
    for (const count of [1e308, 9e15, 1_000_000_001]) {
      const counts = {
        prompt_tokens: count,
        input_tokens: count,
        output_tokens: 1,
        completion_tokens: 1,
        total_tokens: count,
        promptTokenCount: count,
        candidatesTokenCount: 1
      }
      text = JSON.stringify({
        ...JSON.parse(body),
        [question.providers[0] === 'google' ? 'usageMetadata' : 'usage']: counts
      })
      const response = await ask(api, question, [`${question.providers[0]}/${question.model}`])
      const answer = await response.text()
      t.equal(response.status, 200, name)
      t.notMatch(answer, /e\+|9000000000000000|1000000001/, `${name}: ${answer}`)
      calls++
      await until(() => api.lines.length === calls, 'the line of the call')
      t.notMatch(JSON.stringify(api.lines.at(-1)), /e\+|9000000000000000|1000000001/, name)
    }
  }
})

t.test('if a server counts nothing, zeros are reported and the usage is estimated', async t => {
  const counts = {
    prompt_tokens: 0,
    input_tokens: 0,
    output_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    promptTokenCount: 0,
    candidatesTokenCount: 0
  }
  for (const [name, question] of Object.entries(chatQuestions)) {
    const [body] = question.answer.pieces as readonly [string] // as they are above
    const { api } = await start(t, {
      pieces: [
        JSON.stringify({
          ...JSON.parse(body),
          [question.providers[0] === 'google' ? 'usageMetadata' : 'usage']: counts
        })
      ]
    })
    const response = await ask(api, question, [`${question.providers[0]}/${question.model}`])
    t.equal(response.status, 200, name)
    await response.text()
    await until(() => api.lines.length === 1, 'the line of the call')
    t.match(api.lines, [{ usage: { estimated: true } }], name)
  }
})

t.test('a server that sends comments before its JSON to keep the connection alive is understood', async t => {
  for (const [name, question] of Object.entries(chatQuestions)) {
    const comments = [': PROCESSING\n\n', ':\r\n\r\n', ' : again\n']
    const { api } = await start(t, { pieces: [...comments, ...question.answer.pieces as readonly string[]] })
    const response = await ask(api, question, [`${question.providers[0]}/${question.model}`])
    t.match(await response.json(), { choices: [{ message: { content: 'hello' } }] }, name)
    const silent = await start(t, { pieces: comments })
    t.equal(
      (await ask(silent.api, question, [`${question.providers[0]}/${question.model}`])).status,
      502,
      `${name}: comments alone`
    )
  }
})

t.test('the second model of a list answers on every endpoint that supports lists', async t => {
  for (const [name, question] of Object.entries(questions)) {
    if (question.path === 'embeddings') continue
    const { upstream, api } = await start(t, (_request, number) =>
      number === 0 ? { status: 500, pieces: ['{}'] } : question.answer
    )
    const models = question.providers.map(provider => `${provider}/${question.model}`)
    const response = await ask(api, question, models)
    t.equal(response.status, 200, name)
    t.equal(response.headers.get('x-headgate-model'), models[1])
    t.ok(upstream.requests.length >= 2)
    await response.arrayBuffer()
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(api.lines[0], {
      outcome: 'ok',
      model: models[1],
      failed_attempts: [new RegExp(`^${models[0]}: `)]
    })
  }
})

t.test('a client disconnect reaches the provider on every endpoint', async t => {
  for (const [name, question] of Object.entries(questions)) {
    const { upstream, api } = await start(t, { silent: true })
    const leaving = new AbortController()
    const answer = ask(api, question, [`${question.providers[0]}/${question.model}`], leaving.signal)
    answer.catch(() => undefined)
    const seen = await upstream.request(0)
    leaving.abort()
    await seen.aborted
    await until(() => api.lines.length === 1 && keptUploads().length === 0, 'a line in the log for each call')
    t.match(api.lines[0], { outcome: 'client_closed' }, name)
  }
})
