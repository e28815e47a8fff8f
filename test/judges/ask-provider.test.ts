import t from 'tap'
import { httpTransport } from '../../lib/client/transport.ts'
import { askProvider, routeOf } from '../../lib/judges/ask-provider.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { chatUpstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream, type Script } from '../support/upstream.ts'
import type { Provider } from '../../lib/providers/provider.ts'
import type { Test } from 'tap'

async function providerThat (t: Test, script: Script): Promise<Provider> {
  const upstream = await fakeUpstream(script)
  const transport = httpTransport({ baseUrl: upstream.url, connections: 1, connectMs: 1000 })
  t.teardown(async () => {
    await transport.close()
    await upstream.close()
  })
  return createProvider(chatUpstreamAt(upstream.url), transport)
}

async function ask (provider: Provider): Promise<string> {
  const { chat } = provider.adapters
  if (chat === undefined) throw new Error('no chat')
  const route = routeOf('openai/org/model')
  const request = { model: 'openai/org/model', messages: [{ role: 'user' as const, content: 'hi' }] }
  const call = { keyId: 'key-1', signal: new AbortController().signal }
  const events = await askProvider(provider, chat, { request, route }, call)
  return events.map(event => event.type === 'text-delta' ? event.text : '').join('')
}

t.test('the name of a model begins with its provider', async t => {
  t.same(routeOf('openai/org/model'), {
    providerId: 'openai',
    modelId: 'openai/org/model',
    model: 'org/model'
  })
})

t.test('the events of a complete answer are returned, and an invalid answer is an error', async t => {
  t.equal(
    await ask(
      await providerThat(t, {
        headers: { 'content-type': 'application/json' },
        pieces: [chatAnswer('there')]
      })
    ),
    'there'
  )
  await t.rejects(ask(await providerThat(t, { status: 500, pieces: ['{}'] })), {
    code: 'upstream_error',
    cause: 'status 500 of openai'
  })
  const headers = { location: 'https://moved.example/v1?a=b' }
  const moved = await providerThat(t, { status: 301, headers })
  await t.rejects(ask(moved), {
    code: 'upstream_error',
    message: /redirect \(301\) to `https:\/\/moved\.example\/v1`: its `base_url`/
  })
  await t.rejects(
    ask(await providerThat(t, { headers: { 'content-type': 'application/json' }, pieces: ['<html>'] })),
    { code: 'upstream_invalid_response', acceptedByProvider: true }
  )
})
