import t from 'tap'
import { ReservationsAhead } from '../../lib/limits/reservations-ahead.ts'
import { until } from '../support/until.ts'
import type { KeyLimits } from '../../lib/core/key.ts'

const limits: KeyLimits = { requestsPerMinute: 1000 }

/** Reservations are numbers here. */
function ahead (): { readonly ahead: ReservationsAhead<number>, readonly givenBack: number[] } {
  const givenBack: number[] = []
  return { ahead: new ReservationsAhead(left => { givenBack.push(...left) }), givenBack }
}

function call (from: ReservationsAhead<number>, times: number, tokens = 0): Array<number | undefined> {
  return Array.from({ length: times }, () => from.take('a', limits, tokens))
}

t.test('a key with several calls between two messages wants reservations, one with few does not', async t => {
  const { ahead: all } = ahead()
  t.same(call(all, 3), [undefined, undefined, undefined])
  t.same(all.wishes(), [])
  call(all, 4, 7)
  all.take('a', limits, 3)
  all.take('b', limits, 0)
  t.match(all.wishes(), [{ keyId: 'a', limits, tokens: 7, count: 10 }], 'for 20 ms, if these came in 10')
  t.same(all.wishes(), [], 'only once')
})

t.test('reservations are taken in their order, by calls that want no more tokens than they hold', async t => {
  const { ahead: all } = ahead()
  all.add({ keyId: 'a', limits, tokens: 10 }, [1, 2, 3, 4])
  t.equal(all.take('a', limits, 11), undefined)
  t.same(call(all, 2, 10), [1, 2])
  t.notOk(all.isLow('a'))
  t.same(call(all, 1, 5), [3])
  t.ok(all.isLow('a'))
  all.add({ keyId: 'a', limits, tokens: 10 }, [5])
  t.notOk(all.isLow('a'))
  t.same(call(all, 3, 5), [4, 5, undefined])
  t.equal(all.take('b', limits, 0), undefined, 'each key has its own')
})

t.test('reservations that hold too few tokens, or far too many, are replaced', async t => {
  const { ahead: all, givenBack } = ahead()
  all.add({ keyId: 'a', limits, tokens: 10 }, [1, 2, 3, 4, 5, 6, 7, 8, 9])
  call(all, 4, 12)
  const [more] = all.wishes()
  t.equal(more?.tokens, 12)
  all.add({ keyId: 'a', limits, tokens: 12 }, [10])
  t.same(givenBack, [1, 2, 3, 4, 5, 6, 7, 8, 9])
  call(all, 4, 2)
  t.equal(all.wishes()[0]?.tokens, 2)
})

t.test('what no call needs is given back: after a while, with other limits, and at the end', async t => {
  const { ahead: all, givenBack } = ahead()
  all.add({ keyId: 'a', limits, tokens: 0 }, [1, 2])
  t.equal(all.take('a', limits, 0), 1)
  // Only what is busy keeps the event loop alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  await until(() => givenBack.length > 0, 'the other one')
  t.same(givenBack, [2])
  all.add({ keyId: 'a', limits, tokens: 0 }, [3])
  t.equal(all.take('a', { ...limits, concurrentCalls: 9 }, 0), undefined)
  t.same(givenBack, [2, 3])
  all.add({ keyId: 'b', limits, tokens: 0 }, [4])
  all.giveAllBack()
  t.same(givenBack, [2, 3, 4])
})

t.test('what is more than calls need is given back while they go on, and each stock is checked by one timer', async t => {
  const { ahead: all, givenBack } = ahead()
  all.add({ keyId: 'a', limits, tokens: 0 }, Array.from({ length: 100 }, (_, number) => number))
  let timers = 0
  const start = globalThis.setTimeout
  t.intercept(globalThis, 'setTimeout', { value: (run: () => void, ms: number) => { timers++; return start(run, ms) } })
  const calls = setInterval(() => { all.take('a', limits, 0) }, 2)
  t.teardown(() => clearInterval(calls))
  await until(() => givenBack.length > 30, 'those that are too many')
  t.ok(all.take('a', limits, 0) !== undefined, 'some are left')
  for (let number = 0; number < 50; number++) {
    all.giveAllBack()
    all.take('b', limits, 0)
  }
  t.ok(timers < 40, `${timers} timers`)
})

t.test('keys of a project share what is reserved for it', async t => {
  const { ahead: all, givenBack } = ahead()
  all.add({ keyId: 'a', limits, tokens: 0 }, [1, 2])
  t.equal(all.take('a', { ...limits }, 0), 1)
  t.equal(all.take('a', limits, 0), 2)
  t.same(givenBack, [])
})

t.test('a call does not take a reservation that holds far more tokens than it wants', async t => {
  const { ahead: all } = ahead()
  all.add({ keyId: 'a', limits, tokens: 40 }, [1, 2])
  t.equal(all.take('a', limits, 9), undefined)
  t.equal(all.take('a', limits, 10), 1)
})
