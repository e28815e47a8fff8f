import t from 'tap'
import { refusal, smallApp } from '../support/small-app.ts'
import { until } from '../support/until.ts'

t.test('an unexpected error is 500 without its words, which stay in the record', async t => {
  const { url, ended } = await smallApp(t)
  const response = await fetch(`${url}/broken`)
  t.equal(response.status, 500)
  t.same(await response.json(), refusal('Headgate could not handle the request because of an internal error.', 'internal_error', 'server_error'))
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record, { outcome: 'error', errorCode: 'internal_error', cause: new Error('private') })
})

t.test('an endpoint that throws at once gives an error reply, and its call ends', async t => {
  const { app, url, ended } = await smallApp(t)
  t.equal((await fetch(`${url}/throws`)).status, 404)
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record, { outcome: 'error', errorCode: 'not_found' })
  t.equal(app.openCalls(), 0)
})

t.test('while the process shuts down, an answer closes its connection', async t => {
  let draining = false
  const { url } = await smallApp(t, { draining: () => draining })
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'keep-alive')
  draining = true
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'close')
})
