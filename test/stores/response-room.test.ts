import t from 'tap'
import { LongTexts } from '../../lib/stores/long-texts.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { ResponseRoom } from '../../lib/stores/response-room.ts'
import type { UseStore } from '../../lib/stores/use-store.ts'

t.test(
  'the stored size of a key is recounted occasionally, and forgotten for inactive keys',
  async t => {
    const database = await openDatabase(t.testdir())
    const { query, close } = database
    t.teardown(close)
    let counts = 0
    const use: UseStore = async work => {
      counts++
      return await work()
    }
    const room = new ResponseRoom(query, use, new LongTexts(database, use, 'responses'))
    const countsOf = async (keyId: string, nowMs: number): Promise<number> => {
      counts = 0
      await room.makeRoom(keyId, 'newest', 10, 1000, nowMs)
      return counts
    }
    t.same([await countsOf('a', 0), await countsOf('a', 1), await countsOf('b', 1)], [1, 0, 1])
    for (let more = 2; more < 7; more++) await countsOf('a', more)
    t.equal(await countsOf('a', 9), 1, 'a sixteenth of what it may store was added')
    t.equal(await countsOf('a', 3_600_000), 0, 'kept where there are few keys')
    for (let key = 0; key < 1000; key++) await countsOf(`key-${key}`, 3_600_000)
    t.same(
      [await countsOf('a', 3_600_000), await countsOf('b', 3_600_000)],
      [0, 1],
      'b has stored nothing for an hour'
    )
  }
)
