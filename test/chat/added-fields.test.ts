import t from 'tap'
import { isAddedField, withoutAddedFields } from '../../lib/chat/added-fields.ts'

t.test('fields that only the gateway may set are removed from a request', async t => {
  const request = {
    model: 'm',
    messages: [],
    asWritten: {},
    toolApproval: { approved: [] },
    text: 'x',
    min_p: 0.1
  }
  t.strictSame(withoutAddedFields(request), { model: 'm', messages: [], min_p: 0.1 })
  t.same(Object.keys(request).filter(isAddedField), ['asWritten', 'toolApproval', 'text'])
  const plain = { model: 'm', messages: [] }
  t.equal(withoutAddedFields(plain), plain)
})
