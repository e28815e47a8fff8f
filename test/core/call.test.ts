import t from 'tap'
import { copyCall, updateCall } from '../../lib/core/call.ts'
import { routedCall } from '../support/stages.ts'

t.test('a call is extended by a copy in which the new fields win', async t => {
  const call = routedCall({ model: 'a' })
  const other = copyCall(call, { request: { model: 'b' }, more: 1 })
  t.same([call.request.model, other.request.model, other.more], ['a', 'b', 1])
  t.equal(other.record, call.record, 'the record is the same')
})

t.test('a call is refined in place', async t => {
  const call = routedCall({ model: 'a' })
  const refined = updateCall(call, { request: { model: 'b' }, more: 1 })
  t.equal(refined, call)
  t.same([call.request.model, refined.more], ['b', 1])
})
