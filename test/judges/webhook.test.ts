/**
 * Checks the requests and verdicts of guard services. With `HEADGATE_TEST_LITELLM=python` (a Python with
 * `litellm[proxy]`) they are also compared with LiteLLM's own proxy.
 */

import { createHmac } from 'node:crypto'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { isObject, objectOf } from '../../lib/json/type-guards.ts'
import { openWebhook } from '../../lib/judges/webhook.ts'
import { closedUrl } from '../support/closed-port.ts'
import {
  chatAnswer, fakeUpstream, toolCallAnswer, type FakeUpstream, type Script, type SeenRequest
} from '../support/upstream.ts'
import { chatUpstreamAt, testGateway, testKey } from '../support/gateway.ts'
import { startLitellm } from '../support/litellm-proxy.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { startToolServer } from '../support/tool-server.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { until } from '../support/until.ts'
import type { TextAtPoint, Verdict } from '../../lib/guards/text-judge.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

type Answers = Script | ((request: SeenRequest, number: number) => Script | Promise<Script>)

const texts: readonly TextAtPoint[] = [{ text: 'a', point: 'request' }, { text: 'b', point: 'tool_result' }]

function json (value: unknown, status = 200): Script {
  return { status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

async function service (t: Test, answers: Answers): Promise<FakeUpstream> {
  const upstream = await fakeUpstream(answers)
  t.teardown(upstream.close)
  return upstream
}

async function inspect (
  t: Test,
  url: string,
  more: Partial<GuardSettings> = {},
  ms = 5_000,
  given = texts
): Promise<Verdict> {
  const judge = openWebhook({ name: 'mine', use: 'webhook', at: ['request'], url, ...more })
  t.teardown(async () => await judge.close?.())
  const call = routedCall({}, { id: 'call-1' })
  return await judge.inspect(given, { call, signal: AbortSignal.timeout(ms) })
}

t.test(
  'a service gets the texts and facts of the call, signed, and returns the verdict',
  async t => {
    const secret = new Secret(`whsec_${Buffer.from('the key').toString('base64')}`)
    const { url, requests } = await service(t, json({ texts: ['a', 'x'], findings: 2, other: 'ignored' }))
    const given = { secret, headers: { 'X-Team': new Secret('blue') }, options: { policy: 'strict' } }
    t.same(await inspect(t, `${url}/guard`, given), { texts: ['a', 'x'], findings: 2 })
    const [request] = requests as [SeenRequest]
    t.match(request, {
      method: 'POST',
      path: '/guard',
      headers: { 'content-type': 'application/json', 'x-team': 'blue', 'webhook-id': /^msg_/ }
    })
    t.match(request.json, {
      version: 1,
      stage: 'mine',
      options: { policy: 'strict' },
      call: { id: 'call-1', endpoint: 'chat', key: { id: String }, project: 'default', models: [String] },
      texts: [
        { point: 'request', text: 'a' },
        { point: 'tool_result', text: 'b' }
      ]
    })
    const {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature
    } = request.headers
    t.ok(Math.abs(Number(timestamp) - Date.now() / 1000) < 60)
    t.equal(
      signature,
      `v1,${createHmac('sha256', 'the key')
        .update(`${String(id)}.${String(timestamp)}.${request.text}`)
        .digest('base64')}`
    )
  }
)

t.test('a service refuses with a reason, or lets the text pass', async t => {
  t.same(await inspect(t, (await service(t, json({ refuse: 'no' }))).url), { refusal: 'no' })
  const { url, requests } = await service(t, json({}))
  t.same(await inspect(t, url), {})
  t.equal(requests[0]?.headers['webhook-signature'], undefined, 'without a secret nothing is signed')
  const none = { refuse: null, texts: null, findings: null }
  t.same(await inspect(t, (await service(t, json(none))).url), {}, 'null is nothing')
  const masked = { ...none, texts: ['a', 'x'] }
  t.same(await inspect(t, (await service(t, json(masked))).url), { texts: ['a', 'x'] })
})

t.test("LiteLLM's guardrail API is supported", async t => {
  for (const [answer, verdict] of [
    [{ action: 'NONE' }, {}],
    [{ action: 'BLOCKED', blocked_reason: 'bad' }, { refusal: 'bad' }],
    [{ action: 'BLOCKED', blocked_reason: null }, { refusal: '' }],
    [{ action: 'GUARDRAIL_INTERVENED', texts: ['x', 'y'] }, { texts: ['x', 'y'] }]
  ] as const) {
    const { url, requests } = await service(t, json(answer))
    t.same(await inspect(t, `${url}/beta/litellm_basic_guardrail_api`, { format: 'litellm' }), verdict)
    t.match(requests[0], {
      path: '/beta/litellm_basic_guardrail_api',
      json: {
        texts: ['a', 'b'],
        input_type: 'request',
        litellm_call_id: 'call-1',
        request_data: { user_api_key_alias: String, user_api_key_team_id: 'default' },
        additional_provider_specific_params: {}
      }
    })
  }
  const { url, requests } = await service(t, json({ action: 'NONE' }))
  await inspect(t, url, { format: 'litellm' }, 5_000, [{ text: 'a', point: 'tool_call' }])
  t.match(requests[0]?.json, { input_type: 'response' })
})

t.test('an invalid answer counts as unavailable', async t => {
  for (const [format, answer] of [
    ['headgate', []],
    ['headgate', 'text'],
    ['headgate', { texts: 'a' }],
    ['headgate', { refuse: true }],
    ['headgate', { findings: -1 }],
    ['headgate', { findings: 'two' }],
    ['litellm', {}],
    ['litellm', { action: 'ALLOW' }],
    ['litellm', { action: 'GUARDRAIL_INTERVENED' }]
  ] as const) {
    await t.rejects(
      inspect(t, (await service(t, json(answer))).url, { format }),
      TypeError,
      JSON.stringify(answer)
    )
  }
  const { url, requests } = await service(t, {
    headers: { 'content-type': 'application/json' },
    pieces: ['{"texts":']
  })
  await t.rejects(inspect(t, url, { retries: 3 }), SyntaxError)
  t.equal(requests.length, 1, 'nonsense is not requested again')
})

t.test('a service that is down or overloaded is retried, other failures are not', async t => {
  const answers = [json({}, 503), json({}, 429), json({ refuse: 'at last' })]
  const { url, requests } = await service(t, (_request, number) => answers[number] ?? json({}))
  t.same(await inspect(t, url, { retries: 2 }), { refusal: 'at last' })
  t.equal(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 1, 'each try has the same id')
  const down = await service(t, json({}, 500))
  await t.rejects(inspect(t, down.url), { message: 'the service answered with status 500' })
  t.equal(down.requests.length, 2, 'once again by default')
  const wrong = await service(t, json({}, 401))
  await t.rejects(inspect(t, wrong.url), { message: 'the service answered with status 401' })
  t.equal(wrong.requests.length, 1)
  const resets = await service(t, (_request, number) =>
    number === 0 ? { pieces: ['{'], then: 'reset' } : json({})
  )
  t.same(await inspect(t, resets.url), {})
  await t.rejects(inspect(t, closedUrl), { code: 'upstream_unreachable' })
})

t.test('a redirect is not followed', async t => {
  const other = await service(t, json({}))
  const { url } = await service(t, { status: 307, headers: { location: other.url } })
  await t.rejects(inspect(t, url), { message: 'the service answered with status 307' })
  t.equal(other.requests.length, 0)
})

t.test('a service may have an internal address, as configured tool servers may', async t => {
  const guardService = await service(t, json({}))
  const tools = await startToolServer(t)
  const provider = await service(t, (_request, number) => ({
    pieces: [number === 0 ? toolCallAnswer('echo', { text: 'hi' }) : chatAnswer('ok')]
  }))
  const api = await testGateway(t, {
    providers: [chatUpstreamAt(provider.url)],
    toolServers: [{ slug: 'acme/tools', url: tools.url, args: [], env: {}, headers: {}, shared: false }],
    tools: { ...settings().tools, callMs: 10_000, loopMs: 20_000, allowedHosts: [] },
    guards: [{ name: 'mine', use: 'webhook', at: ['request'], url: guardService.url }]
  })
  const ask = async (server: string): Promise<string> => {
    const messages = [{ role: 'user', content: 'hi' }]
    const body = { model: 'openai/m', messages, mcp_servers: [server] }
    return await (await api.post('/v1/chat/completions', body)).text()
  }
  t.notMatch(await ask('acme/tools'), 'is not public')
  t.equal(tools.counts['tool echo'], 1)
  t.match(await ask(tools.url), 'The address of the tool server is not public.')
  t.equal(guardService.requests.length, 2, 'it inspects both calls')
})

t.test('findings of a service that lets the text pass are in the log', async t => {
  const { url } = await service(t, json({ findings: 2 }))
  const provider = await service(t, { pieces: [chatAnswer('ok')] })
  const api = await testGateway(t, {
    providers: [chatUpstreamAt(provider.url)],
    guards: [{ name: 'mine', use: 'webhook', at: ['request'], action: 'report', url }]
  })
  const messages = [{ role: 'user', content: 'hi' }]
  await (await api.post('/v1/chat/completions', { model: 'openai/m', messages })).text()
  const line = (): unknown => api.lines.find(({ msg }) => msg === 'call')
  await until(() => line() !== undefined, 'the line')
  t.match(line(), { findings: [{ stage: 'mine', point: 'request', action: 'report', count: 2 }] })
})

t.test('oversized texts are not sent, and oversized answers are not read', async t => {
  const huge = await service(t, {
    headers: { 'content-type': 'application/json' },
    pieces: (async function* () {
      for (;;) yield ' '.repeat(64 * 1024)
    })()
  })
  await t.rejects(inspect(t, huge.url, { maxBytes: 100_000, retries: 3 }), {
    code: 'upstream_invalid_response'
  })
  t.equal(huge.requests.length, 1, 'another answer would be no smaller')
  const { url, requests } = await service(t, json({}))
  const texts: TextAtPoint[] = [{ text: 'x'.repeat(1024), point: 'request' }]
  await t.rejects(inspect(t, url, { maxBytes: 1024 }, 5_000, texts), { message: /more than `max_bytes`/ })
  t.equal(requests.length, 0)
})

t.test('long texts are printed in slices', async t => {
  const { url, requests } = await service(t, json({}))
  const texts: TextAtPoint[] = [{ text: 'x'.repeat(4_000_000), point: 'request' }]
  const turns = await ticksDuring(async () => {
    await t.rejects(inspect(t, url, { maxBytes: 3_000_000 }, 5_000, texts), {
      message: /more than `max_bytes`/
    })
  })
  t.ok(turns > 20, `${turns} turns`)
  t.equal(requests.length, 0)
})

t.test('a slow service is abandoned at its timeout', async t => {
  for (const script of [
    { silent: true },
    { headers: { 'content-type': 'application/json' }, pieces: ['{'], then: 'stall' }
  ] as const) {
    const { url, request } = await service(t, script)
    await t.rejects(inspect(t, url, {}, 50))
    await (await request(0)).aborted
  }
})

const { HEADGATE_TEST_LITELLM: python = '' } = process.env
const genericPath = '/beta/litellm_basic_guardrail_api'

interface Guarded {
  readonly texts: readonly string[]
  readonly input_type: unknown
  readonly model: unknown
  readonly litellm_call_id: unknown
  readonly request_data: object
  readonly additional_provider_specific_params: unknown
  readonly tool_calls?: readonly ToolCall[] | null
}

interface ToolCall {
  readonly function: { readonly arguments: string }
}

interface Answer {
  readonly choices?: ReadonlyArray<{
    readonly message: { readonly content: string, readonly tool_calls?: readonly ToolCall[] }
  }>
  readonly error?: { readonly message: string }
}

interface Effect {
  /** The messages that the provider received. */
  readonly provided: readonly unknown[]
  readonly status: number
  readonly content: unknown
  readonly arguments: unknown
}

interface Outcome {
  readonly inspections: readonly SeenRequest[]
  readonly effect: Effect
  readonly reason: string
}

const documentedData = new Set([
  'user_api_key_hash',
  'user_api_key_alias',
  'user_api_key_user_id',
  'user_api_key_user_email',
  'user_api_key_team_id',
  'user_api_key_team_alias',
  'user_api_key_end_user_id',
  'user_api_key_org_id'
])

/** Refuses what the documented server would refuse, texts with `Atlantis`, and masks `Alice`. */
function guard ({ method, path, headers, json: body }: SeenRequest): Script {
  if (method !== 'POST' || path !== genericPath) return json({}, 404)
  if (headers['x-api-key'] !== 'guard-key') return json({}, 401)
  const { texts, input_type: type, request_data: data, ...other } = body as Guarded
  const isDocumented =
    Array.isArray(texts) && texts.every(text => typeof text === 'string') &&
    (type === 'request' || type === 'response') &&
    isObject(data) && isObject(other.additional_provider_specific_params)
  if (!isDocumented) return json({ detail: 'not of the documented form' }, 422)
  if (texts.some(text => text.includes('Atlantis'))) {
    return json({ action: 'BLOCKED', blocked_reason: 'a secret project' })
  }
  const masked = texts.map(text => text.replaceAll('Alice', '[name]'))
  return json(
    texts.some((text, at) => text !== masked[at])
      ? { action: 'GUARDRAIL_INTERVENED', texts: masked }
      : { action: 'NONE', blocked_reason: null, texts: null }
  )
}

const toolCall = { id: 'call_1', type: 'function', function: { name: 'find', arguments: '{"q":"Bob"}' } }
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const dialogs: ReadonlyArray<{
  readonly name: string
  readonly messages: readonly object[]
  /** The message of the provider. */
  readonly answer: object
  readonly effect: Partial<Effect>
}> = [
  {
    name: 'nothing found',
    messages: [{ role: 'user', content: 'Hello' }],
    answer: { content: 'Hi' },
    effect: { status: 200, content: 'Hi' }
  },
  {
    name: 'a conversation with tools and an image',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Who is it?' }, image, { type: 'text', text: 'Say.' }]
      },
      { role: 'assistant', tool_calls: [toolCall] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Alice and Bob' }
    ],
    answer: { content: 'It is Alice.' },
    effect: { status: 200, content: 'It is [name].' }
  },
  {
    name: 'a refused request',
    messages: [{ role: 'user', content: 'Project Atlantis' }],
    answer: { content: 'Hi' },
    effect: { status: 400, provided: [] }
  },
  {
    name: 'a refused answer',
    messages: [{ role: 'user', content: 'Hello' }],
    answer: { content: 'Project Atlantis' },
    effect: { status: 400, content: undefined }
  },
  {
    name: 'a masked request',
    messages: [
      { role: 'user', content: 'I am Alice. Alice!' },
      { role: 'user', content: 'Hello' }
    ],
    answer: { content: 'Hi' },
    effect: {
      status: 200,
      provided: [[
        { role: 'user', content: 'I am [name]. [name]!' },
        { role: 'user', content: 'Hello' }
      ]]
    }
  },
  {
    name: 'an answer with text and a call of a tool',
    messages: [{ role: 'user', content: 'Find Bob' }],
    answer: { content: 'I look for Alice.', tool_calls: [toolCall] },
    effect: { status: 200, content: 'I look for [name].', arguments: ['{"q":"Bob"}'] }
  }
]

t.test(
  'a service written for LiteLLM gets the same requests from its proxy and from Headgate',
  {
    skip: python === '' && 'HEADGATE_TEST_LITELLM is no Python with litellm[proxy]',
    timeout: 240_000
  },
  async t => {
    const params = { threshold: 0.5 }
    let answer: object = {}
    const guardService = await service(t, guard)
    const provider = await service(t, () => json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', ...answer } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    }))
    const litellm = await startLitellm(t, python, {
      model_list: [{
        model_name: 'openai/m',
        litellm_params: { model: 'openai/m', api_key: 'key', api_base: provider.url }
      }],
      guardrails: [{
        guardrail_name: 'guard',
        litellm_params: {
          guardrail: 'generic_guardrail_api',
          mode: ['pre_call', 'post_call'],
          default_on: true,
          api_base: guardService.url,
          api_key: 'guard-key',
          additional_provider_specific_params: params
        }
      }]
    })
    const headgate = await testGateway(t, {
      providers: [chatUpstreamAt(provider.url)],
      guards: [{
        name: 'guard',
        use: 'webhook',
        format: 'litellm',
        at: ['request', 'tool_result', 'answer'],
        url: guardService.url + genericPath,
        headers: { 'x-api-key': new Secret('guard-key') },
        options: params
      }]
    })

    async function call (url: string, key: string, messages: readonly object[]): Promise<Outcome> {
      const [guarded, provided] = [guardService.requests.length, provider.requests.length]
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'openai/m', messages })
      })
      const { choices, error } = await response.json() as Answer
      return {
        inspections: guardService.requests.slice(guarded),
        effect: {
          // Both may list its models too.
          provided: provider.requests
            .slice(provided)
            .filter(({ path }) => path.endsWith('/chat/completions'))
            .map(({ json: body }) => objectOf(body)?.['messages']),
          status: response.status,
          content: choices?.[0]?.message.content,
          arguments: choices?.[0]?.message.tool_calls?.map(({ function: { arguments: given } }) => given)
        },
        reason: error?.message ?? ''
      }
    }

    for (const { name, messages, answer: given, effect } of dialogs) {
      answer = given
      const theirs = await call(litellm.url, litellm.key, messages)
      const ours = await call(headgate.url, testKey, messages)
      t.match(ours.effect, effect, name)
      t.same(ours.effect, theirs.effect, `${name}: the same effect`)
      if (ours.effect.status !== 200) {
        t.match(theirs.reason, 'a secret project')
        t.match(ours.reason, 'a secret project', `${name}: the caller reads the reason`)
      }
      t.equal(ours.inspections.length, theirs.inspections.length, `${name}: as many inspections`)
      for (const [at, their] of theirs.inspections.entries()) {
        const our = ours.inspections[at]
        t.same(our && sharedFields(our), sharedFields(their), `${name}: inspection ${at}`)
        t.ok(guarded(our).litellm_call_id)
        const data = Object.keys(guarded(our).request_data)
        t.ok(data.includes('user_api_key_hash') && data.every(field => documentedData.has(field)), name)
      }
      t.equal(new Set(ours.inspections.map(one => guarded(one).litellm_call_id)).size, 1, 'one call, one id')
    }
  }
)

/** Returns what both send: LiteLLM has tool arguments in `tool_calls`, Headgate among the texts. */
function sharedFields (request: SeenRequest): object {
  const {
    texts,
    input_type: type,
    model,
    additional_provider_specific_params: params,
    tool_calls: calls
  } = guarded(request)
  const strings = (calls ?? []).flatMap(({ function: { arguments: given } }) =>
    Object.values(JSON.parse(given) as Record<string, string>)
  )
  return {
    method: request.method,
    path: request.path,
    contentType: request.headers['content-type'],
    key: request.headers['x-api-key'],
    texts: [...texts, ...strings].toSorted(),
    type,
    params,
    // LiteLLM sends the provider's name once there is an answer.
    model: type === 'request' && model
  }
}

function guarded (request: SeenRequest | undefined): Guarded {
  return request?.json as Guarded // the service checked it
}

t.test("one key's calls queue behind each other, not behind those of another key", async t => {
  const answer: Array<() => void> = []
  const { url, requests, request } = await service(t, async () => {
    await new Promise<void>(resolve => { answer.push(resolve) })
    return json({})
  })
  const judge = openWebhook({ name: 'mine', use: 'webhook', at: ['request'], url })
  t.teardown(async () => await judge.close?.())
  const ending = new AbortController()
  const lookAs = async (id: string): Promise<Verdict> =>
    await judge.inspect(texts, { call: routedCall({}, { key: { id, name: id } }), signal: ending.signal })
  const many = Promise.allSettled(Array.from({ length: 100 }, async () => await lookAs('key-one')))
  await request(63) // as many as the service gets at once
  const other = Promise.allSettled([lookAs('key-two')])
  for (const number of [64, 65]) {
    answer[number - 64]?.()
    await request(number)
  }
  t.ok(requests.slice(64, 66).some(({ text }) => text.includes('key-two')), 'it is one of the next two')
  ending.abort(new Error('the test is over'))
  await Promise.all([many, other])
})
