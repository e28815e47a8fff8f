import { createHmac } from 'node:crypto'
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { openWebhook } from '../../lib/judges/webhook.ts'
import { fakeUpstream, type FakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { routedCall } from '../support/stages.ts'
import type { PointedText, Verdict } from '../../lib/guards/text-judge.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

type StageSettings = Settings['stages'][number]
type Answers = Script | ((request: SeenRequest, number: number) => Script)

const texts: readonly PointedText[] = [{ text: 'a', point: 'request' }, { text: 'b', point: 'tool_result' }]

function json (value: unknown, status = 200): Script {
  return { status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

async function service (t: Test, answers: Answers): Promise<FakeUpstream> {
  const upstream = await fakeUpstream(answers)
  t.teardown(upstream.close)
  return upstream
}

async function look (
  t: Test,
  url: string,
  more: Partial<StageSettings> = {},
  ms = 5_000,
  given = texts
): Promise<Verdict> {
  const judge = openWebhook({ name: 'mine', use: 'webhook', at: ['request'], url, ...more })
  t.teardown(async () => await judge.close?.())
  return await judge.look(given, { call: routedCall({}, { id: 'call-1' }), signal: AbortSignal.timeout(ms) })
}

t.test(
  'a service gets the texts and what is known of the call, signed, and says what becomes of them',
  async t => {
    const secret = new Secret(`whsec_${Buffer.from('the key').toString('base64')}`)
    const { url, requests } = await service(t, json({ texts: ['a', 'x'], findings: 2, other: 'ignored' }))
    t.same(await look(t, `${url}/guard`, { secret, headers: { 'X-Team': new Secret('blue') } }), {
      texts: ['a', 'x'],
      findings: 2
    })
    const [request] = requests as [SeenRequest]
    t.match(request, {
      method: 'POST',
      path: '/guard',
      headers: { 'content-type': 'application/json', 'x-team': 'blue', 'webhook-id': /^msg_/ }
    })
    t.match(request.json, {
      version: 1,
      stage: 'mine',
      call: { id: 'call-1', endpoint: 'chat', key: { id: String }, project: 'default', models: [String] },
      texts: [
        { point: 'request', text: 'a' },
        { point: 'tool_result', text: 'b' }
      ]
    })
    const {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature
    } = request.headers
    t.ok(Math.abs(Number(timestamp) - Date.now() / 1000) < 60)
    t.equal(
      signature,
      `v1,${createHmac('sha256', 'the key')
        .update(`${String(id)}.${String(timestamp)}.${request.text}`)
        .digest('base64')}`
    )
  }
)

t.test('it refuses with a reason, or says nothing', async t => {
  t.same(await look(t, (await service(t, json({ refuse: 'no' }))).url), { refusal: 'no' })
  const { url, requests } = await service(t, json({}))
  t.same(await look(t, url), {})
  t.equal(requests[0]?.headers['webhook-signature'], undefined, 'without a secret nothing is signed')
})

t.test('the guardrail API of LiteLLM is spoken as it is', async t => {
  for (const [answer, verdict] of [
    [{ action: 'NONE' }, {}],
    [{ action: 'BLOCKED', blocked_reason: 'bad' }, { refusal: 'bad' }],
    [{ action: 'BLOCKED', blocked_reason: null }, { refusal: '' }],
    [{ action: 'GUARDRAIL_INTERVENED', texts: ['x', 'y'] }, { texts: ['x', 'y'] }]
  ] as const) {
    const { url, requests } = await service(t, json(answer))
    t.same(await look(t, `${url}/beta/litellm_basic_guardrail_api`, { format: 'litellm' }), verdict)
    t.match(requests[0], {
      path: '/beta/litellm_basic_guardrail_api',
      json: {
        texts: ['a', 'b'],
        input_type: 'request',
        litellm_call_id: 'call-1',
        request_data: { user_api_key_alias: String }
      }
    })
  }
  const { url, requests } = await service(t, json({ action: 'NONE' }))
  await look(t, url, { format: 'litellm' }, 5_000, [{ text: 'a', point: 'tool_call' }])
  t.match(requests[0]?.json, { input_type: 'response' })
})

t.test('a service that lies could not look', async t => {
  for (const [format, answer] of [
    ['headgate', []],
    ['headgate', 'text'],
    ['headgate', { texts: 'a' }],
    ['headgate', { refuse: true }],
    ['headgate', { findings: -1 }],
    ['headgate', { findings: 'two' }],
    ['litellm', {}],
    ['litellm', { action: 'ALLOW' }],
    ['litellm', { action: 'GUARDRAIL_INTERVENED' }]
  ] as const) {
    await t.rejects(
      look(t, (await service(t, json(answer))).url, { format }),
      TypeError,
      JSON.stringify(answer)
    )
  }
  const { url, requests } = await service(t, {
    headers: { 'content-type': 'application/json' },
    pieces: ['{"texts":']
  })
  await t.rejects(look(t, url, { retries: 3 }), SyntaxError)
  t.equal(requests.length, 1, 'nonsense is not requested again')
})

t.test('a service that is down or overloaded is asked again, in other cases not', async t => {
  const answers = [json({}, 503), json({}, 429), json({ refuse: 'at last' })]
  const { url, requests } = await service(t, (_request, number) => answers[number] ?? json({}))
  t.same(await look(t, url, { retries: 2 }), { refusal: 'at last' })
  t.equal(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 1, 'each try has the same id')
  const down = await service(t, json({}, 500))
  await t.rejects(look(t, down.url), { message: 'the service answered with status 500' })
  t.equal(down.requests.length, 2, 'once again by default')
  const wrong = await service(t, json({}, 401))
  await t.rejects(look(t, wrong.url), { message: 'the service answered with status 401' })
  t.equal(wrong.requests.length, 1)
  const resets = await service(t, (_request, number) =>
    number === 0 ? { pieces: ['{'], then: 'reset' } : json({})
  )
  t.same(await look(t, resets.url), {})
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  await t.rejects(look(t, `http://127.0.0.1:${port}`), { code: 'upstream_unreachable' })
})

t.test('a redirect is not followed', async t => {
  const other = await service(t, json({}))
  const { url } = await service(t, { status: 307, headers: { location: other.url } })
  await t.rejects(look(t, url), { message: 'the service answered with status 307' })
  t.equal(other.requests.length, 0)
})

t.test('what is too large is neither sent nor read', async t => {
  const huge = await service(t, {
    headers: { 'content-type': 'application/json' },
    pieces: (async function* () {
      for (;;) yield ' '.repeat(64 * 1024)
    })()
  })
  await t.rejects(look(t, huge.url, { maxBytes: 100_000, retries: 3 }), {
    code: 'upstream_invalid_response'
  })
  t.equal(huge.requests.length, 1, 'another answer would be no smaller')
  const { url, requests } = await service(t, json({}))
  await t.rejects(look(t, url, { maxBytes: 1024 }, 5_000, [{ text: 'x'.repeat(1024), point: 'request' }]), {
    message: /more than `max_bytes`/
  })
  t.equal(requests.length, 0)
})

t.test('a slow service is left when the time is over', async t => {
  for (const script of [
    { silent: true },
    { headers: { 'content-type': 'application/json' }, pieces: ['{'], then: 'stall' }
  ] as const) {
    const { url, request } = await service(t, script)
    await t.rejects(look(t, url, {}, 50))
    await (await request(0)).aborted
  }
})
