import t from 'tap'
import { pendingReply, storedReply } from '../../lib/deferred/stored-reply.ts'
import { routedCall } from '../support/stages.ts'

t.test('a stored answer is sent as it is, and an error tells clients not to retry', async t => {
  t.match(storedReply({ status: 200, body: '{}' }), {
    status: 200,
    body: '{}',
    headers: { 'content-type': /json/, 'x-should-retry': undefined }
  })
  t.match(storedReply({ status: 502, body: 'x' }), {
    status: 502,
    body: 'x',
    headers: { 'x-should-retry': 'false' }
  })
  t.match(storedReply({ status: null, body: null }), { status: 200, body: '' })
})

t.test('a pending answer says when to come back', async t => {
  const call = { ...routedCall({}), params: { request_id: 'dfr_a' } }
  t.match(pendingReply(call), {
    status: 202,
    headers: { 'retry-after': '2' },
    body: '{"request_id":"dfr_a","status":"pending"}'
  })
  t.equal(call.record.request.isDeferred, true)
})
