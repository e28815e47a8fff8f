import t from 'tap'
import { callIdsIn, uniqueCallId } from '../../lib/chat/call-ids.ts'

t.test('the ids of a history are those of its calls', async t => {
  const call = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })
  t.same(
    [
      ...callIdsIn({
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] as never },
          { role: 'assistant', content: 'c' }
        ]
      })
    ],
    ['a', 'b']
  )
  t.same([...callIdsIn({})], [])
})

t.test('a duplicate or missing id is replaced with a new one', async t => {
  const taken = new Set(['a'])
  t.equal(uniqueCallId('b', taken), 'b')
  const others = [uniqueCallId('a', taken), uniqueCallId('b', taken), uniqueCallId(undefined, taken)]
  for (const id of others) t.match(id, /^call_/)
  t.equal(taken.size, 5)
})
