import t from 'tap'
import { Semaphore, type Waiter } from '../../lib/async/semaphore.ts'
import { scalesWith } from '../support/scaling.ts'

/** A semaphore whose owners arrive one after the other, with a log of what happens to each. */
function line (count: number, maxWaiting?: number): {
  semaphore: Semaphore, events: string[], come: (name: string, owner?: string) => { leave: () => boolean }
} {
  const semaphore = new Semaphore(count, maxWaiting)
  const events: string[] = []
  return {
    semaphore,
    events,
    come: (name, owner = name.slice(0, 1)) => {
      const waiter = { enter: () => events.push(`${name} in`), refuse: () => events.push(`${name} refused`) }
      semaphore.acquire(waiter, owner)
      return { leave: () => semaphore.cancel(waiter, owner) }
    }
  }
}

t.test('owners take turns, each in the order of arrival', async t => {
  const { semaphore, events, come } = line(1)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']) come(name)
  for (let count = 0; count < 6; count++) semaphore.release()
  t.same(events, ['a1 in', 'a2 in', 'b1 in', 'c1 in', 'a3 in', 'b2 in', 'a4 in'])
})

t.test('a full queue rejects the newest entry of the owner with the most entries', async t => {
  const { semaphore, events, come } = line(1, 4)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2', 'b3']) come(name)
  t.same(events, ['a1 in', 'a6 refused', 'a5 refused', 'a4 refused', 'b3 refused'])
  for (let count = 0; count < 4; count++) semaphore.release()
  t.same(events.slice(5), ['a2 in', 'b1 in', 'a3 in', 'b2 in'])
})

t.test('a waiter that leaves the queue is never called, and can leave only once', async t => {
  const { semaphore, events, come } = line(1, 1)
  come('a1')
  const leaving = come('b1')
  t.same([leaving.leave(), leaving.leave()], [true, false])
  come('c1')
  semaphore.release()
  t.same(events, ['a1 in', 'c1 in'], 'and its place in the queue is free')
})

t.test('it is idle when nothing runs and nothing waits, also after later arrivals', async t => {
  const { semaphore, events, come } = line(1)
  semaphore.whenIdle(() => events.push('idle'))
  come('a1')
  semaphore.whenIdle(() => events.push('idle again'))
  come('b1')
  for (let count = 0; count < 2; count++) semaphore.release()
  t.same(events, ['idle', 'a1 in', 'b1 in', 'idle again'])
})

t.test('without a limit nothing waits', async t => {
  const { semaphore, events, come } = line(Infinity)
  for (let count = 0; count < 1_000; count++) come(`a${count}`)
  t.equal(events.length, 1_000)
  t.equal(semaphore.waiting, 0)
})

t.test('entries that finish at once do not deepen the stack', async t => {
  const semaphore = new Semaphore(1)
  let served = 0
  semaphore.acquire({ enter: () => undefined, refuse: () => undefined }, 'a')
  for (let count = 0; count < 20_000; count++) {
    semaphore.acquire({ enter: () => { served++; semaphore.release() }, refuse: () => undefined }, 'a')
  }
  semaphore.release()
  t.equal(served, 20_000)
})

t.test('a full queue makes room in the same time, however long it is', async t => {
  const waiter = (): Waiter => ({ enter: () => undefined, refuse: () => undefined })
  scalesWith(t, 'waiting entries', {
    from: 4096,
    input: size => {
      const semaphore = new Semaphore(1, size)
      for (let count = 0; count <= size; count++) semaphore.acquire(waiter(), 'a')
      return { semaphore, size }
    },
    run: ({ semaphore, size }) => {
      for (let count = 0; count < size; count++) {
        const newcomer = waiter()
        semaphore.acquire(newcomer, 'b')
        semaphore.cancel(newcomer, 'b')
        semaphore.acquire(waiter(), 'a')
      }
    }
  })
})
