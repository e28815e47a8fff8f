/**
 * A key with a budget never spends more than the budget, with a real gateway and a provider that bills what
 * is requested.
 */

import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { LocalLimiter, readUsedFrom } from '../../lib/limits/limiter.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import {
  chatAnswer,
  chatFrames,
  completionOf,
  eventStream,
  fakeUpstream,
  toolCallAnswer,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { ActualUsage } from '../../lib/limits/reservation.ts'
import type { Budget, PartyLimits } from '../../lib/core/key.ts'
import type { Settings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'
/** Dollars per million tokens. */
const price = { input: 2, output: 10 }
const outputLimit = 20_000

interface Bill {
  readonly upstream: FakeUpstream
  /** Dollars billed by the provider. */
  readonly usd: () => number
}

/** A provider that writes as much as it may, and adds up the cost. */
async function greedyProvider (
  t: Test,
  answer: (request: SeenRequest, tokens: number) => Script = completeAnswer
): Promise<Bill> {
  let nanoUsd = 0
  const upstream = await fakeUpstream(request => {
    const {
      model,
      max_completion_tokens: most,
      n
    } = request.json as { model?: string, max_completion_tokens?: number, n?: number }
    if (model === 'free') return answer(request, outputLimit)
    const tokens = Math.min(most ?? Infinity, outputLimit) * (n ?? 1)
    nanoUsd += 5 * price.input * 1000 + tokens * price.output * 1000
    return answer(request, tokens)
  })
  t.teardown(upstream.close)
  return { upstream, usd: () => nanoUsd / 1e9 }
}

function usageOf (tokens: number): object {
  return { prompt_tokens: 5, completion_tokens: tokens, total_tokens: tokens + 5 }
}

function completeAnswer (_: SeenRequest, tokens: number): Script {
  return { pieces: [completionOf({ content: 'x' }, { finishReason: 'length', usage: usageOf(tokens) })] }
}

async function start (t: Test, { upstream }: Bill, limits: PartyLimits, parts: Partial<Settings> = {}) {
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      models: [
        modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } }),
        modelSettings('openai/unpriced'),
        modelSettings('openai/free', { price: { input: 0, output: 0 } })
      ],
      ...parts
    },
    { limited: { id: 'key-2', name: 'limited', limits } },
    { limiter: new LocalLimiter() }
  )
  const headers = { authorization: 'Bearer limited' }
  return {
    api,
    ask: async (body: object = {}, init: RequestInit = {}) =>
      await api.post(path, { model: 'openai/priced', messages: 'hello', ...body }, { headers, ...init })
  }
}

const oneDollar: Budget = { usd: 1, per: 'total' }

t.test('concurrent calls without an answer limit spend no more than the budget', async t => {
  const provider = await greedyProvider(t)
  const { ask } = await start(t, provider, { budget: oneDollar })
  const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await ask()).status))
  t.ok(statuses.includes(200))
  t.ok(provider.usd() <= 1, `$${provider.usd()}`)
  for (let more = 0; more < 20; more++) statuses.push((await ask({ n: 2 })).status)
  t.ok(provider.usd() <= 1, `$${provider.usd()}`)
  t.ok(provider.usd() > 0.99, 'and the budget can be used up')
  t.same(
    [...new Set(statuses)].toSorted((a, b) => a - b),
    [200, 402, 429]
  )
})

t.test(
  'calls without an answer limit run concurrently, each with a usual answer length',
  async t => {
    let release = (): void => undefined
    const together = new Promise<void>(resolve => {
      release = resolve
    })
    const bounds = new Set<number | undefined>()
    const upstream = await fakeUpstream(async request => {
      bounds.add((request.json as { max_completion_tokens?: number }).max_completion_tokens)
      if (upstream.requests.length === 16) release()
      await together
      return completeAnswer(request, 1000)
    })
    t.teardown(upstream.close)
    for (const capabilities of [{}, { output_token_limit: 128_000 }]) {
      bounds.clear()
      const { ask } = await start(
        t,
        { upstream, usd: () => 0 },
        { budget: { usd: 10, per: 'month' } },
        {
          models: [modelSettings('openai/priced', { price: { input: 5, output: 40 }, capabilities })]
        }
      )
      t.same(
        await Promise.all(Array.from({ length: 16 }, async () => (await ask()).status)),
        Array(16).fill(200)
      )
      t.ok(
        [...bounds].every(bound => bound !== undefined && bound >= 8192 && bound < 8400),
        `limited to ${[...bounds].join()}`
      )
      t.match(
        await Promise.all([ask({ reasoning_effort: 'high' }), ask({ max_completion_tokens: 20_000 })]),
        [{ status: 200 }, { status: 200 }]
      )
      t.ok(
        [...bounds].some(bound => bound !== undefined && bound > 30_000),
        'an effort needs more'
      )
      t.ok(bounds.has(20_000), 'a bound of the caller stays')
    }
  }
)

t.test(
  'web searches that a request allows Anthropic are charged within the budget',
  async t => {
    const perThousandSearches = 10
    let nanoUsd = 0
    const upstream = await fakeUpstream(request => {
      const {
        max_tokens: most,
        tools: [tool]
      } = request.json as { max_tokens: number, tools: [{ max_uses: number }] }
      nanoUsd +=
        5 * price.input * 1000 + most * price.output * 1000 + tool.max_uses * perThousandSearches * 1e6
      return {
        pieces: [
          JSON.stringify({
            id: 'x',
            type: 'message',
            role: 'assistant',
            model: 'priced',
            content: [{ type: 'text', text: 'x' }],
            stop_reason: 'max_tokens',
            stop_sequence: null,
            usage: {
              input_tokens: 5,
              output_tokens: most,
              server_tool_use: { web_search_requests: tool.max_uses }
            }
          })
        ]
      }
    })
    t.teardown(upstream.close)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(upstream.url, 'anthropic', 'anthropic')],
        models: [
          modelSettings('anthropic/priced', {
            price: { ...price, perThousandSearches },
            capabilities: { output_token_limit: outputLimit }
          })
        ]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 0.12, per: 'total' } } } },
      { limiter: new LocalLimiter() }
    )
    const search = async (maxUses: number): Promise<number> => {
      const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: maxUses }]
      const body = {
        model: 'anthropic/priced',
        max_tokens: 100_000,
        messages: [{ role: 'user', content: 'hello' }],
        tools
      }
      const answer = await api.post('/v1/messages', body, {
        headers: { authorization: 'Bearer limited', 'anthropic-version': '2023-06-01' }
      })
      await answer.text()
      return answer.status
    }
    t.equal(await search(13), 402, 'more than the budget pays for')
    t.equal(upstream.requests.length, 0)
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => await search(5)))
    for (let more = 0; more < 5; more++) statuses.push(await search(1))
    t.ok(statuses.includes(200), statuses.join())
    t.ok(nanoUsd <= 0.12e9, `$${nanoUsd / 1e9}`)
  }
)

t.test('web searches made by OpenAI are charged', async t => {
  const output = (type: string) => [
    { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
    { id: 'ws_2', type: 'web_search_call', status: 'completed', action: { type, url: 'https://a.example' } },
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'x', annotations: [] }]
    }
  ]
  const response = (type: string) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'priced',
    status: 'completed',
    error: null,
    output: output(type),
    usage: {
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 6
    }
  })
  const types = ['open_page', 'search', 'open_page', 'search', 'search']
  const upstream = await fakeUpstream(({ json }, number) => {
    const answer = response(types[number] ?? '')
    if (Reflect.get(Object(json), 'stream') !== true) return { pieces: [JSON.stringify(answer)] }
    const frame = (type: string, data: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
    return {
      headers: eventStream,
      pieces: [
        frame('response.created', { response: { ...answer, status: 'in_progress', output: [] } }),
        frame('response.completed', { response: answer })
      ]
    }
  })
  t.teardown(upstream.close)
  const limiter = new SpyLimiter()
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      models: [
        modelSettings('openai/priced', {
          price: { ...price, perThousandSearches: 10 },
          capabilities: { output_token_limit: outputLimit }
        })
      ]
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar } } },
    { limiter }
  )
  const tools = [{ type: 'web_search' }]
  const question = { model: 'openai/priced', max_output_tokens: 100, input: 'hello', store: false, tools }
  const bodies = [question, question, question, question, { ...question, stream: true }]
  for (const body of bodies) {
    await (await api.post('/v1/responses', body, { headers: { authorization: 'Bearer limited' } })).text()
  }
  await until(() => limiter.settled.length === bodies.length, 'all calls to be settled')
  const tokens = 5 * price.input * 1000 + price.output * 1000
  t.same(
    limiter.settled.map(({ used: { nanoUsd = NaN } }) => (nanoUsd - tokens) / 1e7),
    [1, 2, 1, 2, 2],
    'at a cent each; to open a page is free'
  )
})

/** Media that take far more tokens than their text in the request suggests, in each dialect. */
const document = Buffer.from(`%PDF-1.7${' '.repeat(6000)}`).toString('base64')
const sound = Buffer.alloc(60_000, 'RIFF').toString('base64')
const media: ReadonlyArray<readonly [what: string, path: string, part: object]> = [
  [
    'a document',
    '/v1/chat/completions',
    { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${document}` } }
  ],
  [
    'a short document',
    '/v1/chat/completions',
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjc=' } }
  ],
  [
    'a recording',
    '/v1/chat/completions',
    { type: 'input_audio', input_audio: { data: sound, format: 'wav' } }
  ],
  [
    'an image',
    '/v1/chat/completions',
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
  ],
  [
    'the address of an image',
    '/v1/chat/completions',
    { type: 'image_url', image_url: { url: 'https://a.example/a.png' } }
  ],
  [
    'a document',
    '/v1/messages',
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: document } }
  ],
  [
    'the address of a document',
    '/v1/messages',
    { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } }
  ],
  [
    'a document',
    '/v1/responses',
    { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${document}` }
  ],
  ['the address of a document', '/v1/responses', { type: 'input_file', file_url: 'https://a.example/a.pdf' }]
]
const inputLimit = 20_000

for (const [what, path, part] of media) {
  t.test(`${what} in ${path} is charged at its maximum, by 60 calls at once`, async t => {
    const mediaTokens = what === 'a recording' ? 3000 : inputLimit
    let nanoUsd = 0
    const isAnthropic = path === '/v1/messages'
    const upstream = await fakeUpstream(({ json }) => {
      const {
        max_completion_tokens: chat,
        max_tokens: messages,
        max_output_tokens: responses
      } = json as Record<string, number | undefined>
      const tokens = Math.min(chat ?? messages ?? responses ?? Infinity, outputLimit)
      nanoUsd += mediaTokens * price.input * 1000 + tokens * price.output * 1000
      const usage = { input_tokens: mediaTokens, output_tokens: tokens, total_tokens: mediaTokens + tokens }
      return {
        pieces: [
          JSON.stringify(
            {
              '/v1/chat/completions': {
                id: 'x',
                object: 'chat.completion',
                created: 1,
                model: 'm',
                choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
                usage: {
                  prompt_tokens: mediaTokens,
                  completion_tokens: tokens,
                  total_tokens: mediaTokens + tokens
                }
              },
              '/v1/messages': {
                id: 'x',
                type: 'message',
                role: 'assistant',
                model: 'm',
                content: [{ type: 'text', text: 'x' }],
                stop_reason: 'end_turn',
                stop_sequence: null,
                usage
              },
              '/v1/responses': {
                id: 'resp_1',
                object: 'response',
                created_at: 1,
                model: 'm',
                status: 'completed',
                error: null,
                usage,
                output: [
                  {
                    id: 'msg_1',
                    type: 'message',
                    status: 'completed',
                    role: 'assistant',
                    content: [{ type: 'output_text', text: 'x', annotations: [] }]
                  }
                ]
              }
            }[path]
          )
        ]
      }
    })
    t.teardown(upstream.close)
    const provider = isAnthropic ? 'anthropic' : 'openai'
    const limiter = new SpyLimiter()
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(isAnthropic ? upstream.url : `${upstream.url}/v1`, provider, provider)],
        models: [
          modelSettings(`${provider}/priced`, {
            price,
            capabilities: { input_token_limit: inputLimit, output_token_limit: outputLimit }
          })
        ]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 0.05, per: 'total' } } } },
      { limiter }
    )
    const message = [{ role: 'user', content: [part] }]
    const body =
      path === '/v1/responses'
        ? { input: message, store: false }
        : { messages: message, ...isAnthropic && { max_tokens: 500 } }
    const ask = async (): Promise<number> => {
      const answer = await api.post(
        path,
        { model: `${provider}/priced`, ...body },
        { headers: { authorization: 'Bearer limited' } }
      )
      await answer.text()
      return answer.status
    }
    const statuses = await Promise.all(Array.from({ length: 60 }, ask))
    for (let more = 0; more < 5; more++) statuses.push(await ask())
    t.ok(statuses.includes(200), statuses.join())
    t.ok(nanoUsd <= 0.05e9, `$${nanoUsd / 1e9} of $0.05`)
  })
}

t.test('media without reported usage is charged at its maximum', async t => {
  const upstream = await fakeUpstream({ pieces: [completionOf({ content: 'x' })] })
  t.teardown(upstream.close)
  const costOf = async (strict: boolean): Promise<number | undefined> => {
    const limiter = new SpyLimiter()
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [
          modelSettings('openai/priced', {
            price,
            capabilities: { input_token_limit: inputLimit, output_token_limit: outputLimit }
          })
        ]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar, strict } } },
      { limiter }
    )
    const messages = [{ role: 'user', content: [media[0]?.[2]] }]
    await (
      await api.post(
        path,
        { model: 'openai/priced', messages },
        { headers: { authorization: 'Bearer limited' } }
      )
    ).text()
    await until(() => limiter.settled.length === 1, 'the call to be settled')
    return limiter.settled[0]?.used.nanoUsd
  }
  t.ok(((await costOf(true)) ?? 0) >= inputLimit * price.input * 1000)
  t.ok(((await costOf(false)) ?? Infinity) < 1100 * price.input * 1000)
})

t.test('an answer is limited to the remaining budget', async t => {
  const provider = await greedyProvider(t)
  const { ask } = await start(t, provider, { budget: { usd: 0.05, per: 'total' } })
  const sentLimit = (): number | undefined =>
    (Object(provider.upstream.requests.at(-1)?.json) as { max_completion_tokens?: number })
      .max_completion_tokens
  t.equal((await ask({ max_completion_tokens: 1000 })).status, 200)
  t.equal(sentLimit(), 1000, 'a bound of the caller that can be paid stays')
  t.equal((await ask({ max_tokens: 1_000_000 })).status, 200)
  t.ok((sentLimit() ?? Infinity) < 4000, `${sentLimit()} tokens`)
  t.equal((await ask()).status, 402)
})

t.test('everything that a model may read is charged: schemas, names, and fields passed through', async t => {
  const provider = await greedyProvider(t)
  const { api } = await start(t, provider, { budget: { usd: 0.05, per: 'total' } })
  const text = 'four words of text '.repeat(20_000)
  const schema = { type: 'object', properties: { [text]: { type: 'string' } } }
  const messages = [{ role: 'user', content: 'hello' }]
  for (const [path, body] of [
    ['/v1/chat/completions', { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }],
    ['/v1/chat/completions', { functions: [{ name: 'f', parameters: schema }] }],
    [
      '/v1/chat/completions',
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { enum: [text] } } } }
    ],
    ['/v1/chat/completions', { field_of_tomorrow: { [text]: true } }],
    ['/v1/messages', { max_tokens: 16, tools: [{ name: 'f', input_schema: schema }] }],
    ['/v1/messages', { max_tokens: 16, field_of_tomorrow: [text] }],
    [
      '/v1/responses',
      {
        messages: undefined,
        input: 'hello',
        tools: [{ type: 'function', name: 'f', parameters: schema, strict: false }]
      }
    ],
    ['/v1/responses', { messages: undefined, input: 'hello', field_of_tomorrow: text }]
  ] as const) {
    const answer = await api.post(
      path,
      { model: 'openai/priced', messages, ...body },
      { headers: { authorization: 'Bearer limited' } }
    )
    t.equal(answer.status, 402, `${path} ${Object.keys(body).at(-1)}`)
    await answer.text()
  }
  t.equal(provider.upstream.requests.length, 0)
})

t.test('without `strict` a call may cost more than it reserved', async t => {
  const provider = await greedyProvider(t)
  const { ask } = await start(t, provider, { budget: { usd: 0.05, per: 'total' }, strict: false })
  t.equal((await ask()).status, 200)
  t.ok(provider.usd() > 0.05, `$${provider.usd()}`)
  t.equal((await ask()).status, 402)
})

t.test('Claude writes no more by default than a strict budget has reserved', async t => {
  const upstream = await fakeUpstream(() => ({
    pieces: [
      JSON.stringify({
        id: 'x',
        type: 'message',
        role: 'assistant',
        model: 'x',
        content: [{ type: 'text', text: 'x' }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 5, output_tokens: 1 }
      })
    ]
  }))
  t.teardown(upstream.close)
  const model = 'anthropic/claude-haiku-4-5'
  const sent = async (strict: boolean, limit: number): Promise<number> => {
    const { ask } = await start(
      t,
      { upstream, usd: () => 0 },
      { budget: { usd: 100, per: 'total' }, strict },
      {
        providers: [upstreamAt(upstream.url, 'anthropic', 'anthropic')],
        models: [modelSettings(model, { price, capabilities: { output_token_limit: limit } })]
      }
    )
    t.equal((await ask({ model })).status, 200)
    return Number(Reflect.get(Object(upstream.requests.at(-1)?.json), 'max_tokens'))
  }
  const most = await sent(true, 64_000)
  t.ok(most >= 8192 && most < 8400, `${most} tokens, which are the default of the limits`)
  t.equal(await sent(true, 8000), 8000, 'or all that the model writes')
  t.equal(await sent(false, 64_000), 32_000, 'without `strict` nothing is lowered')
})

t.test('choices that take separate requests are each charged a prompt', async t => {
  const prompt = 'four words of text '.repeat(500)
  const promptTokens = 2500
  let nanoUsd = 0
  const upstream = await fakeUpstream(request => {
    const { max_completion_tokens: most } = request.json as { max_completion_tokens?: number }
    const tokens = Math.min(most ?? Infinity, outputLimit)
    nanoUsd += promptTokens * price.input * 1000 + tokens * price.output * 1000
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: tokens,
      total_tokens: promptTokens + tokens
    }
    return { pieces: [completionOf({ content: 'x' }, { finishReason: 'length', usage })] }
  })
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`, 'groq', 'groq')],
      models: [modelSettings('groq/priced', { price, capabilities: { output_token_limit: outputLimit } })]
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 0.02, per: 'total' } } } },
    { limiter: new LocalLimiter() }
  )
  const statuses: number[] = []
  for (const n of [8, 4, 2, 1]) {
    const body = { model: 'groq/priced', messages: prompt, n }
    statuses.push((await api.post(path, body, { headers: { authorization: 'Bearer limited' } })).status)
    t.ok(nanoUsd <= 0.02 * 1e9, `$${nanoUsd / 1e9} with ${n} choices`)
  }
  t.ok(statuses.includes(200), statuses.join())
})

t.test('a tool loop stays within the reservation of its call', async t => {
  const provider = await greedyProvider(t, (_, tokens) => ({
    pieces: [toolCallAnswer('echo', { text: String(Math.random()) }, usageOf(tokens))]
  }))
  const tools = await startToolServer(t)
  const { ask } = await start(
    t,
    provider,
    { budget: oneDollar },
    { tools: { ...settings().tools, connectMs: 10_000, loopMs: 20_000, allowedHosts: ['127.0.0.1'] } }
  )
  const answer = await ask({ mcp_servers: [tools.url], max_turns: 20 })
  t.match(await answer.json(), { tool_loop_stopped: { reason: 'budget' } })
  t.ok(provider.usd() <= 1, `$${provider.usd()} in ${provider.upstream.requests.length} turns`)
  t.ok(provider.upstream.requests.length > 1)
})

t.test('a model without a known price is refused under a budget unless allowed', async t => {
  const provider = await greedyProvider(t)
  const refusing = await start(t, provider, { budget: oneDollar })
  const refused = await refusing.ask({ model: 'openai/unpriced' })
  t.equal(refused.status, 403)
  t.match(await refused.json(), {
    error: { code: 'insufficient_permissions', param: 'model', message: /No price is known/ }
  })
  const priority = await refusing.ask({ service_tier: 'priority' })
  t.match(
    [priority.status, await priority.json()],
    [403, { error: { code: 'insufficient_permissions', param: 'service_tier' } }]
  )
  const speech = await refusing.api.post(
    '/v1/audio/speech',
    { model: 'openai/unpriced', input: 'x', voice: 'alloy' },
    { headers: { authorization: 'Bearer limited' } }
  )
  t.equal(speech.status, 403, 'on every endpoint')
  t.equal(provider.upstream.requests.length, 0)
  t.equal(
    (await refusing.ask({ model: ['openai/unpriced', 'openai/priced'] })).status,
    200,
    'another model of the list may be used'
  )
  const allowing = await start(t, provider, { budget: { ...oneDollar, unpriced: 'allow' } })
  t.equal((await allowing.ask({ model: 'openai/unpriced' })).status, 200)
})

const oneCent: Budget = { usd: 0.01, per: 'total' }
const paidTokens = 1000

/** Returns a request with settings for its model, from the caller or from a configured route. */
function withSettings (
  place: 'model' | 'route',
  settings: Readonly<Record<string, unknown>>,
  model = 'openai/priced'
): { readonly model: unknown, readonly parts: Partial<Settings> } {
  return place === 'model'
    ? { model: { model, settings }, parts: {} }
    : {
        model: 'preset',
        parts: { routes: [{ name: 'preset', models: [model], defaults: { [model]: settings } }] }
      }
}

for (const place of ['model', 'route'] as const) {
  t.test(`settings of a ${place} are charged and limited like those of the request`, async t => {
    const ask = async (settings: Readonly<Record<string, unknown>>, body: object = {}) => {
      const provider = await greedyProvider(t)
      const { model, parts } = withSettings(place, settings)
      const { ask } = await start(t, provider, { budget: oneCent }, parts)
      const answer = await ask({ model, ...body })
      t.ok(provider.usd() <= 0.01, `$${provider.usd()} with ${JSON.stringify(settings)}`)
      return {
        status: answer.status,
        body: (await answer.json()) as object,
        sent: provider.upstream.requests.map(
          ({ json }) => Object(json) as { max_completion_tokens?: number, n?: number }
        )
      }
    }
    const bounded = await ask({ max_completion_tokens: outputLimit }, { max_tokens: 16 })
    t.match(
      bounded,
      { status: 200, sent: [{ max_completion_tokens: 16 }] },
      'the request wins, whichever name its limit has'
    )
    t.equal((await ask({ n: 100 }, { max_tokens: 900 })).status, 402, 'too many choices')
    const choices = await ask({ n: 10 }, { max_tokens: 900 })
    t.match(choices, { status: 200, sent: [{ n: 10 }] })
    t.ok(
      (choices.sent[0]?.max_completion_tokens ?? Infinity) < paidTokens / 10,
      'each is limited to its share'
    )
    const priority = await ask({ service_tier: 'priority' }, { max_tokens: 16 })
    t.match(priority, {
      status: 403,
      body: { error: { code: 'insufficient_permissions', param: 'service_tier' } },
      sent: []
    })
    const long = await ask({ max_tokens: outputLimit })
    t.equal(long.status, 200)
    t.ok(
      (long.sent[0]?.max_completion_tokens ?? Infinity) < paidTokens,
      'a limit of the settings is lowered'
    )
    t.match(
      await ask({ max_tokens: 50 }),
      { status: 200, sent: [{ max_completion_tokens: 50 }] },
      'and stays where it can be paid'
    )
    const tools = [
      { type: 'function', function: { name: 'f', description: 'four words of text '.repeat(20_000) } }
    ]
    t.equal((await ask({ tools })).status, 402, 'tools are read')
  })
}

t.test(
  'each model of a route keeps the limit of its settings, and gets no more than is charged',
  async t => {
    const provider = await greedyProvider(t, (request, tokens) =>
      Reflect.get(Object(request.json), 'model') === 'last'
        ? completeAnswer(request, tokens)
        : { status: 500, pieces: ['{}'] }
    )
    const models = ['openai/priced', 'openai/second', 'openai/last']
    const { ask } = await start(
      t,
      provider,
      { budget: oneDollar },
      {
        models: models.map(id =>
          modelSettings(id, { price, capabilities: { output_token_limit: 2_000_000 } })
        ),
        routes: [
          {
            name: 'preset',
            models,
            defaults: { 'openai/priced': { max_tokens: 1_000_000 }, 'openai/second': { max_tokens: 50 } }
          }
        ]
      }
    )
    t.equal((await ask({ model: 'preset' })).status, 200)
    const limits = new Map(
      provider.upstream.requests.map(({ json }) => {
        const { model, max_completion_tokens: limit } = json as {
          model: string
          max_completion_tokens?: number
        }
        return [model, limit ?? Infinity]
      })
    )
    t.equal(limits.get('second'), 50)
    for (const model of ['priced', 'last']) {
      t.ok((limits.get(model) ?? Infinity) < 100_000, `${model}: ${limits.get(model)}`)
    }
  }
)

t.test(
  "Google's generation config is charged and limited in either spelling, in requests and settings",
  async t => {
    interface Sent {
      readonly maxOutputTokens?: number
      readonly candidateCount?: number
    }
    const ask = async (body: object, parts: Partial<Settings> = {}) => {
      let nanoUsd = 0
      const sent: Sent[] = []
      const upstream = await fakeUpstream(({ json }) => {
        const config = Object(Reflect.get(Object(json), 'generationConfig')) as Sent
        sent.push(config)
        const count = config.candidateCount ?? 1
        const tokens =
          Math.min(
            Number(config.maxOutputTokens) > 0 ? Number(config.maxOutputTokens) : Infinity,
            outputLimit
          ) * count
        nanoUsd += 5 * price.input * 1000 + tokens * price.output * 1000
        return {
          pieces: [
            JSON.stringify({
              candidates: Array.from({ length: count }, (_, index) => ({
                index,
                content: { parts: [{ text: 'x' }] },
                finishReason: 'MAX_TOKENS'
              })),
              usageMetadata: {
                promptTokenCount: 5,
                candidatesTokenCount: tokens,
                totalTokenCount: tokens + 5
              }
            })
          ]
        }
      })
      t.teardown(upstream.close)
      const api = await testGateway(
        t,
        {
          providers: [upstreamAt(upstream.url, 'google', 'google')],
          models: [
            modelSettings('google/priced', { price, capabilities: { output_token_limit: outputLimit } })
          ],
          ...parts
        },
        { limited: { id: 'key-2', name: 'limited', limits: { budget: oneCent } } },
        { limiter: new LocalLimiter() }
      )
      const answer = await api.post(
        path,
        { model: 'google/priced', messages: 'hello', ...body },
        { headers: { authorization: 'Bearer limited' } }
      )
      t.ok(nanoUsd <= 0.01e9, `$${nanoUsd / 1e9} for ${JSON.stringify(body)}`)
      return { status: answer.status, body: (await answer.json()) as { choices?: unknown[] }, sent }
    }
    for (const config of [
      { maxOutputTokens: outputLimit, candidateCount: 8 },
      { max_output_tokens: outputLimit, candidate_count: 8 },
      { maxOutputTokens: '20000', candidateCount: '8' }
    ]) {
      const places = (['model', 'route'] as const).map(place =>
        withSettings(place, { generation_config: config }, 'google/priced')
      )
      for (const { parts, ...body } of [
        { max_tokens: 16, generation_config: config, parts: {} },
        ...places
      ]) {
        const { status, body: answer, sent } = await ask(body, parts)
        t.equal(status, 200, JSON.stringify(body))
        t.equal(answer.choices?.length, 8, 'all that is paid is returned')
        t.equal(sent[0]?.candidateCount, 8)
        t.ok((sent[0]?.maxOutputTokens ?? Infinity) < paidTokens / 8, JSON.stringify(sent))
      }
    }
    t.match(
      await ask({ max_tokens: 500, generation_config: { maxOutputTokens: 16 } }),
      { status: 200, sent: [{ maxOutputTokens: 16 }] },
      'what can be paid stays'
    )
    const { model } = withSettings(
      'model',
      { generation_config: { maxOutputTokens: outputLimit } },
      'google/priced'
    )
    t.match(await ask({ max_tokens: 16, model }), { status: 200, sent: [{ maxOutputTokens: 16 }] })
    for (const unlimited of [0, -1, null, 'x']) {
      const { sent } = await ask({ max_tokens: 16, generation_config: { maxOutputTokens: unlimited } })
      t.ok((sent[0]?.maxOutputTokens ?? Infinity) < paidTokens, `${unlimited}: ${JSON.stringify(sent)}`)
    }
  }
)

t.test('settings of a route limit a request in its own words to the provider', async t => {
  const upstream = await fakeUpstream({
    pieces: [
      JSON.stringify({
        id: 'resp_1',
        object: 'response',
        created_at: 1,
        model: 'priced',
        status: 'completed',
        error: null,
        output: [],
        usage: { input_tokens: 5, output_tokens: 1, total_tokens: 6 }
      })
    ]
  })
  t.teardown(upstream.close)
  const sent = async (settings: Readonly<Record<string, unknown>>, body: object = {}): Promise<unknown> => {
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [
          modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } })
        ],
        ...withSettings('route', settings).parts
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: oneCent } } },
      { limiter: new LocalLimiter() }
    )
    await (
      await api.post(
        '/v1/responses',
        { model: 'preset', input: 'hello', store: false, ...body },
        { headers: { authorization: 'Bearer limited' } }
      )
    ).text()
    return Reflect.get(Object(upstream.requests.at(-1)?.json), 'max_output_tokens')
  }
  t.equal(await sent({ max_tokens: 50 }), 50)
  t.equal(await sent({ max_tokens: 50 }, { max_output_tokens: 20 }), 20)
  for (const settings of [{ max_tokens: outputLimit }, { max_completion_tokens: outputLimit }, { n: 1 }]) {
    t.ok(Number(await sent(settings)) < paidTokens, JSON.stringify(settings))
  }
})

t.test('settings do not raise the possible cost of a text completion', async t => {
  const upstream = await fakeUpstream({
    pieces: [
      JSON.stringify({
        id: 'c',
        object: 'text_completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, text: 'x', finish_reason: 'length' }],
        usage: usageOf(1)
      })
    ]
  })
  t.teardown(upstream.close)
  const ask = async (body: object): Promise<unknown> => {
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`, 'vllm', 'vllm')],
        models: [modelSettings('vllm/priced', { price, capabilities: { output_token_limit: outputLimit } })],
        ...withSettings('route', { max_completion_tokens: outputLimit }, 'vllm/priced').parts
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: oneCent } } },
      { limiter: new LocalLimiter() }
    )
    const answer = await api.post(
      '/v1/completions',
      { model: 'preset', prompt: 'hello', ...body },
      { headers: { authorization: 'Bearer limited' } }
    )
    await answer.text()
    return answer.status === 200
      ? Reflect.get(Object(upstream.requests.at(-1)?.json), 'max_tokens')
      : answer.status
  }
  t.equal(await ask({ max_tokens: 5 }), 5)
  t.ok(Number(await ask({})) < paidTokens)
  t.equal(
    await ask({ max_tokens: 5, suffix: 'four words of text '.repeat(20_000) }),
    402,
    'the text after the gap is read'
  )
})

t.test('what a provider bills after the caller disconnects counts', async t => {
  const provider = await greedyProvider(t, () => ({ headers: eventStream, pieces: slowly() }))
  let goOn = (): void => undefined
  const waiting = new Promise<void>(resolve => {
    goOn = resolve
  })
  async function* slowly (): AsyncGenerator<string> {
    const [role = '', text = '', ...rest] = chatFrames(['x'])
    yield role
    yield text
    await waiting
    yield* rest
  }
  const { api, ask } = await start(t, provider, { budget: oneDollar })
  const leaving = new AbortController()
  const stream = await ask({ stream: true }, { signal: leaving.signal })
  await stream.body?.getReader().read()
  leaving.abort()
  goOn()
  await until(() => api.lines.length === 1, 'the call to be logged')
  t.match(
    api.lines[0],
    { outcome: 'client_closed', usage: { prompt: 3, completion: 1 } },
    'its usage was read to the end'
  )
})

t.test('a caller who sets a timeout that no answer meets still spends the budget', async t => {
  for (const stream of [false, true]) {
    let release = (): void => undefined
    const provider = await greedyProvider(t, () => ({
      headers: eventStream,
      pieces: (async function* () {
        await new Promise<void>(resolve => { release = resolve })
        yield ''
      })()
    }))
    const { ask } = await start(t, provider, { budget: oneDollar })
    const statuses: number[] = []
    for (let count = 0; count < 20; count++) {
      statuses.push((await ask({ stream, max_tokens: 10_000, timeout: 0.05 })).status)
      release()
    }
    t.same(new Set(statuses), new Set([504, 402]))
    t.ok(provider.usd() <= 1, `$${provider.usd()}`)
  }
})

t.test('images, speech and documents are charged to the budget too', async t => {
  const upstream = await fakeUpstream(({ path }) => {
    if (path.endsWith('/speech')) {
      return { headers: { 'content-type': 'audio/mpeg' }, pieces: [Buffer.from('sound')] }
    }
    if (path.endsWith('/ocr')) {
      return { pieces: [JSON.stringify({ pages: [{ index: 0, markdown: 'x' }], model: 'm' })] }
    }
    return {
      pieces: [
        JSON.stringify({ created: 1, data: [{ b64_json: 'AA==' }], quality: 'low', size: '1024x1024' })
      ]
    }
  })
  t.teardown(upstream.close)
  const image = { model: 'openai/picture', prompt: 'x' }
  const speech = { model: 'openai/voice', input: 'x'.repeat(1000), voice: 'alloy' }
  const ocr = {
    model: 'mistral/reader',
    document: { type: 'document_url', document_url: 'https://example.com/a.pdf' }
  }
  const statuses = async (usd: number, path: string, body: object): Promise<number[]> => {
    const api = await testGateway(
      t,
      {
        providers: [
          upstreamAt(`${upstream.url}/v1`),
          upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')
        ],
        models: [
          modelSettings('openai/picture', {
            price: {
              images: [
                { quality: 'high', usd: 0.5 },
                { quality: 'low', usd: 0.1 }
              ]
            }
          }),
          modelSettings('openai/voice', { price: { perMillionCharacters: 100 } }),
          modelSettings('mistral/reader', { price: { perThousandPages: 100 } })
        ]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd, per: 'total' } } } },
      { limiter: new LocalLimiter() }
    )
    const found: number[] = []
    for (let call = 0; call < 3; call++) {
      const answer = await api.post(path, body, { headers: { authorization: 'Bearer limited' } })
      await answer.text()
      found.push(answer.status)
    }
    return found
  }
  t.same(await statuses(0.25, '/v1/images/generations', { ...image, quality: 'low' }), [200, 200, 402])
  t.same(
    await statuses(0.25, '/v1/images/generations', image),
    [402, 402, 402],
    'any quality may be the most expensive'
  )
  t.same(await statuses(0.25, '/v1/audio/speech', speech), [200, 200, 402])
  t.same(await statuses(0.25, '/v1/ocr', ocr), [200, 200, 402], 'as many pages as are left')
  t.same(
    await statuses(0.25, '/v1/audio/speech', { ...speech, model: 'openai/picture' }),
    [403, 403, 403],
    'a price of something else is none'
  )
})

t.test(
  'a key may generate its daily number of images, and still do everything else afterwards',
  async t => {
    const upstream = await fakeUpstream(({ path, json }) =>
      path.endsWith('/chat/completions')
        ? { pieces: [chatAnswer('x')] }
        : {
            pieces: [
              JSON.stringify({
                created: 1,
                data: Array.from({ length: (json as { n?: number }).n ?? 1 }, () => ({ b64_json: 'AA==' }))
              })
            ]
          }
    )
    t.teardown(upstream.close)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [modelSettings('openai/picture'), modelSettings('openai/priced')]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { imagesPerDay: 5 } } },
      { limiter: new LocalLimiter() }
    )
    const images = async (
      n: number
    ): Promise<{ status: number, message: unknown, retryAfter: string | null }> => {
      const answer = await api.post(
        '/v1/images/generations',
        { model: 'openai/picture', prompt: 'x', n },
        { headers: { authorization: 'Bearer limited' } }
      )
      const { error } = (await answer.json()) as { error?: { message: string } }
      return {
        status: answer.status,
        message: error?.message,
        retryAfter: answer.headers.get('retry-after')
      }
    }
    t.match(
      [await images(3), await images(3), await images(2)],
      [
        { status: 200 },
        { status: 429, message: 'This API key allows 5 images per day, in UTC.' },
        { status: 200 }
      ]
    )
    t.match(await images(1), {
      status: 429,
      message: 'This API key allows 5 images per day, in UTC.',
      retryAfter: '60'
    })
    const chat = await api.post(
      path,
      { model: 'openai/priced', messages: 'hello' },
      { headers: { authorization: 'Bearer limited' } }
    )
    t.equal(chat.status, 200)
  }
)

t.test(
  "images made by a provider's tool count as daily images, and then only calls with that tool are refused",
  async t => {
    const image = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'AA==' }
    const response = (output: readonly object[]) => ({
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'priced',
      status: 'completed',
      error: null,
      output,
      usage: {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 1,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 6
      }
    })
    const upstream = await fakeUpstream((_, number) => ({
      pieces: [JSON.stringify(response(number === 0 ? [image, image] : []))]
    }))
    t.teardown(upstream.close)
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [modelSettings('openai/priced')]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { imagesPerDay: 2 } } },
      { limiter: new LocalLimiter() }
    )
    const asked = async (tools: readonly object[]) => {
      const answer = await api.post(
        '/v1/responses',
        { model: 'openai/priced', input: 'hello', store: false, tools },
        { headers: { authorization: 'Bearer limited' } }
      )
      return { status: answer.status, body: await answer.json() }
    }
    const tool = { type: 'image_generation', model: 'priced' }
    t.match(await asked([tool]), { status: 200 }, 'it makes two, of which one was reserved')
    t.match(await asked([tool]), {
      status: 429,
      body: { error: { message: 'This API key allows 2 images per day, in UTC.' } }
    })
    t.match(await asked([]), { status: 200 })
  }
)

t.test('a free model without a known limit does not change the budget', async t => {
  const provider = await greedyProvider(t)
  const { ask } = await start(t, provider, { budget: { usd: 0.5, per: 'total' } })
  t.equal((await ask({ model: 'openai/free' })).status, 200)
  await Promise.all(Array.from({ length: 20 }, async () => (await ask()).status))
  t.ok(provider.usd() <= 0.5, `$${provider.usd()}`)
  t.equal(
    (await ask({ model: ['openai/free', 'openai/free'] })).status,
    200,
    'free it is when nothing is left'
  )
})

t.test('an abandoned answer is charged for its text even if the provider reports no usage', async t => {
  let goOn = (): void => undefined
  const waiting = new Promise<void>(resolve => {
    goOn = resolve
  })
  async function* slowly (): AsyncGenerator<string> {
    const [role = '', text = '', ...rest] = chatFrames(['some', 'text', 'x'.repeat(4000)], { usage: false })
    yield role
    yield text
    await waiting
    for (const piece of rest) {
      yield piece
      await new Promise(resolve => {
        setImmediate(resolve)
      })
    }
  }
  const provider = await greedyProvider(t, () => ({ headers: eventStream, pieces: slowly() }))
  const { api, ask } = await start(t, provider, { budget: oneDollar })
  const leaving = new AbortController()
  const stream = await ask({ stream: true }, { signal: leaving.signal })
  await stream.body?.getReader().read()
  leaving.abort()
  await until(() => api.gateway.services.abandonedAnswers.size === 1, 'one abandoned answer')
  goOn()
  await until(() => api.lines.length === 1, 'the call to be logged')
  t.match(api.lines[0], { outcome: 'client_closed', usage: { completion: 1002, estimated: true } })
})

/** Records the actual usage of calls. */
class SpyLimiter extends LocalLimiter {
  readonly settled: ActualUsage[] = []

  override settle (reservation: number, used: ActualUsage): void {
    this.settled.push(used)
    super.settle(reservation, used)
  }
}

t.test('a refused answer is charged its cost if complete, else the whole reservation', async t => {
  const frames = chatFrames(['it holds forbidden words'])
  const costOf = async (stream: boolean, script: Script): Promise<number | undefined> => {
    const upstream = await fakeUpstream(script)
    t.teardown(upstream.close)
    const limiter = new SpyLimiter()
    const api = await testGateway(
      t,
      {
        providers: [upstreamAt(`${upstream.url}/v1`)],
        models: [modelSettings('openai/priced', { price })],
        guards: [
          {
            name: 'words',
            use: 'pattern',
            at: ['answer'],
            action: 'refuse',
            patterns: [{ name: 'forbidden', match: 'forbidden', maxLength: 9 }]
          }
        ]
      },
      { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar } } },
      { limiter }
    )
    const response = await api.post(
      path,
      { model: 'openai/priced', messages: 'hello', stream, max_completion_tokens: 1000 },
      { headers: { authorization: 'Bearer limited' } }
    )
    t.match(await response.text(), /content_refused/)
    await until(() => limiter.settled.length === 1, 'the call to be settled')
    return limiter.settled[0]?.used.nanoUsd
  }
  const reported = (3 * price.input + price.output) * 1000
  t.equal(await costOf(false, { pieces: [chatAnswer('it holds forbidden words')] }), reported)
  const whole = await costOf(true, { headers: eventStream, pieces: [frames.join('')] })
  t.equal(whole, reported, 'in its last read')
  const cut = await costOf(true, { headers: eventStream, pieces: frames.slice(0, 2), then: 'stall' })
  t.ok((cut ?? 0) >= 1000 * price.output * 1000, 'its provider may go on')
})

t.test('successful parts of a call are not sent again by another attempt', async t => {
  let failures = 0
  const upstream = await fakeUpstream(async (_request, number) => {
    if (number === 2 && failures++ === 0) {
      await upstream.request(3)
      return { status: 500, pieces: ['{}'] }
    }
    return { pieces: [chatAnswer(`${number}`)] }
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(upstream.url, 'deepseek', 'deepseek', { retries: 2 })]
  })
  const response = await api.post(path, { model: 'deepseek/deepseek-chat', messages: 'hi', n: 4 })
  t.equal(response.status, 200)
  t.match(await response.json(), { choices: { length: 4 }, usage: { completion_tokens: 4 } })
  t.equal(upstream.requests.length, 5, 'only the one that failed')
})

t.test('parts completed by one provider are charged even if another answers the call', async t => {
  const one = await fakeUpstream((_request, number) =>
    number === 0 ? { status: 500, pieces: ['{}'] } : { pieces: [chatAnswer('x')] }
  )
  const two = await fakeUpstream({ pieces: [chatAnswer('two')] })
  t.teardown(one.close)
  t.teardown(two.close)
  const limiter = new SpyLimiter()
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(one.url, 'deepseek', 'deepseek'), upstreamAt(`${two.url}/v1`)],
      models: [
        modelSettings('deepseek/m', { price: { input: 1000, output: 1000 } }),
        modelSettings('openai/priced', { price })
      ]
    },
    {
      limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 100, per: 'total' }, strict: false } }
    },
    { limiter }
  )
  const response = await api.post(
    path,
    { model: ['deepseek/m', 'openai/priced'], messages: 'hi', n: 3 },
    { headers: { authorization: 'Bearer limited' } }
  )
  t.match(await response.json(), { model: 'openai/priced' })
  await until(() => limiter.settled.length === 1, 'the call to be settled')
  t.equal(
    limiter.settled[0]?.used.nanoUsd,
    2 * 4 * 1000 * 1000 + 3 * price.input * 1000 + price.output * 1000,
    'two parts and the answer, each at its price'
  )
})

t.test('an unusable answer to a completed request is charged as an estimate', async t => {
  const upstream = await fakeUpstream({ pieces: ['half a {'] })
  t.teardown(upstream.close)
  const limiter = new SpyLimiter()
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      models: [modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } })]
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 0.05, per: 'total' } } } },
    { limiter }
  )
  const statuses: number[] = []
  for (let call = 0; call < 8; call++) {
    statuses.push(
      (
        await api.post(
          path,
          { model: 'openai/priced', messages: 'hello' },
          { headers: { authorization: 'Bearer limited' } }
        )
      ).status
    )
  }
  t.same([...new Set(statuses)], [502, 402], 'the budget ends')
  t.ok((limiter.settled[0]?.used.nanoUsd ?? 0) >= 1000 * price.output * 1000)
})

t.test(
  'a request that times out is retried, and each abandoned one is charged as an estimate',
  async t => {
    const stalled: Script = { headers: { 'content-type': 'application/json' }, pieces: ['{'], then: 'stall' }
    const saysSo: Script = { status: 504, pieces: ['{}'] }
    const rows: ReadonlyArray<readonly [string, Script, boolean, number]> = [
      ['no head', { silent: true }, false, 2],
      ['no head of a stream', { silent: true }, true, 2],
      ['half a response', stalled, false, 2],
      ['a stream without output', { headers: eventStream, pieces: [': wait\n\n'], then: 'stall' }, true, 2],
      ['a provider that says so itself', saysSo, false, 0]
    ]
    for (const [name, script, stream, paid] of rows) {
      await t.test(name, async t => {
        const upstream = await fakeUpstream(script)
        t.teardown(upstream.close)
        const limiter = new SpyLimiter()
        const ms = paid === 0 ? 20_000 : 50
        const timeouts = {
          connectMs: 5000,
          firstByteMs: ms,
          responseMs: ms,
          idleBytesMs: ms,
          idleEventsMs: ms
        }
        const api = await testGateway(
          t,
          {
            providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { timeouts, retries: 1 })],
            models: [
              modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } })
            ]
          },
          { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar } } },
          { limiter }
        )
        const answer = await api.post(
          path,
          { model: 'openai/priced', messages: 'hello', stream },
          { headers: { authorization: 'Bearer limited' } }
        )
        t.equal(answer.status, 504)
        await answer.text()
        await until(() => api.lines.length === 1, 'a line in the log')
        t.match(api.lines, [{ attempts: 2 }])
        const estimate = 3 * price.input * 1000 + 1000 * price.output * 1000
        t.equal(limiter.settled[0]?.used.nanoUsd, paid * estimate)
      })
    }
  }
)

t.test('a request that was never sent is not charged', async t => {
  // no handshake
  const server = createServer(socket =>
    socket
      .on('error', () => {
        /** the client disconnects */
      })
      .resume()
  )
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const limiter = new SpyLimiter()
  const timeouts = { connectMs: 5000, firstByteMs: 50, responseMs: 50, idleBytesMs: 50, idleEventsMs: 50 }
  const { port } = server.address() as AddressInfo // it is listening
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`https://127.0.0.1:${port}/v1`, 'openai', 'openai', { timeouts, retries: 1 })],
      models: [modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } })]
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar } } },
    { limiter }
  )
  for (const stream of [false, true]) {
    const answer = await api.post(
      path,
      { model: 'openai/priced', messages: 'hello', stream },
      { headers: { authorization: 'Bearer limited' } }
    )
    t.equal(answer.status, 504)
    await answer.text()
  }
  await until(() => limiter.settled.length === 2, 'the calls to be settled')
  t.same(
    limiter.settled.map(({ used }) => used.nanoUsd),
    [0, 0]
  )
})

t.test('a call abandoned while its provider works is charged as an estimate', async t => {
  const upstream = await fakeUpstream({ silent: true })
  t.teardown(upstream.close)
  const limiter = new SpyLimiter()
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      models: [modelSettings('openai/priced', { price, capabilities: { output_token_limit: outputLimit } })],
      limits: { ...settings().limits, callMs: 3000 } // by then the provider has its request
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: oneDollar } } },
    { limiter }
  )
  const response = await api.post(
    path,
    { model: 'openai/priced', messages: 'x'.repeat(4000) },
    { headers: { authorization: 'Bearer limited' } }
  )
  t.equal(response.status, 504)
  await until(() => limiter.settled.length === 1, 'the call to be settled')
  t.ok((limiter.settled[0]?.used.nanoUsd ?? 0) >= 1000 * price.input * 1000)
})

t.test('tool results that exceed the remaining budget end the loop', async t => {
  const provider = await greedyProvider(t, () => ({
    pieces: [toolCallAnswer('echo', { text: 'words '.repeat(20_000) }, usageOf(10))]
  }))
  const tools = await startToolServer(t)
  const { ask } = await start(
    t,
    provider,
    { budget: { usd: 0.02, per: 'total' } },
    {
      tools: {
        ...settings().tools,
        connectMs: 10_000,
        loopMs: 20_000,
        resultBytes: 200_000,
        allowedHosts: ['127.0.0.1']
      }
    }
  )
  const answer = await ask({ mcp_servers: [tools.url], max_turns: 5, max_completion_tokens: 100 })
  t.equal(answer.status, 200)
  t.match(await answer.json(), { tool_loop_stopped: { reason: 'budget', turns: 1 } })
  t.equal(provider.upstream.requests.length, 1)
})

t.test('fields that only the gateway sets change no estimate and break no call', async t => {
  const provider = await greedyProvider(t)
  const { ask, api } = await start(t, provider, { budget: oneCent })
  const long = 'word '.repeat(20_000)
  for (const more of [{}, { asWritten: {} }, { asWritten: 'x', callerNames: 1, originalInput: 2 }]) {
    t.equal((await ask({ messages: long, ...more })).status, 402, JSON.stringify(more))
  }
  t.equal(provider.usd(), 0)
  for (const more of [
    { toolApproval: {} },
    { toolApproval: { approved: [{}] } },
    { max_tool_calls: 'x', text: 1 }
  ]) {
    t.equal((await ask({ messages: 'hi', max_tokens: 5, ...more })).status, 200, JSON.stringify(more))
  }
  t.equal(
    (
      await api.post(
        '/v1/completions',
        { model: 'openai/priced', prompt: 'hi', max_completion_tokens: 'abc' },
        { headers: { authorization: 'Bearer limited' } }
      )
    ).status,
    200
  )
  t.equal((await ask({ messages: long })).status, 402, 'the counters are numbers still')
})

for (const nodeCount of [2, 8]) {
  const title = 'an end user and a tag with $1 an hour each spend no more, by 250 calls at once over'
  t.test(`${title} ${nodeCount} nodes with Redis`, { skip: noRedis }, async t => {
    const redis = await startRedis(t)
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    const hour: Budget = { usd: 1, per: 'hour' }
    const { limits, usage } = settings()
    for (const [what, parts, body] of [
      [
        'end user',
        { endUsers: { store: 'as_given', required: false, defaultBudget: hour } },
        { user: 'ada' }
      ],
      [
        'tag',
        {
          limits: { ...limits, tags: [{ tag: 'nightly', budget: hour }] },
          usage: { ...usage, keys: [{ key: 'limited', tags: ['nightly'] }] }
        },
        {}
      ]
    ] as const) {
      const provider = await greedyProvider(t)
      const nodes = await Promise.all(
        Array.from(
          { length: nodeCount },
          async () =>
            await testGateway(
              t,
              {
                providers: [upstreamAt(`${provider.upstream.url}/v1`)],
                models: [
                  modelSettings('openai/priced', {
                    price,
                    capabilities: { output_token_limit: outputLimit }
                  })
                ],
                ...parts,
                limits: { ...limits, ...'limits' in parts && parts.limits, openCalls: 1000 }
              },
              { limited: { id: 'key-2', name: 'limited' } },
              {
                database,
                usageDatabase: database,
                // A busy machine delays replies.
                limiter: new RedisLimiter(await redis.connect(t, { timeoutMs: 10_000 }), {
                  without: () => 'refuse',
                  readUsed: readUsedFrom(database),
                  onFailure: error => t.error(error)
                })
              }
            )
        )
      )
      const ask = async (call: number): Promise<number> => {
        const answer = await nodes[call % nodeCount]?.post(
          path,
          { model: 'openai/priced', messages: 'hello', ...body },
          { headers: { authorization: 'Bearer limited' } }
        )
        await answer?.text()
        return answer?.status ?? 0
      }
      const statuses = await Promise.all(Array.from({ length: 250 }, async (_, call) => await ask(call)))
      for (let more = 0; more < 10; more++) statuses.push(await ask(more))
      t.ok(provider.usd() <= 1, `${what}: $${provider.usd()}`)
      t.ok(provider.usd() > 0.9, `${what}: most of it can be used`)
      t.same(statuses.filter(status => ![200, 402, 429].includes(status)), [])
      for (const { gateway } of nodes) await gateway.close()
    }
  })
}
