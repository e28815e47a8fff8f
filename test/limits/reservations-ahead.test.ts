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
  const [wish, ...others] = all.wishes()
  t.match(wish, { keyId: 'a', limits, tokens: 7 })
  t.ok((wish?.count ?? 0) >= 5 && (wish?.count ?? 0) <= 256, `${wish?.count}`)
  t.same(others, [])
  t.same(all.wishes(), [], 'only once')
})

t.test('reservations are taken in their order, by calls that want no more tokens than they hold', async t => {
  const { ahead: all } = ahead()
  all.add({ keyId: 'a', limits, tokens: 10 }, [1, 2, 3, 4])
  t.equal(all.take('a', limits, 11), undefined)
  t.same(call(all, 2, 10), [1, 2])
  t.notOk(all.isLow('a'))
  t.same(call(all, 1), [3])
  t.ok(all.isLow('a'))
  all.add({ keyId: 'a', limits, tokens: 10 }, [5])
  t.notOk(all.isLow('a'))
  t.same(call(all, 3), [4, 5, undefined])
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
  t.equal(all.take('a', { ...limits }, 0), undefined)
  t.same(givenBack, [2, 3])
  all.add({ keyId: 'b', limits, tokens: 0 }, [4])
  all.giveAllBack()
  t.same(givenBack, [2, 3, 4])
})
