import { BackgroundRuns } from '../../lib/deferred/background-runs.ts'
import { ResponseStore } from '../../lib/stores/response-store.ts'
import { startedResponse } from '../../lib/dialects/responses/response-object.ts'
import { responsesStart } from '../support/responses.ts'
import { until } from '../support/until.ts'
import { storeTest } from '../support/stores.ts'

const frame = (number: number): string => `event: response.test\ndata: {"number":${number}}\n\n`

storeTest('frames that could not be stored are stored with the next ones', async (t, open) => {
  const database = await open()
  const store = new ResponseStore(database, () => ({ keeps: true, keepMs: 60_000, maxBytesPerKey: 1_000_000, maxBodyBytes: 1_000_000, maxItems: 100, maxBytes: 1_000_000 }))
  const add = store.frames.add.bind(store.frames)
  let writes = 0
  t.intercept(store.frames, 'add', {
    value: async (...args: Parameters<typeof add>) => {
      if (writes++ === 1) throw new Error('the store is locked')
      await add(...args)
    }
  })
  const failures: unknown[] = []
  const runs = new BackgroundRuns(store, {
    events: { onEnd: () => undefined }, maxRunning: () => 10, onFailure: error => failures.push(error)
  })
  const response = { ...startedResponse(responsesStart()), id: 'resp_1', status: 'queued' as const }
  await runs.begin({
    given: { keyId: 'key-1', response, input: [], itemIds: [] },
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
  t.match(failures, [{ message: 'the store is locked' }])
})
