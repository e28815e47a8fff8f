/** Prompt counts from a fake of Gemini's API, and the estimate if it gives none. */

import t from 'tap'
import { AbandonedAnswers } from '../../lib/attempts/abandoned-answers.ts'
import { RoutingState } from '../../lib/routing/routing-state.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { countPrompt, type CountedPrompt } from '../../lib/stages/count-prompt.ts'
import { httpTransport } from '../../lib/client/transport.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { collect, routedCall } from '../support/stages.ts'
import { fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Test } from 'tap'

const asJson = { 'content-type': 'application/json' }
const model = 'google/gemini-2.5-flash'
const message = { model, system: 'Be brief.', messages: [{ role: 'user', content: 'Hello there' }] }

async function gemini (t: Test, script: Script): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  return {
    upstream,
    api: await testGateway(t, {
      providers: [{ ...upstreamAt(upstream.url, 'google', 'google'), retries: 0 }]
    })
  }
}

async function countsOf (api: TestGateway): Promise<unknown> {
  const answers = [
    await api.post('/v1/messages/count_tokens', message),
    await api.post('/v1/responses/input_tokens', { model, instructions: 'Be brief.', input: 'Hello there' })
  ]
  return await Promise.all(
    answers.map(async answer => [
      answer.status,
      answer.headers.get('x-headgate-token-count'),
      ((await answer.json()) as { input_tokens: number }).input_tokens
    ])
  )
}

t.test('Gemini counts the prompts of its own models in both dialects', async t => {
  const { upstream, api } = await gemini(t, {
    headers: asJson,
    pieces: ['{"totalTokens":31,"promptTokensDetails":[]}']
  })
  t.same(await countsOf(api), [
    [200, 'provider', 31],
    [200, 'provider', 31]
  ])
  for (const { path, json } of upstream.requests) {
    t.equal(path, '/v1beta/models/gemini-2.5-flash:countTokens')
    t.same(json, {
      generateContentRequest: {
        model: 'models/gemini-2.5-flash',
        contents: [{ role: 'user', parts: [{ text: 'Hello there' }] }],
        systemInstruction: { parts: [{ text: 'Be brief.' }] }
      }
    })
  }
})

t.test('a failed count is estimated', async t => {
  const failed: ReadonlyArray<readonly [title: string, script: Script]> = [
    ['an error', { status: 500, headers: asJson, pieces: ['{}'] }],
    ['no quota', { status: 429, headers: asJson, pieces: ['{"error":{"status":"RESOURCE_EXHAUSTED"}}'] }],
    ['no count', { headers: asJson, pieces: ['{"error":{"code":400}}'] }]
  ]
  for (const [title, script] of failed) {
    const { upstream, api } = await gemini(t, script)
    t.same(await countsOf(api), [[200, 'estimate', 19], [200, 'estimate', 18]], title)
    t.ok(upstream.requests.length > 0, title)
  }
})

t.test('a count that takes too long is estimated, an abandoned one is not', async t => {
  const upstream = await fakeUpstream({ silent: true })
  t.teardown(upstream.close)
  const transport = httpTransport({ baseUrl: upstream.url, connectMs: 5000 })
  const services = {
    models: createModels(settings(), new Set(['google'])),
    providers: new Map([['google', createProvider(providerSettings('google', 'google'), transport)]]),
    settings: settings(),
    abandonedAnswers: new AbandonedAnswers(),
    routingState: new RoutingState()
  }
  const request: ChatInput = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const routes = [{ providerId: 'google', model: 'gemini-2.5-flash', modelId: model }] as const
  const count = async (signal: AbortSignal): Promise<CountedPrompt[]> =>
    await collect(
      countPrompt(services, {}, () => 7, { maxMs: 20 })(once(routedCall(request, { routes, signal })))
    )
  t.same(await count(new AbortController().signal), [{ id: 'call-1', by: 'estimate', tokens: 7 }])
  await t.rejects(count(AbortSignal.abort(new Error('gone'))), { message: 'gone' })
})

t.test('OpenAI counts input in its own dialect, and everything else is estimated', async t => {
  const upstream = await fakeUpstream((_, number) =>
    number === 0
      ? { headers: asJson, pieces: ['{"object":"response.input_tokens","input_tokens":31}'] }
      : { status: 404, headers: asJson, pieces: ['{}'] }
  )
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [{ ...upstreamAt(`${upstream.url}/v1`), retries: 0 }] })
  const request = {
    model: 'openai/gpt-5',
    input: [{ type: 'of_the_future', x: 1 }],
    tools: [{ type: 'web_search' }],
    text: { verbosity: 'low' }
  }
  const count = async (): Promise<unknown> => {
    const answer = await api.post('/v1/responses/input_tokens', {
      ...request,
      stream: true,
      store: false,
      max_output_tokens: 20,
      include: ['reasoning.encrypted_content']
    })
    return [answer.status, answer.headers.get('x-headgate-token-count'), await answer.json()]
  }
  t.match(await count(), [200, 'provider', { input_tokens: 31 }])
  t.match(upstream.requests, [{ path: '/v1/responses/input_tokens', json: { ...request, model: 'gpt-5' } }])
  t.same(
    Object.keys(Object(upstream.requests[0]?.json) as object).toSorted(),
    Object.keys(request).toSorted()
  )
  t.match(await count(), [200, 'estimate', { input_tokens: Number }], 'by a server without it')
  t.equal(
    (await api.post('/v1/messages/count_tokens', { ...message, model: 'openai/gpt-5' })).headers.get(
      'x-headgate-token-count'
    ),
    'estimate'
  )
  t.equal(upstream.requests.length, 3, 'by a server without it, for callers of any dialect')
})
