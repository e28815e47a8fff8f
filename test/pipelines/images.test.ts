import { inflateSync } from 'node:zlib'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import t from 'tap'
import { pngSize } from '../../lib/images/files.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { encodePng } from '../../lib/sandbox/png.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { providerSettings } from '../support/settings.ts'
import { callWithoutReading, endlessly } from '../support/unread.ts'
import { until } from '../support/until.ts'
import {
  eventStream,
  fakeUpstream,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/images/generations'
const newest = 'openai/gpt-image-1'
const usage = { total_tokens: 30, input_tokens: 10, output_tokens: 20 }

async function start (
  t: Test, script: Script | ((request: SeenRequest) => Script), parts: Partial<Settings> = {}
): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`)], ...parts })
  t.teardown(upstream.close)
  return { upstream, api }
}

/** A gateway with only the sandbox, which is as fast as it is read. */
async function sandbox (t: Test): Promise<TestGateway> {
  return await testGateway(t, {
    providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
  })
}

function frame (type: string, base64: string, more: object = {}): string {
  const name = `image_generation.${type}`
  return `event: ${name}\ndata: ${JSON.stringify({ type: name, b64_json: base64, created_at: 1763686800, ...more })}\n\n`
}

/** The unnamed messages of a stream. */
function messages (text: string): string[] {
  return text.split('\n\n').flatMap(message => message.startsWith('data: ') ? [message.slice(6)] : [])
}

t.test('a complete answer with the fields that the model supports', async t => {
  const { upstream, api } = await start(t, {
    pieces: [
      JSON.stringify({
        created: 1763686800,
        data: [{ url: 'https://images.example/1.png', revised_prompt: 'A cat.' }],
        usage
      })
    ]
  })
  const response = await api.post(path, {
    model: 'openai/dall-e-3',
    prompt: 'cat',
    quality: 'auto',
    style: 'vivid',
    n: null,
    secret_knob: 1
  })
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), 'application/json')
  t.equal(response.headers.get('x-headgate-model'), 'openai/dall-e-3')
  t.same(await response.json(), {
    created: 1763686800, data: [{ url: 'https://images.example/1.png', revised_prompt: 'A cat.' }], usage
  })
  t.equal(upstream.requests[0]?.path, '/v1/images/generations')
  t.same(
    upstream.requests[0]?.json,
    { prompt: 'cat', style: 'vivid', model: 'dall-e-3' },
    'nothing but what it knows'
  )
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { endpoint: 'images', usage: { prompt: 10, completion: 20, total: 30 } })
})

t.test('the default is the oldest model, unless only the newest supports the request', async t => {
  const { upstream, api } = await start(t, { pieces: ['{"created":1}'] })
  t.same(
    await (await api.post(path, { prompt: 'cat' })).json(),
    { created: 1, data: [] },
    'data is always there'
  )
  await api.post(path, { prompt: 'cat', model: null, stream: false })
  await api.post(path, { prompt: 'cat', output_format: 'webp', output_compression: 100 })
  await api.post(path, { prompt: 'cat', size: '1536x1024' })
  t.same(upstream.requests.map(({ json }) => json), [
    { prompt: 'cat', model: 'dall-e-2' },
    { prompt: 'cat', model: 'dall-e-2' },
    { prompt: 'cat', output_format: 'webp', model: 'gpt-image-1' },
    { prompt: 'cat', size: '1536x1024', model: 'gpt-image-1' }
  ])
})

t.test(
  'requests are refused before anything is sent: shapes with 422, model rules with 400',
  async t => {
    const { upstream, api } = await start(t, {})
    const row = async (body: object, status: number, expected: object): Promise<void> => {
      const response = await api.post(path, body)
      t.equal(response.status, status, JSON.stringify(body).slice(0, 60))
      t.match(await response.json(), expected)
    }
    await row({}, 422, { detail: [{ loc: ['body', 'prompt'], type: 'missing' }] })
    await row({ prompt: 5 }, 422, { detail: [{ loc: ['body', 'prompt'], type: 'string_type' }] })
    await row({ prompt: '' }, 422, { detail: [{ type: 'string_too_short' }] })
    await row({ prompt: 'x', n: 11 }, 422, { detail: [{ loc: ['body', 'n'], type: 'less_than_equal' }] })
    await row({ prompt: 'x', n: 0 }, 422, { detail: [{ loc: ['body', 'n'] }] })
    await row({ prompt: 'x', quality: 'best' }, 422, {
      detail: [{ loc: ['body', 'quality'], type: 'literal_error' }]
    })
    await row({ prompt: 'x', size: 'large' }, 422, {
      detail: [{ loc: ['body', 'size'], type: 'string_pattern_mismatch' }]
    })
    await row({ prompt: 'x', partial_images: 4 }, 422, { detail: [{ loc: ['body', 'partial_images'] }] })
    await row({ prompt: 'x', output_compression: 101 }, 422, {
      detail: [{ loc: ['body', 'output_compression'] }]
    })
    for (const [name, values] of Object.entries({
      prompt: [null, ['x']],
      model: [5, '', []],
      n: [1.5, '2'],
      quality: [5, 'ultra'],
      response_format: ['png', true],
      output_format: ['gif'],
      output_compression: [-1, 0.5],
      stream: ['yes', 1],
      partial_images: [-1, 1.5],
      size: [5, '0x0', '1024'],
      moderation: ['high'],
      background: ['blue'],
      style: ['bold'],
      user: [5]
    })) {
      for (const value of values) {
        await row({ prompt: 'x', [name]: value }, 422, {
          detail: [{ loc: ['body', name], msg: String, type: String }]
        })
      }
    }
    await row({ prompt: 'x', model: 'openai/dall-e-2', stream: true }, 400, {
      error: { code: 'unsupported_parameter', param: 'stream', type: 'invalid_request_error' }
    })
    await row({ prompt: 'x', model: newest, response_format: 'url' }, 400, {
      error: { code: 'unsupported_parameter', param: 'response_format' }
    })
    await row({ prompt: 'x'.repeat(1001) }, 400, { error: { code: 'invalid_value', param: 'prompt' } })
    await row({ prompt: 'x', model: 'openai/dall-e-3', n: 2 }, 400, {
      error: { code: 'invalid_value', param: 'n' }
    })
    // not known here, so the provider is called
    await row({ prompt: 'x', model: 'openai/dall-e-9' }, 502, { error: {} })
    t.equal(upstream.requests.length, 1)
  }
)

t.test('models that always answer in base64 are not sent the format, in calls that ask for it', async t => {
  const { upstream, api } = await start(t, { pieces: ['{"created":1,"data":[{"b64_json":"AAAA"}]}'] })
  const request = { prompt: 'cat', response_format: 'b64_json', output_format: 'webp' }
  for (const model of [newest, 'openai/gpt-image-1.5', 'openai/gpt-image-2', undefined]) {
    const response = await api.post(path, { ...request, model })
    t.match(await response.json(), { data: [{ b64_json: 'AAAA' }] }, String(model))
    t.same(upstream.requests.pop()?.json, {
      prompt: 'cat', output_format: 'webp', model: model?.slice('openai/'.length) ?? 'gpt-image-1'
    })
  }
  const refused = await api.post(path, { ...request, model: 'openai/gpt-image-1.5', response_format: 'url' })
  t.match(await refused.json(), { error: { code: 'unsupported_parameter', param: 'response_format' } })
  t.equal(upstream.requests.length, 0)
})

t.test('in a list of models unsuitable ones are skipped, the rest are tried', async t => {
  const { upstream, api } = await start(t, request =>
    Reflect.get(Object(request.json), 'model') === 'gpt-image-1'
      ? { status: 500, pieces: ['oops'] }
      : { pieces: ['{"created":1,"data":[{"b64_json":"AAAA"}]}'] }
  )
  const response = await api.post(path, {
    prompt: 'x',
    size: '2048x2048',
    model: ['openai/dall-e-2', 'openai/gpt-image-2']
  })
  t.equal(response.status, 200)
  const fallback = await api.post(path, {
    prompt: 'x',
    background: 'opaque',
    model: ['openai/dall-e-3', newest, 'openai/gpt-image-2']
  })
  t.equal(fallback.headers.get('x-headgate-model'), 'openai/gpt-image-2')
  t.same(upstream.requests.map(({ json }) => json), [
    { model: 'gpt-image-2', prompt: 'x', size: '2048x2048' },
    { model: 'gpt-image-1', prompt: 'x', background: 'opaque' },
    { model: 'gpt-image-2', prompt: 'x', background: 'opaque' }
  ])
})

t.test('a stream is relayed frame by frame, even if the finished image comes first', async t => {
  const big = Buffer.alloc(3_000_000, 'headgate').toString('base64')
  const frames = [
    frame('partial_image', 'AAAA', { partial_image_index: 0 }),
    frame('completed', big, { usage }),
    frame('partial_image', big, { partial_image_index: 1 })
  ]
  const { upstream, api } = await start(t, { headers: eventStream, pieces: frames })
  const response = await api.post(path, { prompt: 'cat', stream: true, partial_images: 2, model: newest })
  t.match(response.headers.get('content-type'), 'text/event-stream')
  const text = await response.text()
  t.notMatch(text, /^event:/m, 'no names, which official clients would drop')
  const [first, second, third, last, ...more] = messages(text)
  t.equal(`data: ${first ?? ''}\n\n`, frames[0]?.slice(frames[0].indexOf('data:')))
  t.equal(`data: ${second ?? ''}\n\n`, frames[1]?.slice(frames[1].indexOf('data:')))
  t.match(JSON.parse(third ?? ''), {
    type: 'image_generation.partial_image',
    partial_image_index: 1,
    b64_json: big
  })
  t.equal(last, '[DONE]')
  t.same(more, [])
  t.same(upstream.requests[0]?.json, { prompt: 'cat', stream: true, partial_images: 2, model: 'gpt-image-1' })
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { usage: { total: 30 }, outcome: 'ok' })

  const single = await start(t, {
    headers: eventStream,
    pieces: [frame('completed', 'AAAA'), 'data: [DONE]\n\n']
  })
  const none = await single.api.post(path, { prompt: 'cat', stream: true, partial_images: 0 })
  t.equal(messages(await none.text()).length, 2)
})

t.test('an answer of the other kind than requested is converted', async t => {
  const { api } = await start(t, request => Reflect.get(Object(request.json), 'stream') === true
    ? { pieces: [JSON.stringify({
        created: 7, data: [{ b64_json: 'AAAA' }, { b64_json: 'BBBB' }], output_format: 'png', usage
      })] }
    : { headers: eventStream, pieces: [frame('completed', 'CCCC', { usage })] })
  const streamed = messages(await (await api.post(path, { prompt: 'x', stream: true })).text())
  t.same(
    streamed.slice(0, 2).map(text => JSON.parse(text) as unknown),
    ['AAAA', 'BBBB'].map(base64 => ({
      type: 'image_generation.completed',
      b64_json: base64,
      created_at: 7,
      output_format: 'png',
      ...base64 === 'BBBB' && { usage }
    })),
    'the usage of both comes once'
  )
  t.match(await (await api.post(path, { prompt: 'x' })).json(), {
    created: Number,
    data: [{ b64_json: 'CCCC' }],
    usage
  })
})

t.test('a finished image of a stream may be an address, with the prompt as the model rewrote it', async t => {
  const image = { url: 'https://images.example/1.png', revised_prompt: 'A cat.' }
  const event = { type: 'image_generation.completed', ...image, created_at: 7 }
  const { api } = await start(t, {
    headers: eventStream, pieces: [`data: ${JSON.stringify(event)}\n\n`, 'data: [DONE]\n\n']
  })
  const streamed = await api.post(path, { model: 'openai/other', prompt: 'x', stream: true })
  const [end, done] = messages(await streamed.text())
  t.same([JSON.parse(end ?? ''), done], [event, '[DONE]'])
  const complete = await api.post(path, { model: 'openai/other', prompt: 'x' })
  t.match(await complete.json(), { data: [image] })
})

t.test('a failing stream gives a status before the first image, and a named error after it', async t => {
  const failing = async (script: Script, body: object = {}): Promise<Response> => {
    const { api } = await start(t, script)
    return await api.post(path, { prompt: 'x', stream: true, ...body })
  }
  const partial = frame('partial_image', 'AAAA')
  const interrupted = /event: error\ndata: \{"error":\{[^\n]+"upstream_stream_interrupted"[^\n]+\n\n$/
  t.match(await (await failing({ headers: eventStream, pieces: [partial] })).text(), interrupted)
  t.match(
    await (await failing({ headers: eventStream, pieces: [partial], then: 'fin' })).text(),
    interrupted
  )
  const blocked =
    '{"error":{"message":"Your request was rejected.","type":"image_generation_user_error","code":"moderation_blocked"}}'
  const policy = {
    error: {
      type: 'invalid_request_error',
      code: 'moderation_blocked',
      message: 'Your request was rejected.'
    }
  }
  const late = await (
    await failing({ headers: eventStream, pieces: [partial, `event: error\ndata: ${blocked}\n\n`] })
  ).text()
  t.match(late, /event: error\ndata: \{"error":\{[^\n]+"moderation_blocked"/)
  t.notMatch(late, /DONE/)
  for (const script of [
    { headers: eventStream, pieces: [`data: ${blocked}\n\n`] },
    { pieces: [blocked] },
    { status: 400, pieces: [blocked] }
  ]) {
    const response = await failing(script)
    t.equal(response.status, 400)
    t.match(await response.json(), policy)
  }
  const old = await failing(
    { status: 400, pieces: ['{"error":{"code":"content_policy_violation","message":"no"}}'] },
    { stream: false }
  )
  t.match(await old.json(), { error: { code: 'content_policy_violation', type: 'invalid_request_error' } })
  const gone = await failing({
    status: 404,
    pieces: ['{"error":{"code":"model_not_found","message":"removed"}}']
  })
  t.equal(gone.status, 404)
  t.equal(
    (
      await failing({
        status: 400,
        pieces: ['{"error":{"code":"billing_hard_limit_reached","message":"x"}}']
      })
    ).status,
    503
  )
  t.equal((await failing({ pieces: ['[]'] }, { stream: false })).status, 502)
})

t.test('an oversized event ends the stream, and a disconnect aborts the provider request', async t => {
  const piece = Buffer.alloc(1024 * 1024, 65)
  const endless = async function * (): AsyncGenerator<string | Uint8Array, void> {
    yield 'data: {"type":"image_generation.completed","b64_json":"'
    for (let sent = 0; sent < 80; sent++) yield piece
  }
  const large = await start(t, () => ({ headers: eventStream, pieces: endless() }))
  const response = await large.api.post(path, { prompt: 'x', stream: true })
  t.equal(response.status, 502)
  t.match(await response.json(), { error: { code: 'upstream_invalid_response', message: /too large/ } })

    const { upstream, api } = await start(t, {
      headers: eventStream,
      pieces: [frame('partial_image', 'AAAA')],
      then: 'stall'
    })
    const leaving = new AbortController()
    const answer = await api.post(path, { prompt: 'x', stream: true }, { signal: leaving.signal })
    await answer.body?.getReader().read()
    leaving.abort()
    await (
      await upstream.request(0)
    ).aborted
    await until(() => api.lines.length === 1, 'one line in the log')
    t.match(api.lines[0], { outcome: 'client_closed' })
  }
)

t.test('a caller who does not read slows down the provider', async t => {
  const endless = endlessly(frame('partial_image', 'A'.repeat(1_000_000)), 400)
  const { upstream, api } = await start(t, () => ({ headers: eventStream, pieces: endless.pieces() }))
  const leave = await callWithoutReading(api, path, { prompt: 'x', stream: true })
  await upstream.request(0)
  const bytes = await endless.taken()
  t.ok(bytes < 100e6, `${Math.round(bytes / 1e6)} of 400 MB were taken`)
  leave()
  await until(() => api.lines.length === 1, 'one line in the log')
})

/** The pixels of a PNG with eight bits per channel and no filters, read without a library. */
function pngPixels (bytes: Buffer): Buffer {
  const data: Buffer[] = []
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at)
    if (bytes.toString('latin1', at + 4, at + 8) === 'IDAT') {
      data.push(bytes.subarray(at + 8, at + 8 + length))
    }
    at += 12 + length
  }
  return inflateSync(Buffer.concat(data))
}

t.test('the sandbox paints real images, the same for the same prompt', async t => {
  const api = await sandbox(t)
  const paint = async (body: object): Promise<Buffer[]> => {
    const response = await api.post(path, {
      model: 'sandbox/painter',
      prompt: 'a cat',
      size: '64x32',
      ...body
    })
    t.equal(response.status, 200, JSON.stringify(body))
    const { data } = await response.json() as { data: Array<{ b64_json: string }> } // what is tested
    return data.map(({ b64_json: base64 }) => Buffer.from(base64, 'base64'))
  }
  const [first, second] = await paint({ n: 2 })
  if (first === undefined || second === undefined) throw new Error('not two images')
  t.same(pngSize(first), { width: 64, height: 32 })
  t.equal(pngPixels(first).length, 32 * (1 + 64 * 4))
  t.notOk(first.equals(second), 'each image of a request is another')
  t.ok(first.equals((await paint({}))[0] ?? Buffer.alloc(0)))
  t.notOk(first.equals((await paint({ prompt: 'a dog' }))[0] ?? first))
  const [disc = Buffer.alloc(0)] = await paint({ background: 'transparent' })
  t.equal(pngPixels(disc).readUInt32BE(1), 0, 'the corner of a transparent image is empty')

  const linked = await api.post(path, {
    model: 'sandbox/painter',
    prompt: 'x',
    size: '8x8',
    response_format: 'url'
  })
  t.match(await linked.json(), {
    data: [{ url: /^data:image\/png;base64,/ }],
    usage: { total_tokens: Number }
  })

  const sharp = await import('sharp').then(module => module.default, () => undefined)
  if (sharp === undefined) t.comment('sharp is not installed: no JPEG and WebP')
  for (const format of sharp === undefined ? [] : ['png', 'jpeg', 'webp'] as const) {
    const [bytes] = await paint({ output_format: format, ...format !== 'png' && { output_compression: 50 } })
    t.match(await sharp?.(bytes).metadata(), { format, width: 64, height: 32 })
    const pixels = await sharp?.(bytes, { failOn: 'warning' }).removeAlpha().raw().toBuffer()
    t.equal(pixels?.length, 64 * 32 * 3, `every pixel of a ${format}`)
    t.ok(new Set(pixels).size > 1, 'and not all alike')
  }

  const stream = await api.post(path, {
    model: 'sandbox/painter',
    prompt: 'x',
    size: '8x8',
    stream: true,
    partial_images: 2
  })
  const frames = messages(await stream.text())
  // as in the wire contract
  const painted = frames.slice(0, 3).map(text => JSON.parse(text) as { type: string, b64_json: string })
  t.same(painted.map(({ type }) => type), [
    'image_generation.partial_image', 'image_generation.partial_image', 'image_generation.completed'
  ])
  for (const { type, b64_json: base64 } of painted) {
    const bytes = Buffer.from(base64, 'base64')
    t.same(
      [pngSize(bytes), pngPixels(bytes).length],
      [{ width: 8, height: 8 }, 8 * (1 + 8 * 4)],
      `${type} is a complete image`
    )
  }
  t.equal(frames[3], '[DONE]')
  t.equal((await api.post(path, { model: 'sandbox/painter', prompt: 'x [sandbox: status=429]' })).status, 429)
  t.equal((await api.post(path, { model: 'sandbox/echo', prompt: 'x' })).status, 404)
  t.equal((await api.post(path, { model: 'sandbox/painter', prompt: 'x', size: '9000x9000' })).status, 400)
})

t.test('Gemini generates images too, one per request', async t => {
  const answer = (parts: object[], more: object = {}): string => JSON.stringify({
    candidates: [{ content: { parts }, finishReason: 'STOP', ...more }],
    usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 }
  })
  const upstream = await fakeUpstream(({ text }) => {
    if (text.includes('forbidden')) {
      return { pieces: [JSON.stringify({ candidates: [{ finishReason: 'IMAGE_SAFETY' }] })] }
    }
    if (text.includes('blocked')) {
      return { pieces: ['{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}'] }
    }
    if (text.includes('in words')) return { pieces: [answer([{ text: 'I would rather not.' }])] }
    return { pieces: [answer([
      { inlineData: { mimeType: 'image/png', data: 'DRAFT' }, thought: true },
      { text: 'Here you are.' },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    ])] }
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(upstream.url, 'google', 'google')] })
  const model = 'google/gemini-2.5-flash-image'
  const complete = await api.post(path, { model, prompt: 'cat', n: 3, size: '1792x1024' })
  t.match(await complete.json(), {
    created: Number,
    data: [{ b64_json: 'AAAA' }, { b64_json: 'AAAA' }, { b64_json: 'AAAA' }],
    usage: {
      total_tokens: 15,
      input_tokens: 6,
      output_tokens: 9,
      input_tokens_details: { text_tokens: 6, image_tokens: 0 }
    }
  })
  t.equal(upstream.requests.length, 3)
  t.match(upstream.requests[0], {
    path: '/v1beta/models/gemini-2.5-flash-image:generateContent',
    json: {
      contents: [{ role: 'user', parts: [{ text: 'cat' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } }
    }
  })
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { usage: { total: 15 } })
  const streamed = messages(await (await api.post(path, { model, prompt: 'cat', stream: true })).text())
  t.match(JSON.parse(streamed[0] ?? ''), {
    type: 'image_generation.completed', b64_json: 'AAAA', usage: { total_tokens: 5 }
  })
  for (const [prompt, status, code] of [
    ['forbidden', 400, 'content_policy_violation'],
    ['blocked', 400, 'content_policy_violation'],
    ['in words', 502, 'upstream_invalid_response']
  ] as const) {
    const response = await api.post(path, { model, prompt })
    t.equal(response.status, status)
    t.match(await response.json(), { error: { code } })
  }
  const linked = await api.post(path, { model, prompt: 'cat', response_format: 'url' })
  t.match(await linked.json(), { error: { code: 'unsupported_parameter', param: 'response_format' } })
})

const square = await encodePng(
  paint({ text: 'x', number: 0, width: 16, height: 16, transparent: false, squares: 4 })
)
const wide = await encodePng(
  paint({ text: 'x', number: 0, width: 16, height: 8, transparent: false, squares: 4 })
)

function form (
  fields: Readonly<Record<string, string>>,
  files: ReadonlyArray<readonly [name: string, bytes: Buffer]>
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const [name, bytes] of files) {
    form.append(name, new File([new Uint8Array(bytes)], 'C:\\photos\\cat"1".bin'))
  }
  return form
}

async function postForm (api: TestGateway, path: string, body: FormData): Promise<Response> {
  return await fetch(api.url + path, { method: 'POST', body, headers: { 'x-api-key': testKey } })
}

t.test('edits and variations are sent as forms, each file under its field', async t => {
  const { upstream, api } = await start(t, { pieces: ['{"created":1,"data":[{"b64_json":"AAAA"}]}'] })
  const edit = await postForm(api, '/v1/images/edits', form(
    { prompt: 'more hats', model: newest, n: '2', background: 'auto', quality: 'high', extra: '1' },
    [['image[]', square], ['image[]', wide], ['mask', square]]
  ))
  t.equal(edit.status, 200)
  t.same(await edit.json(), { created: 1, data: [{ b64_json: 'AAAA' }] })
  const { text = '', headers = {}, path } = upstream.requests[0] ?? {}
  t.equal(path, '/v1/images/edits')
  t.match(headers['content-type'], /^multipart\/form-data; boundary=/)
  const names = [...text.matchAll(/ name="([^"]+)"(?:; filename="[^"]+\.(\w+)"\r\nContent-Type: (\S+))?/g)]
  t.same(
    names.map(([, ...found]) => found.filter(part => part !== undefined).join(' ')),
    [
      'model',
      'prompt',
      'n',
      'background',
      'quality',
      'image[] png image/png',
      'image[] png image/png',
      'mask png image/png'
    ]
  )
  t.match(text, /name="model"\r\n\r\ngpt-image-1\r\n/)
  t.equal(
    (await postForm(api, '/v1/images/variations', form({ size: '256x256' }, [['image', square]]))).status,
    200
  )
  t.equal(upstream.requests[1]?.path, '/v1/images/variations')
  t.match(upstream.requests[1]?.text, /name="model"\r\n\r\ndall-e-2\r\n[^]*name="image"; filename/)
  await postForm(api, '/v1/images/edits', form({ prompt: 'x' }, [['image', square]]))
  t.match(upstream.requests[2]?.text, /\ndall-e-2\r\n/)
  const two = [['image', square], ['image', wide]] as const
  await postForm(api, '/v1/images/edits', form({ prompt: 'x' }, two))
  t.match(upstream.requests[3]?.text, /\ngpt-image-1\r\n/, 'the oldest takes one image')

  const before = upstream.requests.length
  const refused = async (
    body: FormData,
    status: number,
    expected: object,
    path = '/v1/images/edits'
  ): Promise<void> => {
    const response = await postForm(api, path, body)
    t.equal(response.status, status, JSON.stringify(expected))
    t.match(await response.json(), expected)
  }
  await refused(form({ prompt: 'x' }, []), 422, { detail: [{ loc: ['body', 'image'], type: 'missing' }] })
  await refused(form({}, [['image', square]]), 422, {
    detail: [{ loc: ['body', 'prompt'], type: 'missing' }]
  })
  await refused(form({ prompt: 'x', n: 'two' }, [['image', square]]), 422, {
    detail: [{ loc: ['body', 'n'], type: 'int_parsing' }]
  })
  await refused(form({ prompt: 'x', model: 'openai/dall-e-2' }, two), 400, {
    error: { code: 'invalid_value', param: 'image', message: /1 image/ }
  })
  await refused(form({ prompt: 'x' }, [['image', wide]]), 400, {
    error: { code: 'invalid_value', param: 'image' }
  })
  await refused(form({ prompt: 'x' }, [['image', Buffer.from('GIF89a')]]), 400, {
    error: { code: 'unsupported_format', param: 'image' }
  })
  await refused(
    form({ prompt: 'x' }, [
      ['image', square],
      ['mask', wide]
    ]),
    400,
    { error: { param: 'mask' } }
  )
  await refused(form({ prompt: 'x', model: 'openai/dall-e-3' }, [['image', square]]), 400, {
    error: { code: 'unsupported_parameter', param: 'model' }
  })
  await refused(
    form({ model: newest }, [['image', square]]),
    400,
    { error: { param: 'model' } },
    '/v1/images/variations'
  )
  await refused(form({ prompt: 'x', model: 'openai/dall-e-2', stream: 'true' }, [['image', square]]), 400, {
    error: { param: 'stream' }
  })
  t.equal((await api.post('/v1/images/edits', { prompt: 'x' })).status, 415)
  t.equal(upstream.requests.length, before)
})

t.test('official clients get their images', async t => {
  const api = await sandbox(t)
  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  // Environment variables are ignored: the address is set.
  const dedalus = new Dedalus({
    baseURL: api.url,
    apiKey: testKey,
    environment: null as unknown as 'development',
    maxRetries: 0
  })
  const request = { model: 'sandbox/painter', prompt: 'a cat', n: 2 }
  const complete = await openai.images.generate(request)
  t.equal(complete.data?.length, 2)
  t.ok(Buffer.from(complete.data?.[0]?.b64_json ?? '', 'base64').length > 100)
  const seen: string[] = []
  for await (const event of await openai.images.generate({
    ...request,
    n: 1,
    stream: true,
    partial_images: 1
  })) {
    seen.push(event.type)
  }
  t.same(seen, ['image_generation.partial_image', 'image_generation.completed'])
  const theirs = await dedalus.images.generate(request)
  t.match(theirs, { created: Number, data: [{ b64_json: String }, { b64_json: String }] })

  const { model, prompt } = request
  const image = await OpenAI.toFile(square, 'cat.png')
  const edited = await openai.images.edit({
    model,
    prompt,
    image: [image, image],
    mask: image,
    size: '256x256'
  })
  t.same(pngSize(Buffer.from(edited.data?.[0]?.b64_json ?? '', 'base64')), { width: 256, height: 256 })
  const steps: string[] = []
  for await (const event of await openai.images.edit({
    model,
    prompt,
    image,
    stream: true,
    partial_images: 1
  })) {
    steps.push(event.type)
  }
  t.same(steps, ['image_edit.partial_image', 'image_edit.completed'])
  t.equal((await openai.images.createVariation({ model, image, n: 2 })).data?.length, 2)
  t.match(await dedalus.images.edit({ model, prompt, image }), { data: [{ b64_json: String }] })
  t.match(await dedalus.images.createVariation({ model, image, n: 1 }), { data: [{ b64_json: String }] })

  await t.rejects(openai.images.generate({ ...request, n: 99 }), { message: /^422 / })
  await t.rejects(dedalus.images.generate({ ...request, model: 'missing/x' }), { message: /^404 / })
})
