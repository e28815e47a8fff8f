/** Turns of a conversation reach the account that has their prompt in its cache. */

import t from 'tap'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { allRounds } from '../support/rounds.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

interface Message { readonly role: string, readonly content: string }
interface Conversation { readonly messages: Message[], readonly used: string[] }

/** A provider with a prompt cache: a request hits if the messages before its last turn were sent there. */
async function cachingProvider (
  t: Test,
  isLimited: () => boolean = () => false
): Promise<{ readonly upstream: FakeUpstream, readonly hits: () => number }> {
  const known = new Set<string>()
  let hits = 0
  const upstream = await fakeUpstream(({ json }) => {
    if (isLimited()) return { status: 429, headers: { 'retry-after': '60' }, pieces: ['{}'] }
    const { messages } = json as { messages: Message[] }
    if (messages.length > 1 && known.has(JSON.stringify(messages.slice(0, -2)))) hits++
    known.add(JSON.stringify(messages))
    return { pieces: [chatAnswer('ok')] }
  })
  t.teardown(upstream.close)
  return { upstream, hits: () => hits }
}

const [sessions, turns] = [16, allRounds ? 40 : 16]

/**
 * Runs the conversations of agents, each turn over the next of two gateways, of which others take the place
 * half-way. Returns the models of each.
 *
 * @param began is called when all conversations have come to a turn
 */
async function converse (
  t: Test,
  parts: Partial<Settings>,
  urls: readonly FakeUpstream[],
  began: (turn: number) => void = () => undefined
): Promise<string[][]> {
  const quirks = { responsesApi: false }
  const providers = urls.map(({ url }, index) =>
    upstreamAt(`${url}/v1`, `account${index}`, 'openai', { quirks })
  )
  const price = { input: 1, cachedInput: 0.1, output: 1, asOf: '2026-01-01' }
  const models = providers.map(({ id }) => ({ id: `${id}/m`, price, hidden: false }))
  const start = async (): Promise<TestGateway[]> =>
    await Promise.all([0, 1].map(async () => await testGateway(t, { providers, models, ...parts })))
  const [first, later] = [await start(), await start()]
  const conversations = Array.from({ length: sessions }, (_, session): Conversation => ({
    messages: [{ role: 'system', content: `agent ${session}` }],
    used: []
  }))
  for (let turn = 0; turn < turns; turn++) {
    began(turn)
    const api = (turn < turns / 2 ? first : later)[turn % 2]
    await Promise.all(conversations.map(async ({ messages, used }) => {
      messages.push({ role: 'user', content: `turn ${turn}` })
      const answer = await api?.post('/v1/chat/completions', { model: 'shared', messages })
      used.push(answer?.headers.get('x-headgate-model') ?? '')
      await answer?.body?.cancel()
      messages.push({ role: 'assistant', content: 'ok' })
    }))
  }
  return conversations.map(({ used }) => used)
}

t.test('two weighted accounts have the cache hits of one, on two gateways and after a restart', async t => {
  const accounts = [await cachingProvider(t), await cachingProvider(t)]
  const routes: Settings['routes'] = [
    { name: 'shared', models: ['account0/m', 'account1/m'], strategy: 'weighted' }
  ]
  const used = await converse(
    t,
    { routes },
    accounts.map(({ upstream }) => upstream)
  )
  for (const models of used) t.equal(new Set(models).size, 1)
  t.equal(new Set(used.flat()).size, 2, 'both accounts have sessions')
  t.equal(accounts.reduce((sum, { hits }) => sum + hits(), 0), sessions * (turns - 1))
})

t.test('a rate-limited account loses only its own sessions, and gets them back afterwards', async t => {
  let turn = 0
  // a restarted gateway does not know the rate limit
  const isLimited = (): boolean => turn >= turns / 4 && turn < turns / 2
  const accounts = [await cachingProvider(t), await cachingProvider(t, isLimited)]
  const routes: Settings['routes'] = [
    { name: 'shared', models: ['account0/m', 'account1/m'], strategy: 'weighted' }
  ]
  const used = await converse(
    t,
    { routes },
    accounts.map(({ upstream }) => upstream),
    at => {
      turn = at
    }
  )
  const owners = used.map(models => models[0])
  t.equal(new Set(owners).size, 2)
  for (const models of used) {
    const [owner = ''] = models
    t.same(new Set(models.slice(0, turns / 4)), new Set([owner]))
    t.same(
      new Set(models.slice(turns / 4, turns / 2)),
      new Set(['account0/m']),
      'sessions of the other stay'
    )
    t.same(new Set(models.slice(turns / 2)), new Set([owner]))
  }
})

t.test('by speed, each session stays with the account that first answered it', async t => {
  const { upstream } = await cachingProvider(t)
  const price = { input: 1, cachedInput: 0.1, output: 1, asOf: '2026-01-01' }
  const providers = ['account0', 'account1'].map(id =>
    upstreamAt(`${upstream.url}/v1`, id, 'openai', { quirks: { responsesApi: false } })
  )
  for (const strategy of ['fastest', 'balanced'] as const) {
    const api = await testGateway(t, {
      providers,
      models: providers.map(({ id }) => ({ id: `${id}/m`, price, hidden: false })),
      routes: [{ name: 'shared', models: ['account0/m', 'account1/m'], strategy }]
    })
    const used = Array.from({ length: 8 }, () => new Set<string | null>())
    for (let turn = 0; turn < 6; turn++) {
      for (const [session, models] of used.entries()) {
        const answer = await api.post(
          '/v1/chat/completions',
          { model: 'shared', messages: 'hi', prompt_cache_key: `session ${session}` }
        )
        models.add(answer.headers.get('x-headgate-model'))
        await answer.text()
      }
    }
    t.same(
      used.map(models => models.size),
      used.map(() => 1),
      strategy
    )
    if (strategy === 'fastest') {
      t.equal(new Set(used.flatMap(models => [...models])).size, 2, 'an account without a measurement got one')
    }
  }
})

t.test('without affinity every turn is chosen anew', async t => {
  const accounts = [await cachingProvider(t), await cachingProvider(t)]
  const routes: Settings['routes'] = [
    { name: 'shared', models: ['account0/m', 'account1/m'], strategy: 'weighted', affinity: false }
  ]
  const used = await converse(
    t,
    { routes },
    accounts.map(({ upstream }) => upstream)
  )
  t.ok(used.some(models => new Set(models).size === 2))
})

t.test('a dry run says that the session decided', async t => {
  const { upstream } = await cachingProvider(t)
  const price = { input: 1, cachedInput: 0.1, output: 1, asOf: '2026-01-01' }
  const providers = ['account0', 'account1'].map(id => upstreamAt(`${upstream.url}/v1`, id))
  const api = await testGateway(t, {
    providers,
    models: providers.map(({ id }) => ({ id: `${id}/m`, price, hidden: false })),
    routes: [{ name: 'shared', models: ['account0/m', 'account1/m'], strategy: 'weighted' }]
  })
  const seen = await Promise.all(
    Array.from(
      { length: 10 },
      async () =>
        await (
          await api.post(
            '/v1/chat/completions',
            { model: 'shared', messages: 'hi' },
            { headers: { 'x-headgate-dry-run': 'true' } }
          )
        ).text()
    )
  )
  t.equal(new Set(seen).size, 1)
  t.match(JSON.parse(seen[0] ?? ''), { candidates: [{ reason: 'session' }, { reason: 'weight=1' }] })
})
