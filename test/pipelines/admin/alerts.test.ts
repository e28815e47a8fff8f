/** Alerts, from a call that exhausts a budget to the receiver and the dashboard. */

import t from 'tap'
import { Secret } from '../../../lib/core/secret.ts'
import { alertEventNames } from '../../../schemas/config/alerts.ts'
import { adminGateway } from '../../support/admin.ts'
import { alertSecret } from '../../support/alerts.ts'
import { chatUpstreamAt } from '../../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../../support/upstream.ts'
import { eventually, until } from '../../support/until.ts'
import type { Settings } from '../../../lib/core/settings.ts'

function alertsTo (url: string): Settings['alerts'] {
  return {
    webhooks: {
      ops: {
        url: `${url}/hook`,
        secret: new Secret(alertSecret),
        headers: { 'X-Token': new Secret('hush') },
        events: [...alertEventNames]
      }
    },
    emails: {
      team: {
        server: 'smtp://127.0.0.1:9',
        requireTls: true,
        user: 'me',
        password: new Secret('hush'),
        from: 'h@example.com',
        to: ['a@example.com'],
        events: ['key.expiring']
      }
    },
    errorPercent: 20,
    keyExpiryDays: 7
  }
}

const answer = chatAnswer('x', {
  prompt_tokens: 1_000_000,
  completion_tokens: 0,
  total_tokens: 1_000_000
})

t.test(
  'an exhausted budget raises an alert, sent to the receiver and listed with its delivery',
  async t => {
    const upstream = await fakeUpstream({ pieces: [answer] })
    const receiver = await fakeUpstream({ status: 204 })
    t.teardown(async () => {
      await Promise.all([upstream.close(), receiver.close()])
    })
    const place = await adminGateway(t, {
      providers: [chatUpstreamAt(upstream.url)],
      models: [{ id: 'openai/m', hidden: false, price: { input: 1, output: 1 } }],
      alerts: alertsTo(receiver.url)
    })
    const { send } = await place.user('admin')
    const {
      body: { secret }
    } = await send('POST /admin/v1/keys', { name: 'app', limits: { budget: { usd: 1.5, per: 'month' } } })
    const response = await place.api.post(
      '/v1/chat/completions',
      { model: 'openai/m', messages: [{ role: 'user', content: 'x' }] },
      { headers: { authorization: `Bearer ${secret}` } }
    )
    t.equal(response.status, 200)
    await until(
      async () => (await place.database.query.selectFrom('usage').select('id').execute()).length > 0,
      'the record'
    )
    // Rules are checked once a minute, and the first time perhaps before the call.
    await place.database.query.deleteFrom('leases').where('name', '=', 'alert rules').execute()
    const { body: list } = await eventually(
      async () => {
        place.api.gateway.services.alerts?.poll()
        return await send('GET /admin/v1/alerts?event=budget.threshold')
      },
      ({ body }) => body.data[0]?.deliveries[0]?.state === 'delivered',
      'the delivery'
    )
    t.match(list.data, [
      {
        event: 'budget.threshold',
        message: 'The API key app has spent 50 % of its budget of $1.5 a month.',
        data: { percent: 50, key: { name: 'app' } },
        deliveries: [
          { channel: 'webhooks.ops', state: 'delivered', attempts: 1, error: null, next_at_ms: null }
        ]
      }
    ])
    const [request] = receiver.requests
    t.match(request, {
      path: '/hook',
      headers: { 'webhook-id': list.data[0].id, 'x-token': 'hush' },
      json: { type: 'budget.threshold', data: { percent: 50 } }
    })
    t.same((await send('GET /admin/v1/alerts?event=provider.down')).body.data, [])
    t.equal((await send('GET /admin/v1/alerts?limit=0')).status, 400)
  }
)

t.test('admins can test a channel, and its secrets are not shown', async t => {
  const receiver = await fakeUpstream({ status: 500 })
  t.teardown(receiver.close)
  const place = await adminGateway(t, { alerts: alertsTo(receiver.url) })
  const { send } = await place.user('admin')
  const { body: channels } = await send('GET /admin/v1/alerts/channels')
  t.same(channels.data.map(({ channel, target }: Record<string, unknown>) => [channel, target]), [
    ['emails.team', 'a@example.com'], ['webhooks.ops', `${receiver.url}/hook`]
  ])
  t.notMatch(JSON.stringify(channels), /hush|whsec/)
  const { status, body } = await send('POST /admin/v1/alerts/test', { channel: 'webhooks.ops' })
  t.equal(status, 200)
  t.match(body, {
    channel: 'webhooks.ops',
    state: 'failed',
    attempts: 1,
    error: 'the receiver answered with status 500'
  })
  t.match((await send('POST /admin/v1/alerts/test', { channel: 'emails.team' })).body, {
    state: 'failed',
    error: /ECONNREFUSED/
  })
  t.match(
    receiver.requests.map(({ json }) => json),
    [{ type: 'test', data: { message: /^Test alert, sent by admin 1\.$/ } }]
  )
  t.equal((await send('POST /admin/v1/alerts/test', { channel: 'webhooks.other' })).status, 404)
  t.equal((await send('POST /admin/v1/alerts/test', {})).status, 422)
  const { body: audit } = await send('GET /admin/v1/audit?action=alert')
  t.match(audit.data, [
    { action: 'alert.test', subject: 'emails.team' },
    { action: 'alert.test', subject: 'webhooks.ops', after: { state: 'failed' } }
  ])
  const member = await place.user('member', ['default'])
  for (const route of ['GET /admin/v1/alerts', 'GET /admin/v1/alerts/channels']) {
    t.equal((await member.send(route)).status, 403, route)
  }
  t.equal((await member.send('POST /admin/v1/alerts/test', { channel: 'webhooks.ops' })).status, 403)
  t.equal(receiver.requests.length, 1)
  const reader = (
    await send('POST /admin/v1/admin-keys', { name: 'reader', role: 'admin', scopes: ['alerts:read'] })
  ).body.secret
  const headers = { authorization: `Bearer ${String(reader)}` }
  t.equal((await place.send('GET /admin/v1/alerts', undefined, headers)).status, 200)
  t.equal((await place.send('POST /admin/v1/alerts/test', { channel: 'webhooks.ops' }, headers)).status, 403)
})

t.test('without channels nothing is monitored, and the page says what to add', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('admin')
  t.equal(place.api.gateway.services.alerts, undefined)
  t.same((await send('GET /admin/v1/alerts/channels')).body.data, [])
  t.match(await send('GET /admin/v1/alerts'), {
    status: 404,
    body: { error: { message: /alerts\.webhooks/ } }
  })
})

t.test('channels are added and removed with the configuration', async t => {
  const [first, second] = [await fakeUpstream({ status: 204 }), await fakeUpstream({ status: 204 })]
  t.teardown(async () => {
    await Promise.all([first.close(), second.close()])
  })
  const place = await adminGateway(t, {
    alerts: alertsTo(first.url),
    keys: [{ name: 'mine', key: new Secret('k'), expiresAtMs: Date.now() + 86_400_000 }]
  })
  const { gateway } = place.api
  await gateway.reload({ ...gateway.services.settings, alerts: { ...alertsTo(second.url), emails: {} } })
  gateway.services.alerts?.poll()
  await until(() => second.requests.length === 1, 'the alert')
  t.match(second.requests[0]?.json, { type: 'key.expiring', data: { key: { name: 'mine' } } })
  t.equal(first.requests.length, 0)
  await gateway.reload({
    ...gateway.services.settings,
    alerts: { ...gateway.services.settings.alerts, webhooks: {} }
  })
  t.equal(gateway.services.alerts, undefined)
})
