/**
 * A conversation of three turns with thinking and tools, held by the official clients through the
 * gateway with each provider. OpenAI, Anthropic and Gemini are played by a fake that others wrote.
 */

import { LLMock } from '@copilotkit/aimock'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { strictProviders } from '../support/strict-providers.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const tools = ['get_weather', 'get_time'].map(name => ({
  type: 'function' as const,
  function: {
    name,
    description: `Look up: ${name}`,
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
  }
}))

const models: Readonly<Record<string, { model: string, signed: boolean, settings: (url: string) => ProviderSettings }>> = {
  openai: { model: 'openai/gpt-5', signed: false, settings: url => upstreamAt(`${url}/v1`) },
  anthropic: { model: 'anthropic/claude-sonnet-4-5', signed: true, settings: url => upstreamAt(url, 'anthropic', 'anthropic') },
  google: { model: 'google/gemini-2.5-pro', signed: false, settings: url => upstreamAt(url, 'google', 'google') },
  xai: { model: 'xai/grok-4', signed: false, settings: url => upstreamAt(`${url}/v1`, 'xai', 'xai') },
  sandbox: { model: 'sandbox/thinker', signed: false, settings: () => ({ ...upstreamAt('sandbox:', 'sandbox', 'sandbox'), options: { words_per_second: 0 } }) }
}

type DedalusMessages = NonNullable<Dedalus.Chat.CompletionCreateParams['messages']>

interface SentRequest { readonly messages: ReadonlyArray<{ readonly role: string }> }

const results = ({ messages }: SentRequest): number => messages.filter(({ role }) => role === 'tool').length

async function start (t: Test, name: string): Promise<{ api: TestGateway, model: string, signed: boolean }> {
  const mock = new LLMock({ port: 0 })
  const thought = { reasoning: 'I should look that up.', reasoningSignature: 'c2lnbmVkLWJ5LXRoZS1tb2RlbA==' }
  mock.on({ predicate: request => results(request) === 0 }, { ...thought, toolCalls: [{ name: 'get_weather', arguments: '{"city":"Paris"}' }, { name: 'get_time', arguments: '{"city":"Paris"}' }] })
  mock.on({ predicate: request => results(request) === 2 }, { ...thought, toolCalls: [{ name: 'get_weather', arguments: '{"city":"Rome"}' }] })
  mock.on({ predicate: request => results(request) > 2 }, { content: 'Paris is sunny at noon; Rome is cloudy.' })
  await mock.start()
  t.teardown(async () => await mock.stop())
  const chosen = models[name]
  if (chosen === undefined) throw new Error(name)
  return { api: await testGateway(t, { providers: [chosen.settings(mock.url)] }), ...chosen }
}

/** The sandbox gets directives for what to call; the fake knows by itself. */
const question = 'use get_weather with {"city":"Paris"} and get_time with {"city":"Paris"} [sandbox: rounds=2]'

const answers: Readonly<Record<string, string>> = { get_weather: 'sunny', get_time: 'noon' }

interface TurnCall { readonly id: string, readonly function: { readonly name: string, readonly arguments: string } }

/** Runs the conversation: `ask` gives the message of one turn, with everything the answer said. */
async function converse (
  t: Test, ask: (messages: object[]) => Promise<Record<string, unknown>>, signed: boolean
): Promise<void> {
  const messages: object[] = [{ role: 'user', content: question }]
  const seen: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const message = await ask(messages)
    const calls = (message['tool_calls'] ?? []) as TurnCall[]
    seen.push(calls.length)
    messages.push(message)
    if (calls.length === 0) {
      t.match(message['content'], /\w+/)
      break
    }
    if (turn === 0) t.match(message['reasoning_content'], /\w+/, 'the thinking is shown')
    if (turn === 0 && signed) t.match(message['thinking_blocks'], [{ type: 'thinking', signature: /^c2ln/ }], 'and its signature')
    for (const call of calls) {
      t.match(JSON.parse(call.function.arguments), { city: String })
      messages.push({ role: 'tool', tool_call_id: call.id, content: answers[call.function.name] })
    }
  }
  t.equal(seen.length, 3, `three turns: ${seen.join(', ')} calls`)
  t.equal(seen[0], 2, 'two calls at once')
}

/** The stream of an answer as its message: what a client that keeps everything would have. */
async function gather (stream: AsyncIterable<unknown>): Promise<Record<string, unknown>> {
  const message: Record<string, unknown> = { role: 'assistant', content: null }
  const calls: Array<Record<string, unknown> & { function: { name: string, arguments: string } }> = []
  const blocks: unknown[] = []
  for await (const chunk of stream) {
    const delta = (chunk as { choices: Array<{ delta: Record<string, unknown> }> }).choices[0]?.delta ?? {}
    for (const key of ['content', 'reasoning_content']) {
      if (typeof delta[key] === 'string' && delta[key] !== '') message[key] = `${(message[key] ?? '') as string}${delta[key]}`
    }
    blocks.push(...(delta['thinking_blocks'] ?? []) as unknown[])
    for (const piece of (delta['tool_calls'] ?? []) as Array<{ index: number, function?: { arguments?: string } }>) {
      const { index, ...call } = piece
      const known = calls[index]
      if (known === undefined) calls[index] = call as typeof calls[number]
      else known.function.arguments += piece.function?.arguments ?? ''
    }
  }
  if (calls.length > 0) message['tool_calls'] = calls
  if (blocks.length > 0) message['thinking_blocks'] = blocks
  return message
}

/** Holds the conversation with each official client, complete and streamed. */
async function converseInEveryWay (t: Test, { api, model, signed }: { api: TestGateway, model: string, signed: boolean }): Promise<void> {
  const openai = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: testKey, maxRetries: 0 })
  const dedalus = new Dedalus({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
  // Messages come back as the gateway gave them, unknown fields included.
  const asOpenAi = (messages: object[]): OpenAI.ChatCompletionMessageParam[] => messages as OpenAI.ChatCompletionMessageParam[]
  const asDedalus = (messages: object[]): DedalusMessages => messages as DedalusMessages
  const common = { model, tools, reasoning_effort: 'low' as const }

  await t.test('openai, complete', async t => await converse(t, async messages =>
    ({ ...(await openai.chat.completions.create({ ...common, messages: asOpenAi(messages) })).choices[0]?.message }), signed))
  await t.test('openai, streamed', async t => await converse(t, async messages =>
    await gather(await openai.chat.completions.create({ ...common, messages: asOpenAi(messages), stream: true })), signed))
  await t.test('dedalus, complete', async t => await converse(t, async messages =>
    ({ ...(await dedalus.chat.completions.create({ ...common, messages: asDedalus(messages) })).choices[0]?.message }), signed))
  await t.test('dedalus, streamed', async t => await converse(t, async messages =>
    await gather(await dedalus.chat.completions.create({ ...common, messages: asDedalus(messages), stream: true })), signed))
}

for (const name of Object.keys(models)) {
  t.test(`three turns with tools and thinking: ${name}`, async t => { await converseInEveryWay(t, await start(t, name)) })
}

for (const name of ['anthropic', 'google'] as const) {
  t.test(`thoughts come back with their signatures, or this provider refuses: ${name}`, async t => {
    const { model, signed, see, answer, stream } = strictProviders[name]
    const upstream = await fakeUpstream(({ json, path }) => {
      const { results, intact } = see(Object(json) as Record<string, unknown>)
      if (!intact) return { status: 400, pieces: ['{"error":{"type":"invalid_request_error","message":"a signature is missing"}}'] }
      const at = results === 0 ? 0 : results === 2 ? 1 : 2 // two results after the first turn, a third after the second
      const streamed = path.includes('stream') || Reflect.get(Object(json), 'stream') === true
      return streamed
        ? { headers: eventStream, pieces: stream(at).map(event => `event: ${String(Reflect.get(event, 'type'))}\ndata: ${JSON.stringify(event)}\n\n`) }
        : { pieces: [JSON.stringify(answer(at))] }
    })
    t.teardown(upstream.close)
    const api = await testGateway(t, { providers: [upstreamAt(upstream.url, name, name)] })
    await converseInEveryWay(t, { api, model, signed })
    t.equal(upstream.requests.length, 12, 'every turn of every conversation was answered')
  })
}
