import t from 'tap'
import { user, send, textOf } from '../support/sandbox.ts'

t.test('an error status has the body and headers of the dialect', async t => {
  for (const stream of [true, false]) {
    const answer = await send({ messages: user('Hi [sandbox: status=429 retry-after=7]'), stream })
    t.equal(answer.status, 429)
    t.equal(answer.headers['retry-after'], '7')
    t.equal(answer.headers['content-type'], 'application/json')
    t.match(JSON.parse(await textOf(answer)), {
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' }
    })
  }
  const coded = await send({ messages: user('[sandbox: status=400 code=context_length_exceeded]') })
  t.match(JSON.parse(await textOf(coded)), {
    error: { type: 'invalid_request_error', code: 'context_length_exceeded' }
  })
  for (const [status, type] of [
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [503, 'server_error']
  ]) {
    t.match(JSON.parse(await textOf(await send({ messages: user(`[sandbox: status=${status}]`) }))), {
      error: { type }
    })
  }
})
