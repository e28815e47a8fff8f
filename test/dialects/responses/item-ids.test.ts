import t from 'tap'
import { identified, itemId } from '../../../lib/dialects/responses/item-ids.ts'

t.test('an id has the prefix of its type, and ids are unique', async t => {
  t.match(itemId('resp'), /^resp_[0-9a-f]{32}$/)
  t.not(itemId('resp'), itemId('resp'))
})

t.test('items get a missing type, id, status and parts', async t => {
  const { items, newIds: made } = identified([
    { role: 'user', content: 'hi' },
    { type: 'message', id: 'msg_1', role: 'assistant', content: 'yes' },
    { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
    { type: 'message', id: 'msg_1', role: 'user', content: [{ type: 'input_text', text: 'again' }] }
  ])
  t.match(items, [
    { type: 'message', id: /^msg_/, status: 'completed', content: [{ type: 'input_text', text: 'hi' }] },
    {
      type: 'message',
      id: 'msg_1',
      content: [{ type: 'output_text', text: 'yes', annotations: [], logprobs: [] }]
    },
    { type: 'function_call', id: /^fc_/, status: 'completed' },
    { type: 'message', id: /^msg_[0-9a-f]{32}$/, content: [{ text: 'again' }] }
  ])
  t.strictSame(made, [items[0]?.id, items[2]?.id, items[3]?.id], 'the second of two equal ids is replaced')
})

t.test('an item type named like an Object.prototype member gets an id like any other', async t => {
  for (const type of ['constructor', 'toString', '__proto__']) {
    // a future type
    const { items: [item] } = identified([{ type } as unknown as Parameters<typeof identified>[0][number]])
    t.match(item?.id, /^item_[0-9a-f]{32}$/, type)
  }
})
