import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream, type Script } from '../support/upstream.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const stage: GuardSettings = {
  name: 'safe',
  use: 'moderation',
  model: 'mistral/mistral-moderation',
  at: ['request', 'answer']
}

function json (value: unknown, status = 200): Script {
  return { status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

/** A provider that chats, and flags texts with a knife as violence and texts with a fool as hate. */
async function start (
  t: Test,
  more: Partial<GuardSettings> = {},
  status = 200
): Promise<{
  upstream: FakeUpstream
  ask: (content: string) => Promise<{ status: number, body: unknown, findings: unknown }>
}> {
  const upstream = await fakeUpstream(({ path, json: body }) => {
    if (path !== '/moderations') return { pieces: [chatAnswer('Take a knife.')] }
    const { input } = body as { input: string[] }
    return json(
      {
        id: 'm1',
        model: 'm',
        results: input.map(text => ({
          categories: { violence: text.includes('knife'), hate: text.includes('fool') }
        }))
      },
      status
    )
  })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(upstream.url, 'mistral', 'mistral', { apiKey: new Secret('key') })],
    guards: [{ ...stage, ...more }]
  })
  const ask = async (content: string): Promise<{ status: number, body: unknown, findings: unknown }> => {
    const response = await api.post('/v1/chat/completions', {
      model: 'mistral/m',
      messages: [{ role: 'user', content }]
    })
    const body: unknown = await response.json()
    return {
      status: response.status,
      body,
      findings: api.lines.findLast(({ msg }) => msg === 'call')?.['findings']
    }
  }
  return { upstream, ask }
}

function moderations ({ requests }: FakeUpstream): unknown[] {
  return requests.filter(({ path }) => path === '/moderations').map(({ json }) => json)
}

t.test('flagged text is refused before it is sent to the provider or the caller', async t => {
  const { upstream, ask } = await start(t)
  t.match(await ask('A knife, you fool'), {
    status: 400,
    body: {
      error: {
        code: 'content_refused',
        message: 'The guard `safe` refused this call: it was flagged as violence, hate.'
      }
    },
    findings: [{ stage: 'safe', point: 'request', action: 'refuse', count: 1 }]
  })
  t.equal(upstream.requests.length, 1, 'only the moderation')
  t.match(moderations(upstream)[0], { model: 'mistral-moderation', input: ['A knife, you fool'] })
  t.equal(upstream.requests[0]?.headers.authorization, 'Bearer key')
  t.match(await ask('Hello'), {
    status: 400,
    findings: [{ stage: 'safe', point: 'answer', action: 'refuse', count: 1 }]
  })
})

t.test('only the configured categories count, and a report changes nothing', async t => {
  const some = await start(t, { categories: ['hate'] })
  t.match(await some.ask('A knife'), { status: 200, findings: undefined })
  t.match(await some.ask('A fool'), { body: { error: { message: /flagged as hate\.$/ } } })
  const counted = await start(t, { action: 'report' })
  t.match(await counted.ask('A knife'), {
    status: 200,
    findings: [
      { point: 'request', action: 'report', count: 1 },
      { point: 'answer', action: 'report' }
    ]
  })
})

t.test('a failing provider counts as unavailable', async t => {
  const { ask } = await start(t, {}, 500)
  t.match(await ask('Hello'), { status: 503, body: { error: { code: 'stage_unavailable' } } })
  const passing = await start(t, { whenUnavailable: 'pass', model: 'gone/model' })
  t.match(await passing.ask('Hello'), {
    status: 200,
    findings: [
      { point: 'request', action: 'unavailable' },
      { point: 'answer', action: 'unavailable' }
    ]
  })
})
