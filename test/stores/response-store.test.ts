import { ResponseStore, type ResponseStoreOptions } from '../../lib/stores/response-store.ts'
import { startedResponse } from '../../lib/dialects/responses/response-object.ts'
import { responsesStart } from '../support/responses.ts'
import {
  failingAt,
  lockedAfterFirstPiece,
  storeTest,
  type OpenStore,
  type PieceLock
} from '../support/stores.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { EarlierResponse, StoredItem } from '../../lib/dialects/responses/archive.ts'

const item = (id: string, text = id): StoredItem => ({
  type: 'message',
  id,
  role: 'user',
  content: [{ type: 'input_text', text }]
})

const storeOptions: ResponseStoreOptions = {
  keeps: true,
  keepMs: 60_000,
  maxBytesPerKey: 1_000_000,
  maxBodyBytes: 1_000_000,
  maxItems: 100,
  maxBytes: 1_000_000
}

async function open (openStore: OpenStore, options: Partial<ResponseStoreOptions> = {}) {
  const database = await openStore()
  const store = new ResponseStore(database, () => ({ ...storeOptions, ...options }))
  const keep = async (
    id: string,
    input: readonly StoredItem[],
    previous?: EarlierResponse,
    keyId = 'key-1'
  ): Promise<EarlierResponse> => {
    const response = { ...startedResponse(responsesStart()), id, status: 'completed' as const }
    await store.keep({
      keyId,
      response,
      input,
      itemIds: input.map(({ id }) => id),
      ...previous !== undefined && { previous }
    })
    return { id, rootId: previous?.rootId ?? id }
  }
  const left = async (): Promise<string[]> =>
    (await database.query.selectFrom('responses').select('id').orderBy('id').execute()).map(({ id }) => id)
  return { database, store, keep, left }
}

storeTest('a conversation is read from its first response on, however it branches', async (t, openStore) => {
  const { store, keep } = await open(openStore)
  const first = await keep('a', [item('1'), item('2')])
  const second = await keep('b', [item('3')], first)
  await keep('c', [item('4')], second)
  await keep('d', [item('5')], first)
  t.match(await store.continuation('key-1', 'c'), {
    id: 'c',
    rootId: 'a',
    items: ['1', '2', '3', '4'].map(id => ({ id }))
  })
  t.match(await store.continuation('key-1', 'd'), { items: [{ id: '1' }, { id: '2' }, { id: '5' }] })
  t.equal(await store.continuation('key-2', 'c'), undefined)
  t.same([...(await store.items('key-1', ['3', '5', 'none'])).keys()].toSorted(), ['3', '5'])
  t.equal((await store.items('key-2', ['3'])).size, 0)
})

storeTest('overlong conversations are refused before they are read', async (t, openStore) => {
  const { store, keep } = await open(openStore, { maxItems: 2 })
  const first = await keep('a', [item('1'), item('2')])
  t.ok(await store.continuation('key-1', 'a'))
  const second = await keep('b', [item('3')], first)
  await t.rejects(store.continuation('key-1', 'b'), { code: 'context_length_exceeded' })
  await keep('c', [], second)
  await t.rejects(store.continuation('key-1', 'c'), { code: 'context_length_exceeded' })
})

storeTest(
  'thousands of items are stored and found again, unless they are too long together',
  async (t, openStore) => {
    const { store, keep } = await open(openStore, {
      maxItems: 10_000,
      maxBytes: 2_000_000,
      maxBytesPerKey: 10_000_000,
      maxBodyBytes: 2_000_000
    })
    const ids = Array.from({ length: 2500 }, (_, index) => `item-${index}`)
    await keep(
      'a',
      ids.map(id => item(id))
    )
    t.equal((await store.items('key-1', ids)).size, 2500)
    await keep('b', [item('long', 'x'.repeat(1_900_000))])
    await t.rejects(store.items('key-1', ['item-1', 'long']), {
      code: 'context_length_exceeded',
      param: 'input'
    })
    t.equal((await store.items('key-1', ['long'])).size, 1)
    await t.rejects(
      store.items('key-1', ['long', 'long']),
      { code: 'context_length_exceeded', param: 'input' },
      'which is sent twice'
    )
  }
)

storeTest('a conversation expires as a whole, and is hidden from that moment on', async (t, openStore) => {
  const { store, keep, left, database } = await open(openStore)
  const first = await keep('a', [item('1')])
  await keep('b', [item('2')], first)
  await keep('x', [item('3')])
  const past = Date.now() - 1
  await database.query
    .updateTable('responses')
    .set({ expires_at_ms: past })
    .where('id', 'in', ['a', 'x'])
    .execute()
  t.equal(await store.find('key-1', 'a'), undefined)
  t.equal((await store.items('key-1', ['1'])).size, 0)
  await store.expire(Date.now())
  t.same(await left(), ['a', 'b'])
  t.match(await store.continuation('key-1', 'b'), { items: [{ id: '1' }, { id: '2' }] })
  await database.query.updateTable('responses').set({ expires_at_ms: past }).execute()
  await store.expire(Date.now())
  t.same(await left(), [])
})

storeTest(
  'deleting the last response of a conversation deletes earlier ones marked as deleted',
  async (t, openStore) => {
    const { store, keep, left } = await open(openStore)
    const first = await keep('a', [item('1')])
    const second = await keep('b', [item('2')], first)
    await keep('c', [item('3')], second)
    t.same(await store.remove('key-1', 'b'), { origin: undefined })
    t.equal(await store.remove('key-1', 'b'), undefined)
    t.equal(await store.remove('key-2', 'c'), undefined)
    t.same(await left(), ['a', 'b', 'c'])
    await store.remove('key-1', 'c')
    t.same(await left(), ['a'])
  }
)

storeTest('a key has a byte limit: the oldest responses are deleted first', async (t, openStore) => {
  const { store, keep, left } = await open(openStore, { maxBytesPerKey: 100_000 })
  await keep('other', [item('o', 'x'.repeat(50_000))], undefined, 'key-2')
  for (let number = 10; number < 60; number++) {
    await keep(`r${number}`, [item(`${number}`, 'x'.repeat(9_000))])
  }
  const ids = await left()
  t.ok(ids.includes('other'))
  t.ok(ids.includes('r59'))
  t.notOk(ids.includes('r10'))
  t.ok(ids.length < 20, `${ids.length} are left`)
  t.ok(await store.find('key-1', 'r59'))
})

storeTest(
  'the newest response keeps everything it continues, until another one is stored',
  async (t, openStore) => {
    const { store, keep, left } = await open(openStore, { maxBytesPerKey: 100_000 })
    const large = (id: string, length = 40_000): StoredItem[] => [item(id, 'x'.repeat(length))]
    await keep('x', large('0'))
    const first = await keep('a', large('1'))
    const second = await keep('b', large('2'), first)
    await keep('c', large('3'), second)
    t.same(await left(), ['a', 'b', 'c'])
    t.match(await store.continuation('key-1', 'c'), { items: [{ id: '1' }, { id: '2' }, { id: '3' }] })
    t.equal(await store.find('key-1', 'b'), undefined, 'older ones are kept for it alone')
    await keep('y', large('4'))
    t.same(await left(), ['y'])
    await keep('z', large('5', 200_000))
    t.same(await left(), ['z'])
    t.ok(await store.find('key-1', 'z'))
  }
)

storeTest('branches of a conversation make room for the newest one', async (t, openStore) => {
  const { store, keep, left } = await open(openStore, { maxBytesPerKey: 100_000 })
  const first = await keep('a', [item('1', 'x'.repeat(9_000))])
  for (let number = 10; number < 60; number++) {
    await keep(`b${number}`, [item(`${number}`, 'x'.repeat(9_000))], first)
  }
  t.match(await store.continuation('key-1', 'b59'), { items: [{ id: '1' }, { id: '59' }] })
  const ids = await left()
  t.ok(ids.length < 20, `${ids.length} are left`)
})

storeTest(
  "a response is stored concurrently with one whose conversation exceeds the key's limit",
  async (t, openStore) => {
    const options = { maxBytesPerKey: 100_000 }
    const { store, database, keep, left } = await open(openStore, options)
    const lock = lockedAfterFirstPiece()
    const another = await open(
      async () => ({ ...database, query: database.query.withPlugin(lock.plugin) }),
      options
    )
    const first = await keep('a', [item('1', 'x'.repeat(60_000))])
    const stored = another.keep('b', [item('2', 'x'.repeat(300_000))], first)
    await lock.reached
    options.maxBytesPerKey = 50_000
    await keep('c', [item('3', 'x'.repeat(10_000))])
    t.same(await left(), ['a', 'b', 'c'])
    t.ok(await store.find('key-1', 'c'))
    lock.release()
    await stored
    t.same(await left(), ['a', 'b'])
    t.match(await store.continuation('key-1', 'b'), { items: [{ id: '1' }, { id: '2' }] })
  }
)

storeTest(
  'long texts are stored in pieces, read back unchanged, and deleted completely',
  async (t, openStore) => {
    const { store, keep, database } = await open(openStore, {
      maxBodyBytes: 2_000_000,
      maxBytes: 10_000_000,
      maxBytesPerKey: 10_000_000
    })
    const long = '€😀x'.repeat(150_000)
    const first = await keep('a', [item('1', long), item('2')])
    await keep('b', [item('3', long)], first)
    const taken: number[] = []
    const { items = [] } = (await store.continuation('key-1', 'b', bytes => taken.push(bytes))) ?? {}
    t.ok(JSON.stringify(items) === JSON.stringify([item('1', long), item('2'), item('3', long)]))
    t.ok(
      taken[0] !== undefined && taken[0] > 2 * 2 * Buffer.byteLength(long),
      'its memory is counted before it is read'
    )
    await t.rejects(
      store.continuation('key-1', 'b', () => {
        throw new Error('no memory')
      }),
      { message: 'no memory' }
    )
    t.match((await store.items('key-1', ['2'])).get('2'), { item: item('2') })
    await store.remove('key-1', 'b')
    t.equal((await store.conversations.inputItems('key-1', 'a'))?.length, 2)
    await store.remove('key-1', 'a')
    for (const table of ['responses', 'text_pieces', 'response_items'] as const) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], table)
    }
  }
)

storeTest(
  'a response is hidden until it is completely stored, and expires if that never happens',
  async (t, openStore) => {
    const { store, database } = await open(openStore)
    const lock = lockedAfterFirstPiece()
    const { keep } = await open(async () => ({ ...database, query: database.query.withPlugin(lock.plugin) }))
    const stored = keep('a', [item('1', 'x'.repeat(900_000))])
    await lock.reached
    t.equal(await store.find('key-1', 'a'), undefined)
    t.equal((await database.query.selectFrom('text_pieces').select('number').execute()).length, 1)
    await store.expire(Date.now() + 3_700_000)
    lock.release()
    await stored
    t.equal(await store.find('key-1', 'a'), undefined)
    t.same(await database.query.selectFrom('text_pieces').select('number').execute(), [])
  }
)

storeTest(
  'an oversized response is refused, and one in progress can still fail',
  async (t, openStore) => {
    const { store, keep, left } = await open(openStore, { maxBodyBytes: 100_000 })
    await t.rejects(keep('a', [item('1', 'x'.repeat(100_000))]), {
      code: 'file_too_large',
      message: /larger than 0\.1 MB/
    })
    t.same(await left(), [])
    const response = { ...startedResponse(responsesStart()), id: 'b', status: 'queued' as const }
    await store.keep(
      { keyId: 'key-1', response, input: [], itemIds: [] },
      { owner: 'me', untilMs: Date.now() + 60_000 }
    )
    const large = { ...response, status: 'completed' as const, instructions: 'ä'.repeat(60_000) }
    await t.rejects(store.finish(large, 'me'), { code: 'file_too_large' })
    t.equal(await store.status('key-1', 'b'), 'queued')
    t.equal(await store.update({ ...response, status: 'failed' }, 'me'), true)
  }
)

storeTest(
  'leases of the named responses are renewed, even thousands, and others fail when theirs end',
  async (t, openStore) => {
    const { store, keep, database } = await open(openStore)
    const response = { ...startedResponse(responsesStart()), status: 'in_progress' as const }
    const begin = async (id: string, owner: string): Promise<void> => {
      await store.keep(
        { keyId: 'key-1', response: { ...response, id }, input: [], itemIds: [] },
        { owner, untilMs: 1000 }
      )
    }
    const names = Array.from({ length: 2000 }, (_, index) => `none-${index}`)
    for (const id of ['a', 'b', 'c']) await begin(id, 'me')
    await begin('other', 'another')
    await keep('done', [])
    t.same(
      [
        ...(await store.renew(['a', 'done', 'other', ...names, 'b'], { owner: 'me', untilMs: 2000 }))
      ].toSorted(),
      ['a', 'b']
    )
    t.equal((await store.renew([], { owner: 'me', untilMs: 2000 })).size, 0)
    await store.failOrphans(1500, { code: 'server_error', message: 'It ended.' })
    const rows = await database.query
      .selectFrom('responses')
      .select(['id', 'status'])
      .orderBy('id')
      .execute()
    t.same(
      rows.map(({ id, status }) => `${id} ${status}`),
      ['a in_progress', 'b in_progress', 'c failed', 'done completed', 'other failed']
    )
  }
)

storeTest('gateways share the work of ending responses of dead processes, a few at a time', async (t, openStore) => {
  const { store, database } = await open(openStore)
  const response = { ...startedResponse(responsesStart()), status: 'in_progress' as const }
  const ids = Array.from({ length: 30 }, (_, index) => `orphan-${index}`)
  for (const id of ids) {
    await store.keep(
      { keyId: 'key-1', response: { ...response, id }, input: [], itemIds: [] },
      { owner: 'dead', untilMs: 1000 }
    )
  }
  const unstored = database.query.updateTable('responses').set({ key_id: '', response: '' })
  await unstored.where('id', '=', 'orphan-0').execute()
  const read: string[] = []
  const end = async (): Promise<void> => {
    const gateway = new ResponseStore(database, () => storeOptions)
    const find = gateway.find.bind(gateway)
    t.intercept(gateway, 'find', {
      value: async (keyId: string, id: string) => {
        read.push(id)
        return await find(keyId, id)
      }
    })
    await gateway.failOrphans(1500, { code: 'server_error', message: 'It ended.' })
  }
  await end()
  t.equal(read.length, 20)
  await Promise.all([end(), end()])
  t.same(read.toSorted(), ids.slice(1).toSorted(), 'each is read once, and none that is not stored yet')
  const failed = await database.query
    .selectFrom('responses').select('id').where('status', '=', 'failed').execute()
  t.equal(failed.length, 29)
})

storeTest(
  "frames of a stream are read from any number on, and count towards their key's limit",
  async (t, openStore) => {
    const { store, keep, database } = await open(openStore, { maxBytesPerKey: 300_000 })
    const frame = (number: number, text = ''): string => `event: x\ndata: ${number}${text}\n\n`
    await keep('a', [])
    t.equal(await store.frames.has('a'), false)
    await store.frames.add('a', 0, [frame(0), frame(1)])
    await store.frames.add('a', 2, [frame(2)])
    await store.frames.add('a', 2, [frame(2), frame(3, 'x'.repeat(290_000))])
    await store.frames.add('a', 4, [frame(4)])
    const read = async (from: number): Promise<string[]> => {
      const frames: string[] = []
      for await (const some of store.frames.read('a', from)) {
        frames.push(...some.map(text => text.slice(0, 16)))
      }
      return frames
    }
    const all = [0, 1, 2, 3, 4].map(number => frame(number, number === 3 ? 'xxx' : '').slice(0, 16))
    for (const from of [0, 1, 2, 3, 4, 5]) {
      t.same(
        (await read(from)).map(text => text.trim()),
        all.slice(from).map(text => text.trim())
      )
    }
    t.equal(await store.frames.has('a'), true)
    await keep('b', [item('1')])
    await keep('c', [item('2', 'x'.repeat(20_000))])
    t.equal(await store.find('key-1', 'a'), undefined, 'the oldest made room')
    t.same(await database.query.selectFrom('response_events').selectAll().execute(), [])
    t.same(await database.query.selectFrom('text_pieces').selectAll().execute(), [])
  }
)

storeTest(
  'everything stored of a response counts for its key: its running stream, its end, and its item ids',
  async (t, openStore) => {
    const { store, keep, left, database } = await open(openStore, { maxBytesPerKey: 300_000 })
    const begin = async (id: string): Promise<void> => {
      const response = { ...startedResponse(responsesStart()), id, status: 'queued' as const }
      await store.keep(
        { keyId: 'key-1', response, input: [], itemIds: [] },
        { owner: 'me', untilMs: Date.now() + 60_000 }
      )
    }
    const room = async (): Promise<number> =>
      (
        await database.query
          .selectFrom('responses')
          .select(({ fn, eb }) => fn.sum<number>(eb('size_bytes', '+', eb.ref('stream_bytes'))).as('bytes'))
          .where('key_id', '=', 'key-1')
          .executeTakeFirstOrThrow()
      ).bytes
    t.equal(store.maxStreamBytes, 300_000, 'a stream alone is not longer than all that its key may keep')
    await begin('a')
    await begin('b')
    await store.frames.add('a', 0, ['x'.repeat(200_000)])
    t.same(await left(), ['a', 'b'])
    await store.frames.add('b', 0, ['x'.repeat(150_000)])
    t.same(await left(), ['b'], 'the stream of the one made room, though it has not ended')
    t.equal(
      (await store.renew(['a', 'b'], { owner: 'me', untilMs: Date.now() + 60_000 })).has('a'),
      false,
      'which its process notices'
    )
    await begin('c')
    const end = {
      ...startedResponse(responsesStart()),
      id: 'c',
      status: 'completed' as const,
      instructions: 'x'.repeat(200_000)
    }
    await store.finish(end, 'me')
    t.same(await left(), ['c'], 'so did the end of the other')
    const before = await room()
    await keep(
      'd',
      Array.from({ length: 100 }, (_, index) => item(`item-${index}`))
    )
    const texts = await database.query
      .selectFrom('responses')
      .select(['response', 'input'])
      .where('id', '=', 'd')
      .executeTakeFirstOrThrow()
    t.ok(
      (await room()) - before > texts.response.length + texts.input.length + 100 * 100,
      'an item takes more than its own text'
    )
  }
)

/** A store in which statements of a kind on a table fail until `release` is called. */
function failingStore (database: Database, ...statements: Parameters<typeof failingAt>) {
  const { plugin, release } = failingAt(...statements)
  const query = database.query.withPlugin(plugin)
  const options = (): ResponseStoreOptions => ({ ...storeOptions, maxBytesPerKey: 1000 })
  return { store: new ResponseStore({ ...database, query }, options), release }
}

storeTest('bytes of frames count once, even if the write failed half-way', async (t, openStore) => {
  for (const [kind, table] of [
    ['InsertQueryNode', 'response_events'],
    ['SelectQueryNode', 'responses'] // while room is made
  ] as const) {
    const { store, database } = await open(openStore)
    const response = { ...startedResponse(responsesStart()), id: table, status: 'queued' as const }
    const owner = { owner: 'me', untilMs: Date.now() + 60_000 }
    await store.keep({ keyId: 'key-1', response, input: [], itemIds: [] }, owner)
    const failing = failingStore(database, kind, table)
    const counted = { bytes: 0 }
    const frames = [`${'x'.repeat(1998)}\n\n`]
    await t.rejects(failing.store.frames.add(table, 0, frames, counted), { code: 'overloaded' })
    failing.release()
    frames.push(`${'y'.repeat(498)}\n\n`)
    await failing.store.frames.add(table, 0, frames, counted)
    t.match(
      await database.query.selectFrom('responses').select('stream_bytes').where('id', '=', table)
        .executeTakeFirst(),
      { stream_bytes: 2500 },
      table
    )
    for await (const stored of store.frames.read(table)) t.strictSame(stored, frames)
  }
})

storeTest('an end that was stored half-way is completed when it is repeated', async (t, openStore) => {
  const { store, database } = await open(openStore)
  const response = {
    ...startedResponse(responsesStart()),
    id: 'a',
    status: 'queued' as const,
    instructions: 'x'.repeat(200_000)
  }
  const owner = { owner: 'me', untilMs: Date.now() + 60_000 }
  await store.keep({ keyId: 'key-1', response, input: [], itemIds: [] }, owner)
  const ended = {
    ...response,
    status: 'completed' as const,
    output: [
      {
        type: 'message' as const,
        id: 'msg_1',
        role: 'assistant' as const,
        status: 'completed' as const,
        content: []
      }
    ]
  }
  const failing = failingStore(database, 'InsertQueryNode', 'response_items')
  await t.rejects(failing.store.finish(ended, 'me'), { code: 'overloaded' })
  failing.release()
  const bytes = async () => await database.query.selectFrom('responses')
    .select(['size_bytes', 'stream_bytes']).where('id', '=', 'a').executeTakeFirst()
  const before = await bytes()
  t.equal(await failing.store.finish(ended, 'me'), true)
  t.same(await bytes(), before, 'its bytes count once')
  t.same([...(await store.items('key-1', ['msg_1'])).keys()], ['msg_1'])
  t.equal(await store.finish({ ...ended, status: 'failed' }, 'me'), false, 'another end comes too late')
  t.equal(await store.status('key-1', 'a'), 'completed')
})

storeTest("there is one copy of a response's text, and none after deletion", async (t, openStore) => {
  const { store, database } = await open(openStore)
  const names = async (): Promise<string[]> =>
    (await database.query.selectFrom('text_pieces').select('name').distinct().orderBy('name').execute()).map(
      ({ name }) => name
    )
  const begin = async (id: string) => {
    const response = {
      ...startedResponse(responsesStart()),
      id,
      status: 'queued' as const,
      instructions: 'x'.repeat(200_000)
    }
    await store.keep(
      { keyId: 'key-1', response, input: [], itemIds: [] },
      { owner: 'me', untilMs: Date.now() + 60_000 }
    )
    return response
  }
  const first = await begin('a')
  t.same(await names(), ['queued'])
  await store.update({ ...first, status: 'in_progress' }, 'me')
  t.same(await names(), ['in_progress'])
  t.match(await store.cancel('key-1', first), { status: 'cancelled', instructions: first.instructions })
  t.same(await names(), ['cancelled'])
  t.equal(await store.finish({ ...first, status: 'completed' }, 'me'), false)
  t.match(
    await store.cancel('key-1', first),
    { status: 'cancelled', instructions: first.instructions },
    'again'
  )
  t.same(await names(), ['cancelled'])
  await store.remove('key-1', 'a')
  t.same(await names(), [])
  const second = await begin('b')
  await store.remove('key-1', 'b')
  await store.frames.add('b', 0, ['x'.repeat(200_000)])
  t.equal(await store.finish({ ...second, status: 'completed' }, 'me'), false)
  await store.cancel('key-1', second)
  t.equal(await store.finish({ ...second, status: 'completed' }, 'me', undefined, 'sealed'), false)
  t.same(await names(), [], 'what comes after the end is not kept')
  t.same(await database.query.selectFrom('response_events').selectAll().execute(), [])
})

storeTest('a response deleted while it is stored or ends leaves nothing', async (t, openStore) => {
  const { store, database } = await open(openStore)
  const slowStore = (): readonly [ResponseStore, PieceLock] => {
    const lock = lockedAfterFirstPiece()
    const query = database.query.withPlugin(lock.plugin)
    return [new ResponseStore({ ...database, query }, () => storeOptions), lock]
  }
  const response = {
    ...startedResponse(responsesStart()),
    status: 'queued' as const,
    instructions: 'x'.repeat(400_000)
  }
  const ends: Readonly<Record<string, (slow: ResponseStore, id: string) => Promise<unknown>>> = {
    finish: async (slow, id) =>
      await slow.finish({ ...response, id, status: 'completed' }, 'me', undefined, 's'.repeat(200_000)),
    cancel: async (slow, id) => await slow.cancel('key-1', { ...response, id }),
    frames: async (slow, id) => await slow.frames.add(id, 0, ['x'.repeat(400_000)])
  }
  for (const [name, end] of Object.entries(ends)) {
    await store.keep(
      { keyId: 'key-1', response: { ...response, id: name }, input: [], itemIds: [], placeholders: 'sealed' },
      { owner: 'me', untilMs: Date.now() + 60_000 }
    )
    const [slow, lock] = slowStore()
    const ending = end(slow, name)
    await lock.reached
    await store.remove('key-1', name)
    lock.release()
    await ending.catch(() => undefined) // frames of a deleted response
    for (const table of ['text_pieces', 'response_events', 'responses'] as const) {
      t.same(await database.query.selectFrom(table).selectAll().execute(), [], `${name}: ${table}`)
    }
  }
})
