/**
 * A conversation of three turns with thinking and tools, for clients of every dialect, and its providers: a
 * third-party fake plays OpenAI, Anthropic, Gemini, Mistral and xAI.
 */

import { LLMock } from '@copilotkit/aimock'
import { strictProviders } from './strict-providers.ts'
import { upstreamAt, type TestGateway } from './gateway.ts'
import { storingGateway } from './storing-gateway.ts'
import { eventStream, fakeUpstream, type FakeUpstream } from './upstream.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import t, { type Test } from 'tap'

export interface WeatherConversation {
  readonly api: TestGateway
  readonly model: string
  /** The number of calls in each turn. */
  readonly calls: readonly number[]
  /** True if callers of chat completions see signatures. */
  readonly signed: boolean
}

/** The sandbox gets directives for its calls; the fakes need none. */
export const question =
  'use get_weather with {"city":"Paris"} and get_time with {"city":"Paris"} [sandbox: rounds=2]'

/** The functions of the caller, independent of dialect. */
export const functions = ['get_weather', 'get_time'].map(name => ({
  name,
  description: `Look up: ${name}`,
  parameters: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false
  }
}))

/** Returns the result of one of the caller's functions. */
export function resultOf (name: string): string {
  return name === 'get_time' ? 'noon' : 'sunny'
}

/** The sandbox, without delays. */
export const sandbox: ProviderSettings = {
  ...upstreamAt('sandbox:', 'sandbox', 'sandbox'),
  options: { words_per_second: 0 }
}

const calls = [2, 1, 0]

const providers: Readonly<
  Record<string, Omit<WeatherConversation, 'api'> & { settings: (url: string) => ProviderSettings }>
> = {
  openai: { model: 'openai/gpt-5', calls, signed: false, settings: url => upstreamAt(`${url}/v1`) },
  anthropic: {
    model: 'anthropic/claude-sonnet-4-5',
    calls,
    signed: true,
    settings: url => upstreamAt(url, 'anthropic', 'anthropic')
  },
  google: {
    model: 'google/gemini-2.5-pro',
    calls,
    signed: false,
    settings: url => upstreamAt(url, 'google', 'google')
  },
  mistral: {
    model: 'mistral/magistral-medium-latest',
    calls,
    signed: false,
    settings: url => upstreamAt(`${url}/v1`, 'mistral', 'mistral')
  },
  xai: { model: 'xai/grok-4', calls, signed: false, settings: url => upstreamAt(`${url}/v1`, 'xai', 'xai') },
  sandbox: { model: 'sandbox/thinker', calls: [2, 2, 0], signed: false, settings: () => sandbox }
}

const weatherProviders: readonly string[] = Object.keys(providers)

interface SentRequest { readonly messages: ReadonlyArray<{ readonly role: string }> }

const results = ({ messages }: SentRequest): number => messages.filter(({ role }) => role === 'tool').length

/** Starts a gateway in front of one of `weatherProviders`. */
export async function weatherGateway (t: Test, name: string): Promise<WeatherConversation> {
  const chosen = providers[name]
  if (chosen === undefined) throw new Error(name)
  const mock = new LLMock({ port: 0 })
  const thought = { reasoning: 'I should look that up.', reasoningSignature: 'c2lnbmVkLWJ5LXRoZS1tb2RlbA==' }
  mock.on(
    { predicate: request => results(request) === 0 },
    { ...thought, toolCalls: functions.map(({ name }) => ({ name, arguments: '{"city":"Paris"}' })) }
  )
  mock.on(
    { predicate: request => results(request) === 2 },
    { ...thought, toolCalls: [{ name: 'get_weather', arguments: '{"city":"Rome"}' }] }
  )
  mock.on(
    { predicate: request => results(request) > 2 },
    { content: 'Paris is sunny at noon; Rome is cloudy.' }
  )
  await mock.start()
  t.teardown(async () => await mock.stop())
  return { ...chosen, api: await storingGateway(t, { providers: [chosen.settings(mock.url)] }) }
}

export const strictNames = ['anthropic', 'google'] as const

/** Starts a gateway in front of a provider that refuses a history whose thinking lacks its signatures. */
export async function strictWeatherGateway (
  t: Test,
  name: (typeof strictNames)[number]
): Promise<WeatherConversation & { readonly upstream: FakeUpstream }> {
  const { model, signed, see, answer, stream } = strictProviders[name]
  const upstream = await fakeUpstream(({ json, path }) => {
    const { results, intact } = see(Object(json) as Record<string, unknown>)
    if (!intact) {
      return {
        status: 400,
        pieces: ['{"error":{"type":"invalid_request_error","message":"a signature is missing"}}']
      }
    }
    // two results after the first turn, a third after the second
    const at = results === 0 ? 0 : results === 2 ? 1 : 2
    const streamed = path.includes('stream') || Reflect.get(Object(json), 'stream') === true
    return streamed
      ? {
          headers: eventStream,
          pieces: stream(at).map(
            event => `event: ${String(Reflect.get(event, 'type'))}\ndata: ${JSON.stringify(event)}\n\n`
          )
        }
      : { pieces: [JSON.stringify(answer(at))] }
  })
  t.teardown(upstream.close)
  return {
    model,
    signed,
    calls,
    upstream,
    api: await storingGateway(t, { providers: [upstreamAt(upstream.url, name, name)] })
  }
}

/**
 * Declares the tests of a client: its conversations with each provider, and with those that refuse a history
 * whose thinking lacks its signatures.
 * @param turns of `converse` in all; without them there are no tests of the second kind
 */
export function testConversations (
  converse: (t: Test, conversation: WeatherConversation) => Promise<void>,
  turns?: number
): void {
  for (const name of weatherProviders) {
    t.test(`three turns with tools and thinking: ${name}`, async t => {
      await converse(t, await weatherGateway(t, name))
    })
  }
  for (const name of turns === undefined ? [] : strictNames) {
    t.test(`thoughts come back with their signatures, or this provider refuses: ${name}`, async t => {
      const conversation = await strictWeatherGateway(t, name)
      await converse(t, conversation)
      t.equal(conversation.upstream.requests.length, turns, 'every turn of every conversation was served')
    })
  }
}
