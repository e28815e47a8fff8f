/** Targets of a configured route: their settings, and the choice among equal ones. */

import t, { type Test } from 'tap'
import { chatAnswer, fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'
import type { RouteSettings } from '../../lib/core/settings.ts'

const path = '/v1/chat/completions'

interface Two {
  readonly api: TestGateway
  readonly one: FakeUpstream
  readonly two: FakeUpstream
  readonly ask: (body?: object, headers?: Record<string, string>) => Promise<Response>
}

async function start (
  t: Test,
  route: Omit<RouteSettings, 'name' | 'models'>,
  script: (name: string) => Script | Promise<Script> = name => ({ pieces: [chatAnswer(name)] })
): Promise<Two> {
  const one = await fakeUpstream(async () => await script('one'))
  const two = await fakeUpstream(async () => await script('two'))
  t.teardown(one.close)
  t.teardown(two.close)
  const api = await testGateway(t, {
    providers: [
      upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible'),
      upstreamAt(`${two.url}/v1`, 'two', 'openai-compatible')
    ],
    routes: [{ name: 'fast', models: ['one/m', 'two/m'], ...route }]
  })
  return {
    api,
    one,
    two,
    ask: async (body = {}, headers = {}) =>
      await api.post(path, { messages: 'hi', model: 'fast', ...body }, { headers })
  }
}

t.test(
  'settings of a route target are defaults, which the request and its model settings override',
  async t => {
    const { one, two, ask, api } = await start(
      t,
      { defaults: { 'two/m': { temperature: 0.2, top_p: 0.5 } } },
      name => (name === 'one' ? { status: 500, pieces: ['{}'] } : { pieces: [chatAnswer('two')] })
    )
    await ask()
    t.match(one.requests[0]?.json, { temperature: undefined })
    t.match(two.requests[0]?.json, { temperature: 0.2, top_p: 0.5 })
    await ask({ temperature: 1 })
    t.match(two.requests[1]?.json, { temperature: 1, top_p: 0.5 })
    await ask({ model: { model: 'fast', settings: { top_p: 0.9 } } })
    t.match(two.requests[2]?.json, { temperature: 0.2, top_p: 0.9 })
    await ask({ model: 'two/m' })
    t.match(two.requests[3]?.json, { temperature: undefined }, 'they apply only through the route')
    await api.post('/v1/embeddings', { model: 'fast', input: 'x' })
    t.match(two.requests[4]?.json, { temperature: undefined, input: 'x' }, 'and only to chat')
  }
)

t.test('a balanced route picks the model with the least work for its speed', async t => {
  const waiting: Array<() => void> = []
  const { one, two, ask } = await start(t, { strategy: 'balanced' }, async name => {
    await new Promise<void>(resolve => { waiting.push(resolve) })
    return { pieces: [chatAnswer(name)] }
  })
  const calls = Array.from({ length: 4 }, async () => await ask())
  await Promise.all([one.request(1), two.request(1)])
  t.same([one.requests.length, two.requests.length], [2, 2], 'equal models alternate by their open calls')
  const dry = await ask({}, { 'x-headgate-dry-run': 'true' })
  t.match(((await dry.json()) as RouteDecision).candidates, [
    { reason: 'load_ms=unknown' },
    { reason: 'load_ms=unknown' }
  ])
  for (const open of waiting.splice(0)) open()
  for (const call of calls) t.match((await call).headers.get('x-headgate-route'), /m: load_ms=unknown$/)
  const after = await ask({}, { 'x-headgate-dry-run': 'true' })
  t.match(
    ((await after.json()) as RouteDecision).candidates,
    [{ reason: /^load_ms=\d+$/ }, { reason: /^load_ms=\d+$/ }],
    'both have been measured'
  )
})

t.test('a request overrides settings that use another name for the same field', async t => {
  const fields = async (settings: Readonly<Record<string, unknown>>, body: object): Promise<unknown> => {
    const { one, ask } = await start(t, {
      models: ['one/m'],
      defaults: { 'one/m': settings }
    } as Partial<RouteSettings>)
    t.equal((await ask(body)).status, 200)
    return one.requests[0]?.json
  }
  t.match(await fields({ max_completion_tokens: 8000 }, { max_tokens: 50 }), {
    max_tokens: 50,
    max_completion_tokens: undefined
  })
  t.match(await fields({ max_tokens: 8000 }, { max_completion_tokens: 50 }), {
    max_tokens: 50,
    max_completion_tokens: undefined
  })
  t.match(await fields({ max_completion_tokens: 8000 }, {}), { max_tokens: 8000 })
  t.match(
    await fields(
      { max_completion_tokens: 8000 },
      { model: { model: 'fast', settings: { max_tokens: 50 } } }
    ),
    { max_tokens: 50 },
    'settings in the request do too'
  )
  const offered = (name: string) => ({ name, parameters: { type: 'object' } })
  const tools = [{ type: 'function', function: offered('theirs') }]
  t.match(
    await fields(
      { tools, tool_choice: 'required' },
      { functions: [offered('mine')], function_call: 'none' }
    ),
    {
      tools: [{ function: { name: 'mine' } }],
      tool_choice: 'none'
    },
    'the deprecated names of tools'
  )
})

t.test('request fields override a generation_config in the settings', async t => {
  const upstream = await fakeUpstream({
    pieces: [
      JSON.stringify({
        candidates: [{ index: 0, content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }]
      })
    ]
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(upstream.url, 'google', 'google')],
    routes: [
      {
        name: 'fast',
        models: ['google/m'],
        defaults: {
          'google/m': {
            generation_config: { max_output_tokens: 8000, temperature: 0, topP: 0.5, candidateCount: 2 }
          }
        }
      }
    ]
  })
  const config = async (body: object): Promise<unknown> => {
    await (await api.post(path, { model: 'fast', messages: 'hi', ...body })).text()
    return Reflect.get(Object(upstream.requests.at(-1)?.json), 'generationConfig')
  }
  t.same(await config({}), { maxOutputTokens: 8000, temperature: 0, topP: 0.5, candidateCount: 2 })
  t.same(await config({ max_tokens: 50, temperature: 1, n: 1 }), {
    maxOutputTokens: 50,
    temperature: 1,
    topP: 0.5
  })
  t.same(
    await config({ max_tokens: 50, generation_config: { maxOutputTokens: 60 } }),
    { maxOutputTokens: 60 },
    'its own generation_config wins'
  )
})
