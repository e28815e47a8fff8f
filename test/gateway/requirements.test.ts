/** Chooses one of several models for a call, by what the call needs and what its caller wants. */

import t, { type Test } from 'tap'
import { chatAnswer, completionOf, fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { modelSettings } from '../support/settings.ts'
import type { RouteDecision } from '../../schemas/route-decision.ts'

const path = '/v1/chat/completions'
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
const tool = { type: 'function', function: { name: 'look' } }
const schema = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } }
const withPart = (part: object) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }, part] }]
})

interface Choosing {
  readonly ask: (
    body: object,
    headers?: Record<string, string>
  ) => Promise<{ status: number, route: string | null, body: Record<string, unknown> }>
  readonly decide: (body: object, headers?: Record<string, string>) => Promise<RouteDecision>
  readonly small: FakeUpstream
}

/** A model with few capabilities at a price of 1, one with all at 4, and an unknown one. */
async function start (t: Test): Promise<Choosing> {
  const small = await fakeUpstream({ pieces: [chatAnswer('small')] })
  const large = await fakeUpstream({ pieces: [chatAnswer('large')] })
  t.teardown(small.close)
  t.teardown(large.close)
  const nothing = {
    vision: false,
    tools: false,
    audio: false,
    structured_output: false,
    input_token_limit: 1000
  }
  const everything = {
    vision: true,
    tools: true,
    audio: true,
    structured_output: true,
    input_token_limit: 1_000_000
  }
  const { post } = await testGateway(
    t,
    {
      providers: [
        upstreamAt(`${small.url}/v1`, 'small', 'openai-compatible'),
        upstreamAt(`${large.url}/v1`, 'large', 'openai-compatible')
      ],
      models: [
        modelSettings('small/m', { capabilities: nothing, price: { input: 1, output: 1 } }),
        modelSettings('small/other', { capabilities: { vision: false } }),
        modelSettings('large/m', { capabilities: everything, price: { input: 4, output: 4 } })
      ]
    },
    { limited: { id: 'key-2', name: 'limited', limits: { budget: { usd: 1, per: 'day' } } } }
  )
  return {
    small,
    ask: async (body, headers = {}) => {
      const response = await post(
        path,
        { messages: 'hi', model: ['small/m', 'large/m'], ...body },
        { headers }
      )
      return {
        status: response.status,
        route: response.headers.get('x-headgate-route'),
        body: (await response.json()) as Record<string, unknown>
      }
    },
    decide: async (body, headers = {}) => {
      const dry = { ...headers, 'x-headgate-dry-run': 'true' }
      const response = await post(
        path,
        { messages: 'hi', model: ['small/m', 'large/m'], ...body },
        { headers: dry }
      )
      return (await response.json()) as RouteDecision
    }
  }
}

t.test('a model known to lack what a call needs is skipped, and the answer says so', async t => {
  const { ask, decide, small } = await start(t)
  t.match(await ask({}), { route: 'small/m: first_choice' }, 'a call without special needs')
  for (const [needs, why] of [
    [withPart(picture), 'lacks_vision'],
    [withPart(sound), 'lacks_audio'],
    [{ tools: [tool] }, 'lacks_tools'],
    [{ response_format: schema }, 'lacks_structured_output'],
    [{ messages: 'word '.repeat(2000) }, 'prompt_too_long']
  ] as const) {
    t.match(await ask(needs), { status: 200, route: `small/m: ${why}; large/m: first_choice` }, why)
    t.match(
      (await decide(needs)).candidates,
      [
        { rank: 1, model: 'large/m', state: 'ready', reason: 'first_choice' },
        { rank: 2, model: 'small/m', state: 'unsuitable', reason: why }
      ],
      `${why} in a dry run`
    )
    t.match(
      await ask({ ...needs, model: 'small/m' }),
      { status: 200, route: null },
      'a single model is called anyway'
    )
    t.match(
      await ask({ ...needs, model: ['small/m', 'small/unknown'] }),
      { route: `small/m: ${why}; small/unknown: first_choice` },
      'an unknown capability does not exclude a model'
    )
  }
  t.equal(small.requests.length, 11)
  const needs = withPart(picture)
  t.match(
    await ask({ ...needs, model: ['small/m', 'small/m'] }),
    { status: 200, route: null },
    'a list with a single model'
  )
})

t.test('if no model is known to fit, all are tried in the given order', async t => {
  const { ask } = await start(t)
  t.match(await ask({ ...withPart(picture), model: ['small/m', 'small/other'] }), {
    status: 200,
    route: 'small/m: first_choice'
  })
})

t.test('callers restrict and order the models of a call', async t => {
  const { ask, decide } = await start(t)
  t.match(await ask({}, { 'x-headgate-only': 'large' }), {
    route: 'small/m: not_in_only; large/m: first_choice'
  })
  t.match(await ask({}, { 'x-headgate-only': 'LARGE' }), {
    route: 'small/m: not_in_only; large/m: first_choice'
  })
  t.match(await ask({}, { 'x-headgate-only': 'large/*, other' }), {
    route: 'small/m: not_in_only; large/m: first_choice'
  })
  t.match(await ask({ model: ['large/m', 'small/m'] }, { 'x-headgate-only': 'large' }), {
    route: 'small/m: not_in_only; large/m: first_choice'
  })
  t.match(await ask({}, { 'x-headgate-order': 'large/m' }), { route: 'large/m: caller_order' })
  t.match(await ask({ model: ['large/m', 'small/m'] }, { 'x-headgate-max-price': '2.5' }), {
    route: 'large/m: over_max_price; small/m: first_choice'
  })
  t.match(await ask({ model: ['small/unknown', 'small/m'] }, { 'x-headgate-max-price': '1' }), {
    route: 'small/unknown: price_unknown; small/m: first_choice'
  })
  t.match((await decide({}, { 'x-headgate-order': 'large, small' })).candidates, [
    { model: 'large/m', reason: 'caller_order' }, { model: 'small/m', reason: 'caller_order' }
  ])
})

t.test('with a budget, a model without a price is skipped, and a dry run says so', async t => {
  const { ask, decide } = await start(t)
  const limited = { authorization: 'Bearer limited' }
  const model = ['small/unknown', 'large/m', 'small/m']
  t.match(await ask({ model }), { route: 'small/unknown: first_choice' }, 'a key without a budget')
  t.match(await ask({ model }, limited), {
    status: 200,
    route: 'small/unknown: price_unknown; large/m: first_choice'
  })
  t.match((await decide({ model }, limited)).candidates, [
    { rank: 1, model: 'large/m', state: 'ready', reason: 'first_choice' },
    { rank: 2, model: 'small/m', reason: 'next_choice' },
    { rank: 3, model: 'small/unknown', state: 'unsuitable', reason: 'price_unknown' }
  ])
  const refusal = { error: { code: 'insufficient_permissions', param: 'model' } }
  t.match(await ask({ model: 'small/unknown' }, limited), { status: 403, body: refusal })
  t.match(
    await decide({ model: 'small/unknown' }, limited),
    refusal,
    'a dry run is refused like the call itself'
  )
})

t.test('a dry run shows the parts of a score and the expected cost', async t => {
  const { decide } = await start(t)
  const body = {
    max_completion_tokens: 500,
    messages: 'word '.repeat(400).slice(4),
    agent_attributes: { complexity: 0.5, speed: 0.5 },
    model_attributes: { 'large/m': { intelligence: 0.4 } }
  }
  t.match(
    (await decide(body)).candidates,
    [
      {
        model: 'small/m',
        score: 0.5,
        expected_cost_usd: 0.001,
        terms: [
          { attribute: 'intelligence', required: 0.5, weight: 1, share: 0.25 },
          { attribute: 'speed', required: 0.5, weight: 1, share: 0.25 }
        ]
      },
      {
        model: 'large/m',
        score: 0.65,
        expected_cost_usd: 0.004,
        terms: [
          { attribute: 'intelligence', actual: 0.4, share: 0.4 },
          { attribute: 'speed', share: 0.25 }
        ]
      }
    ].toReversed()
  )
  const unknown = (await decide({ model: ['small/m', 'small/unknown'] })).candidates[1]
  t.notOk(unknown === undefined || 'expected_cost_usd' in unknown, 'without a price there is no cost')
})

t.test('a choice that is invalid or leaves no model is refused, naming its header', async t => {
  const { ask } = await start(t)
  for (const [name, value] of [
    ['X-Headgate-Only', 'openai'],
    ['X-Headgate-Only', ' , '],
    ['X-Headgate-Order', Array(17).fill('a').join()],
    ['X-Headgate-Max-Price', '0.5'],
    ['X-Headgate-Max-Price', 'cheap'],
    ['X-Headgate-Max-Price', '-1']
  ] as const) {
    t.match(
      await ask({}, { [name]: value }),
      { status: 400, body: { error: { code: 'invalid_value', param: name } } },
      `${name}: ${value.slice(0, 20)}`
    )
  }
})

t.test('a history goes to the provider that signed it, unless the caller sets another order', async t => {
  const upstream = await fakeUpstream({ status: 500, pieces: ['{}'] })
  t.teardown(upstream.close)
  const { post } = await testGateway(t, {
    providers: [
      upstreamAt(upstream.url),
      upstreamAt(upstream.url, 'claude', 'anthropic'),
      upstreamAt(upstream.url, 'google', 'google')
    ]
  })
  const order = async (message: object, headers: Record<string, string> = {}): Promise<string[]> => {
    const response = await post(
      path,
      {
        model: ['openai/gpt-5', 'claude/claude-sonnet-4-5', 'google/gemini-2.5-pro'],
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: 'yes', ...message },
          { role: 'user', content: 'go on' }
        ]
      },
      { headers: { 'x-headgate-dry-run': 'true', ...headers } }
    )
    const { candidates } = (await response.json()) as RouteDecision
    return candidates.map(({ provider, reason }) => `${provider} ${reason}`)
  }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  t.same(await order({}), ['openai first_choice', 'claude next_choice', 'google next_choice'])
  const thinking = { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'abc' }] }
  t.same(await order(thinking), ['claude wrote_history', 'openai next_choice', 'google next_choice'])
  t.same(
    await order({ thinking_blocks: [{ type: 'thinking', thinking: 'hm' }] }),
    ['openai first_choice', 'claude next_choice', 'google next_choice'],
    'unsigned thinking does not choose a model'
  )
  t.same(
    await order({ tool_calls: [{ ...call, extra_content: { google: { thought_signature: 'abc' } } }] }),
    ['google wrote_history', 'openai next_choice', 'claude next_choice']
  )
  t.same(await order(thinking, { 'x-headgate-order': 'openai' }), [
    'openai caller_order',
    'claude wrote_history',
    'google next_choice'
  ])
})

t.test('audio from an earlier answer goes back to the kind of provider that stores it', async t => {
  const { url, close } = await fakeUpstream({ status: 500, pieces: ['{}'] })
  t.teardown(close)
  const { post } = await testGateway(t, {
    providers: [upstreamAt(url, 'google', 'google'), upstreamAt(url)]
  })
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', audio: { id: 'audio_1' } },
    { role: 'user', content: 'go on' }
  ]
  const decision = await post(
    path,
    { model: ['google/gemini-2.5-pro', 'openai/gpt-5'], messages },
    { headers: { 'x-headgate-dry-run': 'true' } }
  )
  t.match(((await decision.json()) as RouteDecision).candidates, [
    { provider: 'openai', reason: 'wrote_history' },
    { provider: 'google' }
  ])
})

t.test('tool results go back to the provider that made the calls, also after a reload', async t => {
  let broken = true
  const calls = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_of_two', type: 'function', function: { name: 'look', arguments: '{}' } }]
  }
  const one = await fakeUpstream(() =>
    broken ? { status: 500, pieces: ['{}'] } : { pieces: [chatAnswer('one')] }
  )
  const two = await fakeUpstream({ pieces: [completionOf(calls, { finishReason: 'tool_calls' })] })
  t.teardown(one.close)
  t.teardown(two.close)
  const { post, gateway } = await testGateway(t, {
    providers: [
      upstreamAt(`${one.url}/v1`, 'one', 'openai-compatible'),
      upstreamAt(`${two.url}/v1`, 'two', 'openai-compatible')
    ]
  })
  const first = { model: ['one/m', 'two/m'], tools: [tool], messages: [{ role: 'user', content: 'hi' }] }
  t.match(await (await post(path, first)).json(), {
    model: 'two/m',
    choices: [{ message: { tool_calls: [{ id: 'call_of_two' }] } }]
  })
  broken = false
  await gateway.reload(gateway.services.settings)
  const result = { role: 'tool', tool_call_id: 'call_of_two', content: 'seen' }
  const routeOf = async (body: object): Promise<string | null> => {
    const response = await post(path, { ...first, ...body })
    await response.text()
    return response.headers.get('x-headgate-route')
  }
  t.equal(await routeOf({ messages: [...first.messages, calls, result] }), 'two/m: wrote_history')
  t.equal(await routeOf({}), 'one/m: first_choice', 'a conversation without them starts at the first')
  const other = { ...calls, tool_calls: [{ ...calls.tool_calls[0], id: 'call_of_none' }] }
  t.equal(
    await routeOf({ messages: [...first.messages, other, { ...result, tool_call_id: 'call_of_none' }] }),
    'one/m: first_choice'
  )
})
