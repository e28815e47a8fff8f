import t from 'tap'
import { takeTags } from '../../lib/chat/caller-tags.ts'
import { CallRecord } from '../../lib/core/record.ts'

t.test('a list of tags is taken out of a request and put on the record', async t => {
  const record = new CallRecord('chat')
  t.same(takeTags({ model: 'm', metadata: { tags: ['a', 1, 'b'.repeat(100)], job: 'x' } }, record), { model: 'm', metadata: { job: 'x' } })
  t.same(record.tags, ['a', 'b'.repeat(64)])
  t.same(takeTags({ model: 'm', metadata: { tags: Array.from({ length: 30 }, (_, index) => String(index)) } }, record), { model: 'm' })
  t.equal(record.tags?.length, 20)
})

t.test('any other body stays the same one', async t => {
  const record = new CallRecord('chat')
  for (const body of [null, 'x', [], {}, { metadata: null }, { metadata: ['tags'] }, { metadata: { tags: 'a,b' } }]) t.equal(takeTags(body, record), body)
  t.equal(record.tags, undefined)
})
