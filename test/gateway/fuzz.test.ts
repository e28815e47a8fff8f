import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { encodePng } from '../../lib/sandbox/png.ts'
import { paint } from '../../lib/sandbox/paint.ts'
import { wavOf } from '../support/forms.ts'
import { adminRows } from '../../pipelines/admin.ts'
import { createEndpoints } from '../../pipelines/index.ts'
import { adminGateway } from '../support/admin.ts'
import { isOfAdmin } from '../support/endpoints.ts'
import { testGateway, testKey } from '../support/gateway.ts'
import { rounds } from '../support/rounds.ts'
import { brokenValuesOf } from '../support/schema-values.ts'
import { providerSettings } from '../support/settings.ts'
import { storingGateway } from '../support/storing-gateway.ts'

const sandbox = {
  ...providerSettings('sandbox', 'sandbox'),
  baseUrl: 'sandbox:',
  options: { words_per_second: 0 }
}

const anything = fc.anything({ maxDepth: 2 })
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string() }),
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: fc.constantFrom('https://example.com/a.png', 'data:image/png;base64,AA') })
  })
)
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer', 'assistant'), content: fc.string() }),
  fc.record({
    role: fc.constant('user'),
    content: fc.oneof(fc.string(), fc.array(part, { minLength: 1, maxLength: 3 }))
  }),
  fc.record({ role: fc.constant('tool'), content: fc.string(), tool_call_id: fc.string() })
)
const schema = fc.dictionary(fc.string(), anything)
const name = fc.stringMatching(/^[a-z]{1,9}$/)
const limited = fc.string({ maxLength: 9 })
const chatModel = fc.constantFrom('sandbox/echo', 'sandbox/story', 'sandbox/thinker')
const temperature = fc.double({ min: 0, max: 1, noNaN: true })
const metadata = fc.dictionary(limited, fc.string(), { maxKeys: 3 })

interface Endpoint {
  readonly path: string
  /** Fields with values that the gateway allows, whatever a provider does with them. */
  readonly fields: Readonly<Record<string, fc.Arbitrary<unknown>>>
  readonly required: readonly string[]
  /** Names of other fields, with arbitrary values. */
  readonly odd?: readonly string[]
  /** The file of a form body, with valid bytes. */
  readonly file?: readonly [field: string, bytes: Buffer]
  readonly numRuns: number
}

const picture = await encodePng(
  paint({ text: 'x', number: 0, width: 64, height: 64, transparent: false, squares: 4 })
)
const pictureUrl = `data:image/png;base64,${picture.toString('base64')}`
const painted = {
  model: fc.constant('sandbox/painter'),
  prompt: limited,
  n: fc.integer({ min: 1, max: 2 }),
  size: fc.constantFrom('256x256', 'auto'),
  response_format: fc.constant('b64_json')
}
const heard = {
  model: fc.constant('sandbox/listener'),
  prompt: limited,
  response_format: fc.constantFrom('json', 'text', 'srt', 'verbose_json'),
  temperature
}

const endpoints: readonly Endpoint[] = [
  {
    path: '/v1/chat/completions',
    numRuns: 300,
    required: ['model', 'messages'],
    odd: ['thinking', 'mcp_servers'],
    fields: {
      model: chatModel,
      messages: fc.oneof(fc.array(message, { minLength: 1, maxLength: 4 }), fc.string()),
      stream: fc.boolean(),
      n: fc.integer({ min: 1, max: 4 }),
      stop: fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 4 })),
      max_tokens: fc.integer({ min: 1, max: 20 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      logprobs: fc.boolean(),
      tools: fc.array(
        fc.record({ type: fc.constant('function'), function: fc.record({ name, parameters: schema }) }),
        { maxLength: 2 }
      ),
      tool_choice: fc.constantFrom('none', 'auto', 'required'),
      response_format: fc.record({
        type: fc.constant('json_schema'),
        json_schema: fc.record({ name: fc.constant('x'), schema })
      }),
      system: fc.string(),
      metadata
    }
  },
  {
    path: '/v1/messages',
    numRuns: 100,
    required: ['model', 'messages', 'max_tokens'],
    odd: ['thinking', 'mcp_servers', 'top_k'],
    fields: {
      model: chatModel,
      max_tokens: fc.integer({ min: 1, max: 20 }),
      messages: fc.array(
        fc.record({
          role: fc.constantFrom('user', 'assistant'),
          content: fc.oneof(
            fc.string(),
            fc.array(
              fc.oneof(
                fc.record({ type: fc.constant('text'), text: fc.string() }),
                fc.record({ type: fc.constant('tool_use'), id: name, name, input: schema }),
                fc.record({ type: fc.constant('tool_result'), tool_use_id: name, content: fc.string() })
              ),
              { minLength: 1, maxLength: 3 }
            )
          )
        }),
        { minLength: 1, maxLength: 4 }
      ),
      stream: fc.boolean(),
      system: fc.string(),
      tools: fc.array(fc.record({ name, input_schema: schema }), { maxLength: 2 }),
      tool_choice: fc.record({ type: fc.constantFrom('auto', 'any', 'none') }),
      metadata: fc.record({ user_id: fc.string() })
    }
  },
  {
    path: '/v1/messages/count_tokens',
    numRuns: 20,
    required: ['model', 'messages'],
    fields: {
      model: chatModel,
      messages: fc.array(message, { minLength: 1, maxLength: 2 }),
      system: fc.string()
    }
  },
  {
    path: '/v1/responses',
    numRuns: 100,
    required: ['model', 'input'],
    odd: ['previous_response_id', 'reasoning', 'text', 'include', 'truncation'],
    fields: {
      model: chatModel,
      input: fc.oneof(
        fc.string(),
        fc.array(
          fc.oneof(
            fc.record({ role: fc.constantFrom('user', 'assistant', 'developer'), content: fc.string() }),
            fc.record({ type: fc.constant('function_call'), call_id: name, name, arguments: fc.json() }),
            fc.record({ type: fc.constant('function_call_output'), call_id: name, output: fc.string() }),
            fc.record({ type: fc.constant('item_reference'), id: fc.string() })
          ),
          { minLength: 1, maxLength: 4 }
        )
      ),
      stream: fc.boolean(),
      store: fc.boolean(),
      background: fc.boolean(),
      instructions: fc.string(),
      tools: fc.array(fc.record({ type: fc.constant('function'), name, parameters: schema }), {
        maxLength: 2
      }),
      metadata
    }
  },
  {
    path: '/v1/completions',
    numRuns: 50,
    required: ['model', 'prompt'],
    odd: ['suffix', 'best_of', 'echo'],
    fields: {
      model: chatModel,
      prompt: fc.oneof(limited, fc.array(limited, { maxLength: 3 })),
      stream: fc.boolean(),
      n: fc.integer({ min: 1, max: 2 }),
      max_tokens: fc.integer({ min: 1, max: 20 }),
      temperature,
      stop: limited,
      logprobs: fc.integer({ min: 0, max: 5 })
    }
  },
  {
    path: '/v1/responses/input_tokens',
    numRuns: 20,
    required: ['model', 'input'],
    fields: { model: chatModel, input: fc.string(), instructions: fc.string() }
  },
  {
    path: '/v1/embeddings',
    numRuns: 50,
    required: ['model', 'input'],
    fields: {
      model: fc.constant('sandbox/embedding'),
      input: fc.oneof(
        limited,
        fc.array(limited, { maxLength: 3 }),
        fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 3 })
      ),
      dimensions: fc.integer({ min: 1, max: 256 }),
      encoding_format: fc.constantFrom('float', 'base64')
    }
  },
  {
    path: '/v1/audio/speech',
    numRuns: 30,
    required: ['model', 'input', 'voice'],
    fields: {
      model: fc.constant('sandbox/speaker'),
      input: limited,
      voice: name,
      speed: fc.double({ min: 0.25, max: 4, noNaN: true }),
      response_format: fc.constantFrom('wav', 'pcm'),
      stream_format: fc.constantFrom('sse', 'audio'),
      instructions: limited
    }
  },
  {
    path: '/v1/images/generations',
    numRuns: 30,
    required: ['model', 'prompt'],
    odd: ['quality', 'stream', 'partial_images'],
    fields: painted
  },
  {
    path: '/v1/images/edits',
    numRuns: 25,
    required: ['model', 'prompt'],
    odd: ['stream', 'mask'],
    fields: painted,
    file: ['image', picture]
  },
  {
    path: '/v1/images/variations',
    numRuns: 25,
    required: ['model'],
    fields: { model: painted.model, n: painted.n, size: painted.size },
    file: ['image', picture]
  },
  {
    path: '/v1/ocr',
    numRuns: 30,
    required: ['model', 'document'],
    odd: ['include_image_base64', 'image_limit', 'document_annotation_format'],
    fields: {
      model: fc.constant('sandbox/reader'),
      document: fc.oneof(
        fc.record({ document_url: fc.constantFrom(pictureUrl, 'http://127.0.0.1/', 'data:,') }),
        fc.record({ type: fc.constant('image_url'), image_url: fc.constant(pictureUrl) })
      ),
      pages: fc.oneof(
        fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 3 }),
        fc.constantFrom('0-2', '1,3')
      )
    }
  },
  {
    path: '/v1/audio/transcriptions',
    numRuns: 30,
    required: ['model'],
    odd: ['stream', 'include', 'chunking_strategy', 'timestamp_granularities'],
    fields: { ...heard, language: fc.constantFrom('de', 'en') },
    file: ['file', wavOf(0.2)]
  },
  {
    path: '/v1/audio/translations',
    numRuns: 20,
    required: ['model'],
    fields: heard,
    file: ['file', wavOf(0.2)]
  }
]

const adminBodies = adminRows.flatMap(({ method, path, docs: { request } }) =>
  request === undefined ? [] : [{ route: `${method} ${path}`, schema: request.schema }]
)

t.test('every endpoint that takes a body is sent arbitrary bodies', async t => {
  const { gateway } = await testGateway(t, { providers: [sandbox] })
  // without a body, and not for the sandbox
  const others = new Set(['/v1/responses/:response_id/cancel', '/v1/responses/compact'])
  const paths = createEndpoints(gateway.services)
    .filter(endpoint => endpoint.method === 'POST' && !others.has(endpoint.path) && !isOfAdmin(endpoint))
    .map(({ path }) => path)
  t.same(endpoints.map(({ path }) => path).toSorted(), paths.toSorted())
})

function rightRequestOf ({ fields, required }: Endpoint): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(fields, { requiredKeys: [...required] })
}

/** A valid request, or one in which a field or two are arbitrary. */
function requestOf (endpoint: Endpoint): fc.Arbitrary<Record<string, unknown>> {
  const { fields, odd = [] } = endpoint
  const changes = fc.dictionary(fc.constantFrom(...Object.keys(fields), ...odd), anything, { maxKeys: 2 })
  return fc
    .tuple(rightRequestOf(endpoint), fc.option(changes, { nil: {} }))
    .map(([right, wrong]) => ({ ...right, ...wrong }))
}

function formOf (
  body: Readonly<Record<string, unknown>>,
  [field, bytes]: readonly [string, Buffer],
  isFile: boolean
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    for (const item of [value].flat()) {
      form.append(name, typeof item === 'string' ? item : (JSON.stringify(item) ?? ''))
    }
  }
  form.append(field, isFile ? new Blob([new Uint8Array(bytes)]) : 'no file', ...isFile ? ['a.bin'] : [])
  return form
}

/** Returns what is wrong with an answer, if anything. */
async function faultOf (response: Response): Promise<string | undefined> {
  const { status, headers } = response
  const text = await response.text()
  if (status >= 500) return `${status}: ${text}`
  if (status >= 400) {
    const answer = Object(JSON.parse(text)) as object
    return 'error' in answer || 'detail' in answer ? undefined : `${status} without a reason: ${text}`
  }
  const type = headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) {
    return text.endsWith('\n\n') &&
      /(?:\[DONE\]|message_stop"|\.done"|\.completed"|"error").*\n\n$/.test(text)
      ? undefined
      : `a stream without an end: ${text.slice(-200)}`
  }
  if (type.startsWith('application/json')) JSON.parse(text)
  return undefined
}

for (const endpoint of endpoints) {
  t.test(`${endpoint.path}: any request gets a valid answer or a valid error`, async t => {
    const api = await storingGateway(t, { providers: [sandbox] })
    const { path, file, numRuns } = endpoint
    const seen = new Map<number, number>()
    const send = async (body: Record<string, unknown>, die: number): Promise<void> => {
      const response =
        file === undefined
          ? await api.post(path, body)
          : await fetch(api.url + path, {
              method: 'POST',
              headers: { authorization: `Bearer ${testKey}` },
              body: formOf(body, file, die > 0)
            })
      seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
      const fault = await faultOf(response)
      if (fault !== undefined) throw new Error(fault)
    }
    await fc.assert(fc.asyncProperty(requestOf(endpoint), fc.integer({ min: 0, max: 9 }), send), {
      numRuns: rounds(numRuns)
    })
    // Few are valid, and by chance none may be; with few requests, by chance all may be.
    if (![...seen.keys()].some(status => status >= 400)) await send({}, 0)
    for (const body of fc.sample(rightRequestOf(endpoint), 50)) if (!seen.has(200)) await send(body, 1)
    t.ok(
      seen.has(200) && [...seen.keys()].some(status => status >= 400),
      `some were right and some were not: ${JSON.stringify([...seen])}`
    )
  })
}

t.test('any request of an owner to the admin API gets a valid answer or a valid error', async t => {
  const { user } = await adminGateway(t)
  const seen = new Set<number>()
  for (const { route, schema } of adminBodies) {
    const { user: { id }, send } = await user('owner')
    await fc.assert(fc.asyncProperty(brokenValuesOf(schema), async body => {
      const { response } = await send(route.replace(':user_id', id).replaceAll(/:\w+/g, 'x'), body)
      seen.add(response.status)
      const fault = await faultOf(response)
      if (fault !== undefined) throw new Error(`${route}: ${fault}`)
    }), { numRuns: rounds(10) })
  }
  t.ok(seen.has(200) && seen.has(422), JSON.stringify([...seen]))
})

t.test(
  'any request for stored responses and deferred completions gets a valid answer or a valid error',
  async t => {
    const api = await storingGateway(t, {
      providers: [sandbox],
      deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 100, maxBytesPerKey: 1_000_000 }
    })
    const idOf = async (path: string, body: object): Promise<string> => {
      const answer = Object(await (await api.post(path, { model: 'sandbox/echo', ...body })).json()) as {
        readonly id?: string
        readonly request_id?: string
      }
      return answer.id ?? answer.request_id ?? ''
    }
    const ids = [
      await idOf('/v1/responses', { input: 'hi' }),
      await idOf('/v1/responses', { input: 'hi', background: true }),
      await idOf('/v1/chat/completions', { messages: 'hi', deferred: true }),
      'resp_0',
      'none'
    ]
    const seen = new Map<number, number>()
    const id = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 30 }) }
    )
    const query = fc.dictionary(
      fc.constantFrom('after', 'before', 'limit', 'order', 'include[]', 'stream', 'starting_after'),
      fc.oneof(fc.constantFrom('1', '0', '-1', 'true', 'desc', ...ids), limited),
      { maxKeys: 3 }
    )
    const place = fc.constantFrom(
      ['GET', '/v1/responses/', ''],
      ['GET', '/v1/responses/', '/input_items'],
      ['POST', '/v1/responses/', '/cancel'],
      ['GET', '/v1/chat/deferred-completion/', ''],
      ['DELETE', '/v1/responses/', ''],
      ['DELETE', '/v1/chat/deferred-completion/', '']
    )
    await fc.assert(
      fc.asyncProperty(place, id, query, async ([method = '', path = '', end = ''], id, query) => {
        const response = await fetch(
          `${api.url}${path}${encodeURIComponent(id)}${end}?${new URLSearchParams(query).toString()}`,
          { method, headers: { authorization: `Bearer ${testKey}` } }
        )
        seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
        const fault = await faultOf(response)
        if (fault !== undefined) throw new Error(`${method} ${path}${id}${end}: ${fault}`)
      }),
      { numRuns: rounds(150) }
    )
    t.ok(seen.has(200) && seen.has(404), JSON.stringify([...seen]))
  }
)

t.test('bytes that are not HTTP end a connection, not the gateway', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  const port = Number(new URL(api.url).port)
  await fc.assert(fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async bytes => {
    await new Promise<void>(resolve => {
      const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
      socket.on('error', () => undefined).on('close', () => resolve()).resume()
    })
  }), { numRuns: 100 })
  t.equal((await api.get('/v1/models')).status, 200)
})
