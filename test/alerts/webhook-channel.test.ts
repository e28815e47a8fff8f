import t from 'tap'
import { alertOf, Undeliverable } from '../../lib/alerts/alert.ts'
import { webhookChannel } from '../../lib/alerts/webhook-channel.ts'
import { Secret } from '../../lib/core/secret.ts'
import { signWebhook } from '../../lib/wire/sign-webhook.ts'
import { fakeUpstream, type Script } from '../support/upstream.ts'
import type { Channel } from '../../lib/alerts/alert.ts'
import type { Test } from 'tap'

const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
const alert = alertOf({ event: 'provider.up', message: 'Up.', data: {} }, ['openai'], 1_763_686_800_000)
const signal = (): AbortSignal => AbortSignal.timeout(5000)

function channelTo (t: Test, url: string): Channel {
  const channel = webhookChannel(
    { url, secret, headers: { 'X-Team': new Secret('blue') }, events: ['provider.up'] },
    () => 1_614_265_330_999
  )
  t.teardown(channel.close)
  return channel
}

async function answering (t: Test, script: Script) {
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  return upstream
}

t.test('an alert is posted to the configured path, signed, with the configured headers', async t => {
  const { url, requests } = await answering(t, { status: 202, pieces: ['never read'] })
  const channel = channelTo(t, `${url}/hooks/headgate/`)
  t.match(
    channel,
    { target: `${url}/hooks`, events: ['provider.up'] },
    'the last part of the path may be a secret'
  )
  t.equal(await channel.send(alert, signal()), undefined)
  const [request] = requests
  t.match(request, {
    method: 'POST',
    path: '/hooks/headgate/',
    headers: { 'content-type': 'application/json', 'x-team': 'blue' }
  })
  t.match(
    request?.headers,
    signWebhook({ id: alert.id, sentAtMs: 1_614_265_330_000, body: request?.text ?? '' }, secret)
  )
  t.same(request?.json, {
    type: 'provider.up',
    timestamp: '2025-11-21T01:00:00.000Z',
    data: { message: 'Up.' }
  })
  await channelTo(t, url).send(alert, signal())
  t.equal(requests[1]?.path, '/')
})

t.test(
  'any status but 2xx is a failure, redirects are not followed, and 410 is final',
  async t => {
    for (const status of [301, 400, 404, 429, 500]) {
      const { url, requests } = await answering(t, { status, headers: { location: '/other' } })
      const failure = await channelTo(t, url)
        .send(alert, signal())
        .then(
          () => undefined,
          (error: Error) => error
        )
      t.equal(failure?.message, `the receiver answered with status ${status}`)
      t.notOk(failure instanceof Undeliverable)
      t.equal(requests.length, 1)
    }
    const { url } = await answering(t, { status: 410 })
    const failure = await channelTo(t, url)
      .send(alert, signal())
      .then(
        () => undefined,
        (error: unknown) => error
      )
    t.ok(failure instanceof Undeliverable)
  }
)

t.test('an attempt fails if the receiver is unreachable, disconnects or does not respond', async t => {
  await t.rejects(channelTo(t, 'http://127.0.0.1:9').send(alert, signal()))
  const { url } = await answering(t, { silent: true })
  await t.rejects(channelTo(t, url).send(alert, AbortSignal.timeout(50)), /timeout/)
})
