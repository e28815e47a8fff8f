import t from 'tap'
import { EndUserNames, maxEndUsers, otherEndUsers } from '../../lib/limits/end-user-names.ts'

const month = Date.UTC(2026, 4, 1)

t.test(
  'a limited number of end users per project and month have their own sums, the others share one',
  async t => {
    const names = new EndUserNames(undefined)
    for (let number = 0; number < maxEndUsers; number++) {
      names.find('p', `looked-${number}`, month)
      names.take('p', `user-${number}`, month)
    }
    t.equal(names.find('p', 'one-more', month), otherEndUsers, 'looks took no place')
    names.take('p', otherEndUsers, month)
    t.equal(names.find('p', 'user-7', month), 'user-7', 'known ones keep theirs')
    t.equal(names.find('q', 'one-more', month), 'one-more', 'another project has its own')
    t.equal(names.find('p', 'one-more', Date.UTC(2026, 5, 1)), 'one-more', 'the next month begins anew')
  }
)

t.test(
  'the first call of a month waits at most 250 ms for the store, even if that fails',
  async t => {
    const known = new EndUserNames(async (project, sinceMs) => {
      t.same([project, sinceMs], ['p', month])
      return Array.from({ length: maxEndUsers }, (_, number) => `user-${number}`)
    })
    t.equal(await known.find('p', 'one-more', month + 5), otherEndUsers)
    t.equal(known.find('p', 'user-3', month + 5), 'user-3', 'without a wait')
    const failing = new EndUserNames(async () => await Promise.reject(new Error('gone')))
    t.equal(await failing.find('p', 'a', month), 'a')
    const silent = new EndUserNames(async () => await new Promise(() => undefined))
    t.equal(await silent.find('p', 'a', month), 'a')
  }
)
