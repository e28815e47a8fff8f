/** Guards in the admin API: what they did to calls, and trying a text. */

import t from 'tap'
import { adminGateway } from '../../support/admin.ts'
import { chatUpstreamAt } from '../../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../../support/upstream.ts'
import { eventually } from '../../support/until.ts'
import type { Settings } from '../../../lib/core/settings.ts'

const stages: Settings['guards'] = [
  {
    name: 'tickets',
    use: 'pattern',
    at: ['request', 'answer'],
    action: 'mask',
    patterns: [{ name: 'ticket', match: 'TCK-\\d{6}', maxLength: 10 }]
  },
  {
    name: 'secrets',
    use: 'pattern',
    at: ['answer'],
    action: 'refuse',
    patterns: [{ name: 'secret', match: 'hush', maxLength: 4 }],
    only: { endpoints: ['chat'], projects: ['default'] }
  },
  {
    name: 'names',
    use: 'pattern',
    at: ['request'],
    action: 'report',
    patterns: [{ name: 'name', match: 'Ada', maxLength: 3 }]
  }
]

t.test('a call lists the guards that inspected it, and the report adds them up', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('of TCK-222222')] })
  t.teardown(upstream.close)
  const place = await adminGateway(t, { providers: [chatUpstreamAt(upstream.url)], guards: stages })
  const { send } = await place.user('owner')
  const {
    body: { secret }
  } = await send('POST /admin/v1/keys', { name: 'app' })
  const answer = await place.api.post(
    '/v1/chat/completions',
    { model: 'openai/m', messages: [{ role: 'user', content: 'Ada has TCK-111111 and TCK-111112' }] },
    { headers: { authorization: `Bearer ${secret}` } }
  )
  t.match(await answer.json(), { choices: [{ message: { content: 'of [ticket]' } }] })
  const id = answer.headers.get('x-request-id') ?? ''
  const { body: call } = await eventually(
    async () => await send(`GET /admin/v1/calls/${id}`),
    ({ status }) => status === 200,
    'the call'
  )
  t.match(call.stages, [
    { stage: 'tickets', point: 'request', took_ms: Number, findings: [{ action: 'mask', count: 2 }] },
    { stage: 'names', point: 'request', findings: [{ action: 'report', count: 1 }] },
    { stage: 'tickets', point: 'answer', findings: [{ action: 'mask', count: 1 }] },
    { stage: 'secrets', point: 'answer', findings: [] }
  ])
  t.same(
    call.timeline
      // On a busy machine steps take measurable time that take none elsewhere.
      .filter(({ event }: Record<string, unknown>) => event !== 'auth' && event !== 'wait')
      .map(({ event, stage, reason }: Record<string, unknown>) =>
        event === 'stage' ? [event, stage, reason] : [event]
      ),
    [
      ['received'],
      ['stage', 'tickets', 'request: mask 2'],
      ['stage', 'names', 'request: report 1'],
      ['attempt'],
      ['stage', 'tickets', 'answer: mask 1'],
      ['stage', 'secrets', 'answer'],
      ['end']
    ]
  )
  t.notMatch(JSON.stringify(call), /TCK-|Ada/, 'never a text')
  const { body: list } = await send('GET /admin/v1/stages')
  t.match(list.data, [
    {
      name: 'tickets',
      use: 'pattern',
      at: ['request', 'answer'],
      action: 'mask',
      only: null,
      last_day: { calls: 1, calls_with_findings: 1, findings: 3, unavailable: 0, took_ms: { p50: Number } }
    },
    {
      name: 'secrets',
      only: { endpoints: ['chat'], projects: ['default'] },
      last_day: { calls: 1, calls_with_findings: 0, findings: 0 }
    },
    { name: 'names', action: 'report', last_day: { findings: 1 } }
  ])
  const member = await place.user('member', ['default'])
  const { body: seen } = await member.send('GET /admin/v1/stages')
  t.same(
    seen.data.map(({ only }: { only: unknown }) => only),
    [null, { endpoints: ['chat'] }, null],
    'names of keys and projects are for those who see them all'
  )
  t.equal((await (await place.user('viewer')).send('GET /admin/v1/stages')).status, 403)
})

t.test('a text can be tried at both ends without leaving a record', async t => {
  const place = await adminGateway(t, { guards: stages })
  const { send } = await place.user('admin')
  const tried = async (text: string, point: string): Promise<unknown> =>
    (await send('POST /admin/v1/stages/try', { text, point })).body
  t.match(await tried('Ada: TCK-123456', 'request'), {
    text: 'Ada: [ticket]',
    refusal: null,
    duration_ms: Number,
    findings: [
      { stage: 'names', action: 'report', count: 1 },
      { stage: 'tickets', action: 'mask', count: 1 }
    ]
  })
  t.match(await tried('Ada: TCK-123456', 'answer'), {
    text: 'Ada: [ticket]',
    findings: [{ stage: 'tickets', action: 'mask', count: 1 }]
  })
  t.match(await tried('hush', 'answer'), {
    text: null,
    refusal: 'The guard `secrets` refused this call: it contains secret.',
    findings: [{ stage: 'secrets', action: 'refuse', count: 1 }]
  })
  t.match(await tried('hush', 'request'), { text: 'hush', refusal: null, findings: [] })
  t.equal((await send('POST /admin/v1/stages/try', { text: '', point: 'request' })).status, 422)
  t.equal((await send('POST /admin/v1/stages/try', { text: 'x', point: 'elsewhere' })).status, 422)
  t.equal(
    (
      await (
        await place.user('member', ['default'])
      ).send('POST /admin/v1/stages/try', { text: 'x', point: 'request' })
    ).status,
    403
  )
  t.notMatch(JSON.stringify(place.api.lines), /TCK-123456/)
})

t.test('without guards there are none to list or to try', async t => {
  const { send } = await (await adminGateway(t)).user('admin')
  t.same((await send('GET /admin/v1/stages')).body, { object: 'list', data: [] })
  t.equal((await send('POST /admin/v1/stages/try', { text: 'x', point: 'request' })).status, 404)
})
