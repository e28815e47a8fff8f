import t from 'tap'
import { callFacts } from '../../lib/judges/call-facts.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { route } from '../support/routes.ts'
import { routedCall } from '../support/stages.ts'

t.test('a guard learns the caller and the models of a call, and nothing of the request', async t => {
  const key = { id: 'key-1', name: 'one', project: { id: 'p-1', name: 'support' } }
  const call = routedCall(
    { secret: true },
    { record: new CallRecord('chat'), key, routes: [route('a/m'), route('b/m')] }
  )
  t.same(callFacts(call), {
    id: call.id,
    endpoint: 'chat',
    key: { id: 'key-1', name: 'one' },
    project: 'p-1',
    models: ['a/m', 'b/m']
  })
  t.equal(callFacts({ ...call, key: { id: 'k', name: 'k' } }).project, 'default')
})
