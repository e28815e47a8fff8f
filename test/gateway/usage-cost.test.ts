/** The cost in answers of Responses and Messages, for callers who request it. */

import t, { type Test } from 'tap'
import {
  dialects,
  messagesIn,
  protocols,
  scriptOf,
  takenBy,
  type Json,
  type Protocol
} from '../support/conversations.ts'
import { testGateway, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { storeTest } from '../support/stores.ts'
import { eventually } from '../support/until.ts'
import { fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import type { GatewayOptions } from '../../lib/gateway.ts'
import type { Settings } from '../../lib/core/settings.ts'

const include = { usage: { include: true } }
const price = { input: 1, output: 10 }
/** For 3 prompt tokens and 2 completion tokens. */
const usd = 0.000023

async function start (
  t: Test,
  protocol: Protocol,
  more: Partial<Settings> = {},
  parts: Partial<GatewayOptions> = {}
): Promise<{ api: TestGateway, upstream: FakeUpstream }> {
  const upstream = await fakeUpstream(scriptOf(protocol))
  t.teardown(upstream.close)
  return {
    upstream,
    api: await testGateway(
      t,
      {
        providers: [protocol.provider(upstream.url)],
        models: [modelSettings(protocol.model, { price })],
        ...more
      },
      {},
      parts
    )
  }
}

/** Returns `usage` at the end of an answer. */
function usageIn (body: string): Json {
  const messages = body.startsWith('{') ? [JSON.parse(body) as Json] : messagesIn(body)
  const found = messages
    .flatMap(({ usage, response }) => [usage, (response as Json | undefined)?.['usage']])
    .findLast(usage => typeof usage === 'object' && usage !== null)
  return (found ?? {}) as Json // of an answer
}

for (const name of ['responses', 'messages'] as const) {
  const { path, request } = dialects[name]
  for (const [provider, protocol] of Object.entries(protocols)) {
    storeTest(
      `an answer of ${name} has its cost where the request asks for it, in front of ${provider}`,
      async (t, open) => {
        const database = await open()
        const { api, upstream } = await start(t, protocol, {}, { database, usageDatabase: database })
        for (const stream of [false, true]) {
          const body = { ...takenBy(protocol, request(protocol.model, 'there')), stream }
          const response = await api.post(path, { ...body, ...include })
          const text = await response.text()
          t.equal(response.status, 200, text.slice(0, 300))
          t.match(
            usageIn(text),
            { output_tokens: 2, cost: usd, cost_status: undefined },
            stream ? 'streamed' : 'complete'
          )
          if (!stream) t.equal(Number(response.headers.get('x-headgate-cost-usd')), usd)
          t.equal(text.split('"cost"').length, 2, 'once')
          t.notMatch(upstream.requests.at(-1)?.json, { usage: {} }, 'the field is not sent to the provider')
          for (const not of [{}, { usage: { include: false } }, { usage: null }]) {
            t.notMatch(await (await api.post(path, { ...body, ...not })).text(), /"cost"/)
          }
        }
        await api.gateway.close()
        const rows = await database.query.selectFrom('usage').select('cost_nano_usd').execute()
        t.ok(
          rows.length === 8 && rows.every(row => row.cost_nano_usd === usd * 1e9),
          'as in the usage records'
        )
      }
    )
  }

  t.test(`an answer of ${name} says that its cost is an estimate, or that there is no price`, async t => {
    const { usage: _, ...silent } = protocols.chat.complete
    const upstream = await fakeUpstream({ pieces: [JSON.stringify(silent)] })
    t.teardown(upstream.close)
    const { model, provider } = protocols.chat
    const api = await testGateway(t, {
      providers: [provider(upstream.url)],
      models: [modelSettings(model, { price })]
    })
    const asked = async (model: string): Promise<Json> =>
      usageIn(await (await api.post(path, { ...request(model, 'there'), ...include })).text())
    const estimated = await asked(model)
    t.match(estimated, { cost_status: 'estimated', output_tokens: Number })
    t.ok(Number(estimated['cost']) > 0)
    t.match(await asked('openai/unheard-of'), { cost: null, cost_status: 'unpriced' })
  })

  t.test(`a project without access to costs gets none in answers of ${name}`, async t => {
    const { api } = await start(t, protocols[name === 'messages' ? 'anthropic' : 'responses'], {
      usage: { ...settings().usage, exposeCost: false }
    })
    const { model, ...rest } = protocols[name === 'messages' ? 'anthropic' : 'responses']
    const response = await api.post(path, {
      ...takenBy({ model, ...rest }, request(model, 'there')),
      ...include
    })
    t.equal(response.headers.get('x-headgate-ignored'), 'usage')
    t.notMatch(await response.text(), /"cost"/)
  })

  t.test(`${name} accepts only the value true`, async t => {
    const { api } = await start(t, protocols.chat)
    t.equal(
      (await api.post(path, { ...request(protocols.chat.model, 'there'), usage: { include: 'yes' } }))
        .status,
      400
    )
  })
}

storeTest('a background response has its cost too', async (t, open) => {
  const database = await open()
  const { model } = protocols.responses
  const { api } = await start(t, protocols.responses, {}, { database, usageDatabase: database })
  const body = {
    ...takenBy(protocols.responses, dialects.responses.request(model, 'there')),
    background: true,
    store: true,
    ...include
  }
  const { id } = (await (await api.post('/v1/responses', body)).json()) as { id: string }
  const done = await eventually(
    async () => (await (await api.get(`/v1/responses/${id}`)).json()) as Json,
    ({ status }) => status === 'completed',
    'the response'
  )
  t.match(done['usage'], { cost: usd })
})
