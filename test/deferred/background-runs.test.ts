import { BackgroundRuns } from '../../lib/deferred/background-runs.ts'
import { ResponseStore, type ResponseStoreOptions } from '../../lib/stores/response-store.ts'
import { startedResponse } from '../../lib/dialects/responses/response-object.ts'
import { responsesStart } from '../support/responses.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { failingAt, storeTest } from '../support/stores.ts'
import type { ResponseObject } from '../../schemas/responses.ts'

/** What a store of responses keeps. */
const rules = (): ResponseStoreOptions => ({
  keeps: true,
  keepMs: 60_000,
  maxBytesPerKey: 1_000_000,
  maxBodyBytes: 1_000_000,
  maxItems: 100,
  maxBytes: 1_000_000
})

const frame = (number: number): string => `event: response.test\ndata: {"number":${number}}\n\n`

storeTest('frames that could not be stored are stored later, and count once', async (t, open) => {
  const database = await open()
  const store = new ResponseStore(database, rules)
  const add = store.frames.add.bind(store.frames)
  const query = database.query.withPlugin(failingAt('InsertQueryNode', 'response_events').plugin)
  const broken = new ResponseStore({ ...database, query }, rules)
  let writes = 0
  t.intercept(store.frames, 'add', {
    value: async (...args: Parameters<typeof add>) => {
      if (writes++ === 1) await broken.frames.add(...args)
      else await add(...args)
    }
  })
  const failures: unknown[] = []
  const runs = new BackgroundRuns(store, {
    events: { onEnd: () => undefined },
    maxRunning: () => 10,
    onFailure: error => failures.push(error)
  })
  const response = { ...startedResponse(responsesStart()), id: 'resp_1', status: 'queued' as const }
  await runs.begin({
    toKeep: { keyId: 'key-1', response, input: [], itemIds: [] },
    firstFrames: [frame(0)],
    failed: () => ({ ...response, status: 'failed' }),
    run: async (_signal, write) => {
      write(frame(1))
      await until(() => failures.length === 1, 'a write that failed')
      write(frame(2))
      await runs.finish({ ...response, status: 'completed' })
    }
  })
  await runs.whenIdle()
  const stored: string[] = []
  for await (const frames of store.frames.read('resp_1')) stored.push(...frames)
  t.same(stored, [0, 1, 2].map(frame))
  t.match(failures, [{ code: 'overloaded' }])
  t.same(
    await database.query.selectFrom('responses').select('stream_bytes').execute(),
    [{ stream_bytes: Buffer.byteLength(stored.join('')) }]
  )
})

storeTest(
  'a response whose end could not be stored fails when its lease ends, though others still run',
  async (t, open) => {
    let nowMs = Date.now()
    const store = new ResponseStore({ ...(await open()), now: () => nowMs }, rules)
    let isLocked = false
    for (const name of ['finish', 'update'] as const) {
      const replace: ResponseStore['finish'] = store[name]
      t.intercept(store, name, {
        value: async (...args: Parameters<typeof replace>) => {
          if (isLocked && args[0].id === 'resp_1') throw new Error('the store is locked')
          return await replace.apply(store, args)
        }
      })
    }
    const failures: unknown[] = []
    const runs = new BackgroundRuns(store, {
      events: { onEnd: () => undefined },
      maxRunning: () => 10,
      onFailure: error => failures.push(error)
    })
    const begin = async (id: string, run: (response: ResponseObject) => Promise<void>): Promise<void> => {
      const response = { ...startedResponse(responsesStart()), id, status: 'queued' as const }
      await runs.begin({
        toKeep: { keyId: 'key-1', response, input: [], itemIds: [] },
        firstFrames: [],
        failed: () => ({ ...response, status: 'failed' }),
        run: async () => {
          await run({ ...response, status: 'completed' })
        }
      })
    }
    const ended = withResolvers<void>()
    t.teardown(async () => {
      ended.resolve()
      await runs.stop()
    })
    await begin('resp_other', async response => {
      await ended.promise
      await runs.finish(response)
    })
    await begin('resp_1', async response => {
      isLocked = true
      await runs.finish(response)
    })
    await until(() => failures.length === 1, 'an end that could not be stored')
    isLocked = false
    t.equal(await store.status('key-1', 'resp_1'), 'in_progress')
    nowMs += 16_000
    runs.start()
    await until(async () => (await store.status('key-1', 'resp_1')) === 'failed', 'a response that failed')
    t.equal(await store.status('key-1', 'resp_other'), 'in_progress')
    ended.resolve()
    await runs.whenIdle()
    t.equal(await store.status('key-1', 'resp_other'), 'completed')
    t.match(failures, [{ message: 'the store is locked' }])
  }
)

storeTest('renewing the lease while a response is being stored does not end it', async (t, open) => {
  const database = await open()
  // The response is stored after the renewal, or during it.
  for (const when of ['after', 'during']) {
    const store = new ResponseStore(database, rules)
    const [stores, renewed, begun, looked] = [
      withResolvers<void>(),
      withResolvers<void>(),
      withResolvers<void>(),
      withResolvers<void>()
    ]
    const keep = store.keep.bind(store)
    const renew = store.renew.bind(store)
    const failOrphans = store.failOrphans.bind(store)
    const named: Array<readonly string[]> = []
    t.intercept(store, 'keep', {
      value: async (...args: Parameters<typeof keep>) => {
        await stores.promise
        await keep(...args)
      }
    })
    t.intercept(store, 'renew', {
      value: async (...args: Parameters<typeof renew>) => {
        named.push(args[0])
        const mine = await renew(...args)
        renewed.resolve()
        if (when === 'during') await begun.promise
        return mine
      }
    })
    t.intercept(store, 'failOrphans', {
      value: async (...args: Parameters<typeof failOrphans>) => {
        await failOrphans(...args)
        looked.resolve()
      }
    })
    const failures: unknown[] = []
    const runs = new BackgroundRuns(store, {
      events: { onEnd: () => undefined },
      maxRunning: () => 10,
      onFailure: error => failures.push(error),
      leaseMs: 600_000
    })
    const id = `resp_${when}`
    const response = { ...startedResponse(responsesStart()), id, status: 'queued' as const }
    const beginning = runs.begin({
      toKeep: { keyId: 'key-1', response, input: [], itemIds: [] },
      firstFrames: [],
      failed: () => ({ ...response, status: 'failed' }),
      run: async signal => {
        await looked.promise
        signal.throwIfAborted()
        await runs.finish({ ...response, status: 'completed' })
      }
    })
    runs.start()
    await (when === 'during' ? renewed : looked).promise
    stores.resolve()
    await beginning
    begun.resolve()
    await runs.whenIdle()
    t.same(named, [[id]])
    t.equal(await store.status('key-1', id), 'completed', when)
    t.same(failures, [])
    await runs.stop()
  }
})

storeTest('a response that is being stored is not cancelled by a renewal that misses it', async (t, open) => {
  const store = new ResponseStore(await open(), rules)
  const finish = store.finish.bind(store)
  const renew = store.renew.bind(store)
  const renewed = withResolvers<void>()
  let isFinished = false
  t.intercept(store, 'finish', {
    value: async (...args: Parameters<typeof finish>) => {
      const finished = await finish(...args)
      isFinished = true
      await renewed.promise // as on PostgreSQL, where other statements follow
      return finished
    }
  })
  t.intercept(store, 'renew', {
    value: async (...args: Parameters<typeof renew>) => {
      const mine = await renew(...args)
      if (isFinished) setImmediate(renewed.resolve)
      return mine
    }
  })
  const runs = new BackgroundRuns(store, {
    events: { onEnd: () => undefined },
    maxRunning: () => 10,
    onFailure: error => t.fail(String(error)),
    leaseMs: 60
  })
  runs.start()
  const response = { ...startedResponse(responsesStart()), id: 'resp_1', status: 'queued' as const }
  let aborted: boolean | undefined
  await runs.begin({
    toKeep: { keyId: 'key-1', response, input: [], itemIds: [] },
    firstFrames: [],
    failed: () => ({ ...response, status: 'failed' }),
    run: async signal => {
      await runs.finish({ ...response, status: 'completed' })
      aborted = signal.aborted
    }
  })
  await runs.whenIdle()
  t.equal(aborted, false)
  await runs.stop()
})

storeTest('a result waits for an unavailable store', async (t, open) => {
  let isUnreachable = false
  const store = new ResponseStore({ ...(await open()), storeFileIntact: () => !isUnreachable }, rules)
  let failures = 0
  const runs = new BackgroundRuns(store, {
    events: { onEnd: () => undefined },
    maxRunning: () => 10,
    onFailure: () => { failures++ },
    leaseMs: 90
  })
  const response = { ...startedResponse(responsesStart()), id: 'resp_1', status: 'queued' as const }
  runs.start()
  await runs.begin({
    toKeep: { keyId: 'key-1', response, input: [], itemIds: [] },
    firstFrames: [frame(0)],
    failed: () => ({ ...response, status: 'failed' }),
    run: async (_signal, write) => {
      isUnreachable = true
      write(frame(1))
      await runs.finish({ ...response, status: 'completed' })
    }
  })
  await until(() => failures > 9, 'the store to fail')
  isUnreachable = false
  await runs.whenIdle()
  await runs.stop()
  t.equal(await store.status('key-1', 'resp_1'), 'completed')
  const stored: string[] = []
  for await (const frames of store.frames.read('resp_1')) stored.push(...frames)
  t.same(stored, [0, 1].map(frame))
})

storeTest('living processes renew their leases before others end their responses', async (t, open) => {
  const store = new ResponseStore(await open(), rules)
  const response = { ...startedResponse(responsesStart()), id: 'resp_1', status: 'queued' as const }
  const kept = { keyId: 'key-1', response, input: [], itemIds: [] }
  await store.keep(kept, { owner: 'another process', untilMs: store.now() - 1 })
  const failOrphans = store.failOrphans.bind(store)
  const states: unknown[] = []
  t.intercept(store, 'failOrphans', {
    value: async (...args: Parameters<typeof failOrphans>) => {
      if (states.length === 0) {
        states.push('away')
        throw new Error('the store is unreachable')
      }
      await failOrphans(...args)
      states.push(await store.status('key-1', 'resp_1'))
    }
  })
  const runs = new BackgroundRuns(store, {
    events: { onEnd: () => undefined },
    maxRunning: () => 10,
    onFailure: () => undefined,
    leaseMs: 600
  })
  runs.start()
  await until(() => states.at(-1) === 'failed', 'the response to fail')
  await runs.stop()
  t.same(states.slice(0, 2), ['away', 'queued'])
})
