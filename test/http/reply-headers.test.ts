import t from 'tap'
import { replyHeaders } from '../../lib/http/reply-headers.ts'
import { receivedCall, route } from '../support/stages.ts'
import type { Reply } from '../../lib/core/reply.ts'

const reply: Reply = { status: 200, headers: { 'content-type': 'text/plain' }, body: '' }

t.test('the headers say what the record knows, and nothing else', async t => {
  const call = receivedCall({})
  t.strictSame(replyHeaders(reply, { call }), {
    'x-request-id': call.id,
    'x-headgate-overhead-ms': '0.00',
    'content-type': 'text/plain'
  })
  const { times, routing, request, guards, limits, cost } = call.record
  times.overheadMs = 1.234
  Object.assign(routing, {
    modelId: 'one/größe', requestCount: 2, cache: 'miss', upstreamRequestId: 'up-1', chosen: route,
    routes: [route, { ...route, modelId: 'other/m' }]
  })
  Object.assign(request, { ignoredFields: ['a', 'b'], maxTokens: 7 })
  guards.names = ['names', 'addresses']
  limits.headers = { 'x-limit': '1' }
  cost.headers = { 'x-cost': '2' }
  t.strictSame(replyHeaders(reply, { call }), {
    'x-request-id': call.id,
    'x-headgate-overhead-ms': '1.23',
    'x-headgate-model': 'one/gr??e',
    'x-headgate-attempts': '2',
    'x-headgate-cache': 'miss',
    'x-headgate-stages': 'names, addresses',
    'x-headgate-route': `${route.modelId}: first_choice`,
    'x-headgate-ignored': 'a, b',
    'x-headgate-max-tokens': '7',
    'x-upstream-request-id': 'up-1',
    'content-type': 'text/plain',
    'x-limit': '1',
    'x-cost': '2'
  })
})

t.test('headers of the configuration are added last and see the others', async t => {
  const call = receivedCall({})
  const headers = replyHeaders(reply, {
    call,
    addHeaders: (headers, { id }) => { headers['x-own'] = `${id} ${headers['content-type']}` }
  })
  t.equal(headers['x-own'], `${call.id} text/plain`)
})
