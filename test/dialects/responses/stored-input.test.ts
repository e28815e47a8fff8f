import t from 'tap'
import { isReference, readStored } from '../../../lib/dialects/responses/stored-input.ts'
import { CallRecord } from '../../../lib/core/record.ts'
import type { ResponseArchive, StoredItem } from '../../../lib/dialects/responses/archive.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'

const item: StoredItem = { id: 'msg_1', type: 'message', role: 'user', content: 'hi' }
const lookups: unknown[] = []
const archive: ResponseArchive = {
  keeps: true,
  maxBodyBytes: 1_000_000,
  continuation: async (keyId, id) =>
    id === 'resp_1' && keyId === 'key' ? { id, rootId: id, items: [item] } : undefined,
  items: async (_keyId, ids) => {
    lookups.push(ids)
    return new Map(ids.includes('msg_1') ? [['msg_1', { item }]] : [])
  },
  keep: async () => undefined
}
const empty: ResponseArchive = { ...archive, continuation: async () => undefined }
const read = (
  parts: Partial<ResponsesRequest>,
  keyId = 'key',
  from: ResponseArchive | undefined = archive
): ReturnType<typeof readStored> =>
  readStored(
    {
      request: { model: 'one/m', input: 'hi', ...parts },
      key: { id: keyId, name: 'test' },
      record: new CallRecord('responses')
    },
    from
  )

t.test('a request without stored input does not wait for the store', async t => {
  t.equal(read({}), undefined)
  t.equal(read({ input: [{ id: 'msg_1', type: 'message', role: 'user', content: 'hi' }] }), undefined)
  t.strictSame(lookups, [])
})

t.test('references are looked up, as is reasoning without its state', async t => {
  const input: ResponsesRequest['input'] = [
    { type: 'item_reference', id: 'msg_1' },
    { type: 'reasoning', id: 'rs_1', summary: [] },
    { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'x' }
  ]
  t.strictSame((await read({ input }))?.items, new Map([['msg_1', { item }]]))
  t.strictSame(lookups.splice(0), [['msg_1', 'rs_1']])
})

t.test('a response can be continued by the key that created it, and does not exist for others', async t => {
  t.match(await read({ previous_response_id: 'resp_1' }), {
    continuation: { rootId: 'resp_1', items: [item] }
  })
  for (const [key, kept] of [
    ['other', archive],
    ['key', empty]
  ] as const) {
    await t.rejects(
      async () => {
        await read({ previous_response_id: 'resp_1' }, key, kept)
      },
      { code: 'invalid_value', param: 'previous_response_id', shownCode: 'previous_response_not_found' }
    )
  }
})

t.test('a reference may omit its type', async t => {
  t.ok(isReference({ id: 'msg_1' }))
  t.notOk(isReference(item))
})
