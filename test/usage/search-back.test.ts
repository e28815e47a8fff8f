/** Searches that would read too many records stop early, and continue where they stopped. */

import { listCalls } from '../../lib/usage/calls-report.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

const hourMs = 3_600_000
const nowMs = 1_800_000_000_000
const slow = { values: [['error_code', ['rare']]] } as const

storeTest(
  'a call search that takes too long returns what it found and where to continue',
  async (t, open) => {
    const database = await open()
    await database.insertUsage(
      Array.from({ length: 100 }, (_, index) =>
        usageRowOf(index, {
          at_ms: nowMs - index * hourMs,
          error_code: [5, 80].includes(index) ? 'rare' : null,
          call_id: `call-${index}`
        })
      )
    )
    let atMs = 0
    const clock = (): number => (atMs += 250)
    const first = await listCalls(database.query, slow, { limit: 10 }, clock)
    t.same(
      first.data.map(({ request_id: id }) => id),
      ['call-5']
    )
    const searchedFromMs = first.searched_from_ms ?? NaN
    t.ok(
      searchedFromMs > nowMs - 80 * hourMs && searchedFromMs < nowMs - 5 * hourMs,
      'neither all nor nothing was read'
    )
    t.type(first.next_cursor, 'string')

  const rest = await listCalls(database.query, slow, { limit: 10, after: { ms: searchedFromMs, id: '' } })
  t.same(rest.data.map(({ request_id: id }) => id), ['call-80'], 'the next page begins where the first ended')
  t.match(rest, { next_cursor: null, searched_from_ms: null })
})

storeTest('pages follow one another without a gap', async (t, open) => {
  const database = await open()
  t.same((await listCalls(database.query, {}, { limit: 5 })).data, [], 'an empty store')
  await database.insertUsage(
    Array.from({ length: 23 }, (_, index) =>
      usageRowOf(index, { at_ms: nowMs - (index >> 1) * 9 * hourMs, call_id: `call-${index}` })
    )
  )
  const seen = new Set<string>()
  let after: { ms: number, id: string } | undefined
  for (let page = 0; page < 5; page++) {
    const { data } = await listCalls(database.query, {}, { limit: 5, ...after !== undefined && { after } })
    for (const { request_id: id } of data) seen.add(id)
    const last = data.at(-1)
    after = last && { ms: last.at_ms, id: last.id }
  }
  t.equal(seen.size, 23)
})
