/** Recorded sessions of coding agents with two accounts, whose providers cache prompt prefixes. */

import t from 'tap'
import { objectOf } from '../../lib/json/type-guards.ts'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { allRounds } from '../support/rounds.ts'
import { PrefixCache, recordedAgents } from '../support/recorded-agents.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'

const [sessions, turns] = [4, allRounds ? 40 : 24]

for (const [name, agent] of Object.entries(recordedAgents)) {
  const kind = name === 'Codex' ? 'openai' : 'anthropic'

  t.test(`recorded sessions of ${name} hit the prompt caches of two accounts as often as that of one`, async t => {
    const caches = [new PrefixCache(), new PrefixCache()]
    const upstreams = await Promise.all(caches.map(async cache => await fakeUpstream(({ json }) => {
      const { input, cached } = cache.read(agent.prompt(objectOf(json) ?? {}))
      return { headers: eventStream, pieces: agent.answer(input, cached) }
    })))
    t.teardown(async () => await Promise.all(upstreams.map(async ({ close }) => await close())))
    const price = { input: 1, cachedInput: 0.1, output: 1, asOf: '2026-01-01' }
    const settings: Partial<Settings> = {
      providers: upstreams.map(({ url }, index) =>
        upstreamAt(kind === 'openai' ? `${url}/v1` : url, `account${index}`, kind)
      ),
      models: upstreams.map((_, index) => ({ id: `account${index}/m`, price, hidden: false })),
      routes: [{ name: 'shared', models: ['account0/m', 'account1/m'], strategy: 'weighted' }]
    }
    const start = async (): Promise<TestGateway[]> =>
      await Promise.all([0, 1].map(async () => await testGateway(t, settings)))
    const [first, later] = [await start(), await start()]
    const one = new PrefixCache()
    const used = Array.from({ length: sessions }, () => new Set<string | null>())
    const requests = used.map((_, session) => agent.requests(`session-${session}`, turns))
    for (let turn = 0; turn < turns; turn++) {
      const api = (turn < turns / 2 ? first : later)[turn % 2]
      await Promise.all(requests.map(async (ofSession, session) => {
        const { headers = {}, body = {} } = ofSession[turn] ?? {}
        one.read(agent.prompt(body))
        const answer = await api?.post(agent.path, body, { headers })
        t.match(await answer?.text(), /"ok"/)
        used[session]?.add(answer?.headers.get('x-headgate-model') ?? null)
      }))
    }
    for (const models of used) t.equal(models.size, 1, 'a session stays with its account')
    t.equal(new Set(used.flatMap(models => [...models])).size, 2, 'both accounts have sessions')
    const sum = (of: 'inputCharacters' | 'cachedCharacters'): number =>
      caches.reduce((all, cache) => all + cache[of], 0)
    t.equal(sum('inputCharacters'), one.inputCharacters, 'the providers received what was recorded')
    const rate = sum('cachedCharacters') / sum('inputCharacters')
    const best = one.cachedCharacters / one.inputCharacters
    t.comment(`hit rate ${(rate * 100).toFixed(2)} %, of one account ${(best * 100).toFixed(2)} %`)
    t.ok(best > 0.9, 'most of what an agent sends was sent before')
    t.ok(rate >= 0.99 * best, `${rate} of ${best}`)
  })
}
