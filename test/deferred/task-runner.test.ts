import { setImmediate as immediate } from 'node:timers/promises'
import { openDeferrals } from '../../lib/deferred/deferrals.ts'
import { TaskRunner } from '../../lib/deferred/task-runner.ts'
import { storeTest } from '../support/stores.ts'
import { eventually, settles, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { DeferredRow } from '../../lib/stores/tables.ts'

async function rowOf ({ query }: Database): Promise<DeferredRow> {
  return await query.selectFrom('deferred').selectAll().executeTakeFirstOrThrow()
}

storeTest('a task whose process died twice fails and is not run again', async (t, open) => {
  const database = await open()
  const { store } = await openDeferrals(database)
  await store.add({ id: 'a', keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
  // Two processes take the task and die: their leases end.
  for (const attempts of [1, 2]) {
    t.match(await store.take({ owner: `dead-${attempts}`, untilMs: 0 }, Date.now()), { id: 'a', attempts })
  }
  let runs = 0
  const runner = new TaskRunner(await openDeferrals(database), {
    run: async () => {
      runs++
      return { status: 200, body: '{}' }
    },
    keepMs: () => 60_000,
    onFailure: error => t.fail(String(error))
  })
  runner.start()
  let row = await rowOf(database)
  for (const deadline = performance.now() + 5000; row.state !== 'done' && performance.now() < deadline;) {
    await immediate()
    row = await rowOf(database)
  }
  await runner.stop()
  t.equal(runs, 0)
  t.match(row, {
    state: 'done',
    status: 500,
    task: null,
    body: /stopped twice while running this completion/
  })
})

storeTest('a task returned by a stopping process does not count as an attempt', async (t, open) => {
  const database = await open()
  const { store } = await openDeferrals(database)
  await store.add({ id: 'a', keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
  for (let restart = 0; restart < 5; restart++) {
    t.match(await store.take({ owner: 'polite', untilMs: Date.now() + 60_000 }, Date.now()), { attempts: 1 })
    await store.requeue('a', 'polite')
  }
})

storeTest(
  'tasks that a process cannot take are announced, and taken by another',
  async (t, open) => {
    const database = await open()
    const started: string[] = []
    let answer = (): void => undefined
    const released = new Promise<void>(resolve => {
      answer = resolve
    })
    const runners = await Promise.all(
      ['busy', 'idle'].map(async name => {
        const deferrals = await openDeferrals(database)
        let announced = 0
        const runner = new TaskRunner(deferrals, {
          run: async (task, signal) => {
            started.push(`${name} ${task}`)
            await Promise.race([
              released,
              new Promise((_resolve, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason))
              })
            ])
            return { status: 200, body: '{}' }
          },
          keepMs: () => 60_000,
          onFailure: error => t.fail(String(error)),
          onWaiting: () => {
            announced++
          },
          parallel: 2
        })
        t.teardown(() => runner.stop())
        return { runner, deferrals, announced: () => announced }
      })
    )
    const [busy, idle] = runners as [(typeof runners)[number], (typeof runners)[number]] // two names
    // the other polls only for `look`: polling at its start could take what is added here
    busy.runner.start()
    const add = async (id: string): Promise<void> => {
      await busy.deferrals.store.add({ id, keyId: 'key-1', task: id }, Date.now() + 60_000, 10)
      busy.deferrals.events.emit('added')
    }
    await add('a')
    await until(() => started.length === 1, 'the first task')
    t.equal(busy.announced(), 0, 'there was room')
    await add('b')
    await add('c')
    await until(() => started.length === 2 && busy.announced() > 0, 'the announcement')
    idle.runner.poll()
    await until(() => started.includes('idle c'), 'the idle process')
    t.equal(idle.announced(), 0)
    const before = busy.announced()
    await busy.runner.stop()
    t.ok(busy.announced() > before, 'a returned task is announced too')
    idle.runner.poll()
    await until(() => started.length === 4, 'one that was given back')
    answer()
    await idle.runner.stop()
  }
)

storeTest(
  'a task whose lease ended during a store outage continues, and is not started again beside it',
  async (t, open) => {
    const database = await open()
    const deferrals = await openDeferrals(database)
    const started: string[] = []
    let answer = (): void => undefined
    const released = new Promise<void>(resolve => {
      answer = resolve
    })
    const runner = new TaskRunner(deferrals, {
      run: async task => {
        started.push(task)
        await released
        return { status: 200, body: '{}' }
      },
      keepMs: () => 60_000,
      onFailure: error => t.fail(String(error))
    })
    runner.start()
    const add = async (id: string): Promise<void> => {
      await deferrals.store.add({ id, keyId: 'key-1', task: id }, Date.now() + 60_000, 10)
      deferrals.events.emit('added')
    }
    await add('a')
    await until(() => started.length === 1, 'the first task')
    // no renewal succeeded
    await database.query.updateTable('deferred').set({ lease_until_ms: 0 }).execute()
    await add('b')
    await until(() => started.includes('b'), 'the second task')
    answer()
    const rows = await eventually(
      async () =>
        await database.query
          .selectFrom('deferred')
          .select(['id', 'state', 'attempts'])
          .orderBy('id')
          .execute(),
      found => found.every(({ state }) => state === 'done'),
      'both answers'
    )
    await runner.stop()
    t.same(started, ['a', 'b'])
    t.same(rows, [
      { id: 'a', state: 'done', attempts: 1 },
      { id: 'b', state: 'done', attempts: 1 }
    ])
  }
)

storeTest(
  'an answer that could not be stored is stored later, and not paid for again',
  async (t, open) => {
    const database = await open()
    let isUnreachable = false
    const deferrals = await openDeferrals({ ...database, storeFileIntact: () => !isUnreachable })
    await deferrals.store.add({ id: 'a', keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
    let runs = 0
    let failures = 0
    const runner = new TaskRunner(deferrals, {
      run: async () => {
        isUnreachable = runs++ === 0
        return { status: 200, body: '"paid"' }
      },
      keepMs: () => 60_000,
      onFailure: () => {
        failures++
      },
      leaseMs: 90
    })
    runner.start()
    await until(() => failures > 3, 'the store to fail')
    isUnreachable = false
    const row = await eventually(
      async () => await rowOf(database),
      ({ state }) => state === 'done',
      'the answer'
    )
    await runner.stop()
    t.equal(runs, 1)
    t.match(row, { status: 200, body: '"paid"', attempts: 1 })
  }
)

storeTest('a stopping process tries once more to store an answer', async (t, open) => {
  const database = await open()
  let isUnreachable = false
  const deferrals = await openDeferrals({ ...database, storeFileIntact: () => !isUnreachable })
  await deferrals.store.add({ id: 'a', keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
  let failures = 0
  const runner = new TaskRunner(deferrals, {
    run: async () => {
      isUnreachable = true
      return { status: 200, body: '"paid"' }
    },
    keepMs: () => 60_000,
    onFailure: () => {
      failures++
    },
    leaseMs: 3_600_000 // long enough that nothing is retried by itself
  })
  runner.start()
  await until(() => failures === 2, 'the next look and the storing to fail')
  isUnreachable = false
  await settles(runner.stop(), 'the runner to stop')
  t.match(await rowOf(database), { state: 'done', body: '"paid"' })
})

storeTest('a store that does not come back does not block a task forever', async (t, open) => {
  const database = await open()
  let isUnreachable = false
  const deferrals = await openDeferrals({ ...database, storeFileIntact: () => !isUnreachable })
  await deferrals.store.add({ id: 'a', keyId: 'key-1', task: '{}' }, Date.now() + 60_000, 10)
  const runner = new TaskRunner(deferrals, {
    run: async () => {
      isUnreachable = true
      return { status: 200, body: '{}' }
    },
    keepMs: () => 60_000,
    onFailure: () => undefined,
    leaseMs: 30
  })
  runner.start()
  await until(() => isUnreachable, 'the task to run')
  await settles(runner.whenIdle(), 'the task to end')
  await runner.stop()
  t.match(await rowOf(database), { state: 'running', body: null })
})

storeTest('a task of a living process is not run again when the store comes back', async (t, open) => {
  const database = await open()
  let nowMs = Date.now()
  let isUnreachable = false
  const clocked = { ...database, now: () => nowMs }
  const started: string[] = []
  const ended = withResolvers<void>()
  const leaseMs = 3_600_000 // long enough that nothing happens by itself
  let failures = 0
  const runnerOn = async (place: Database): Promise<TaskRunner> => {
    return new TaskRunner(await openDeferrals(place), {
      run: async task => {
        started.push(task)
        if (task === '"a"') await ended.promise
        return { status: 200, body: '{}' }
      },
      keepMs: () => 10 * leaseMs,
      onFailure: () => { failures++ },
      leaseMs
    })
  }
  const { store } = await openDeferrals(clocked)
  const add = async (id: string): Promise<void> => {
    await store.add({ id, keyId: 'key-1', task: JSON.stringify(id) }, nowMs + 10 * leaseMs, 10)
  }
  await add('a')
  const runner = await runnerOn(clocked)
  const other = await runnerOn({ ...clocked, storeFileIntact: () => !isUnreachable })
  runner.start()
  await until(() => started.length === 1, 'the task to run')
  isUnreachable = true
  other.start()
  await until(() => failures === 1, 'the store to fail')
  nowMs += 2 * leaseMs // the lease could not be renewed
  isUnreachable = false
  await add('b')
  other.poll()
  await until(() => started.length > 1, 'another task')
  await other.whenIdle()
  ended.resolve()
  await runner.whenIdle()
  await Promise.all([runner.stop(), other.stop()])
  t.same(started, ['"a"', '"b"'])
})
