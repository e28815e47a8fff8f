import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { refusal, smallApp } from '../support/small-app.ts'
import { until } from '../support/until.ts'

t.test('whenIdle() waits for the calls open at that moment, not for later ones', async t => {
  const { app, url, go } = await smallApp(t)
  await app.whenIdle()
  const waiting = fetch(`${url}/wait`)
  await until(() => app.openRequests() === 1, 'an open call')
  const settled = app.whenIdle()
  const stuck = fetch(`${url}/stuck`)
  await until(() => app.openRequests() === 2, 'another open call')
  go()
  await settled
  t.equal(await (await waiting).text(), 'waited')
  t.equal(app.openRequests(), 1)
  app.abortAll(new GatewayError('shutting_down'))
  const response = await stuck
  t.equal(response.status, 503)
  t.same(await response.json(), refusal('Headgate is shutting down.', 'shutting_down', 'server_error'))
})
