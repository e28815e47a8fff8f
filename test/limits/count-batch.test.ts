import t from 'tap'
import { CountBatch, type CountOperation } from '../../lib/limits/count-batch.ts'

interface Script {
  readonly keys: readonly string[]
  readonly lists: ReadonlyArray<{ readonly keys: number, readonly operations: readonly CountOperation[] }>
}

/** Records scripts, and replies to each operation with its id. */
function noting ({ isCluster = false } = {}) {
  const scripts: Script[] = []
  const batch = new CountBatch({
    isCluster,
    run: async (_script, keys, [,, text]) => {
      const lists = JSON.parse(String(text)) as Script['lists']
      scripts.push({ keys, lists })
      return JSON.stringify(lists.map(({ operations }) => operations.map(({ id }) => id)))
    }
  }, 1000, 2000)
  return { scripts, batch }
}

const settle = (id: string): CountOperation => ({ kind: 'settle', id, accounts: [] })
const keysOf = (name: string, ...sums: string[]): string[] =>
  ['rates', 'open', ...sums].map(part => `headgate:{${name}}:${part}`)

t.test(
  'operations of one turn become one script, ordered per party, each with its reply',
  async t => {
    const { scripts, batch } = noting()
    const ofSums = (id: string, ...keys: string[]): CountOperation => ({
      kind: 'settle',
      id,
      accounts: keys.map(key => ({ counting: 'sum', key, used: 1 }))
    })
    const replies = await Promise.all([
      batch.add('a', ofSums('one', 'budget:day:0')),
      batch.add('b', settle('two')),
      batch.add('a', ofSums('three', 'images:day:0', 'budget:day:0'))
    ])
    t.same(replies, ['one', 'two', 'three'])
    const keys = keysOf('a', 'budget:day:0', 'leases:day:0', 'images:day:0', 'leases:images:day:0')
    t.same(scripts[0]?.keys, [...keys, ...keysOf('b')])
    t.match(scripts[0]?.lists, [
      {
        keys: 6,
        operations: [
          { id: 'one', accounts: [{ place: 3 }] },
          { id: 'three', accounts: [{ place: 5 }, { place: 3 }] }
        ]
      },
      { keys: 2, operations: [{ id: 'two' }] }
    ])
    await batch.add('a', settle('four'))
    t.equal(scripts.length, 2, 'the next turn has one of its own')
  }
)

t.test('in a cluster each party has its own script, as all keys of a script must share a node', async t => {
  const { scripts, batch } = noting({ isCluster: true })
  t.same(
    await Promise.all(
      ['a', 'b', 'a'].map(async (name, number) => await batch.add(name, settle(String(number))))
    ),
    ['0', '1', '2']
  )
  t.same(
    scripts.map(({ keys }) => keys),
    [keysOf('a'), keysOf('b')]
  )
})

t.test('a script has at most 200 operations', async t => {
  const { scripts, batch } = noting()
  await Promise.all(
    Array.from({ length: 450 }, async (_, number) => await batch.add('a', settle(String(number))))
  )
  t.same(
    scripts.map(({ lists: [list] }) => list?.operations.length),
    [200, 200, 50]
  )
})

t.test('without a reply all operations fail', async t => {
  const batch = new CountBatch({ isCluster: false, run: async () => { throw new Error('away') } }, 1, 1)
  const settled = await Promise.allSettled(['a', 'b'].map(async name => await batch.add(name, settle(name))))
  t.same(settled.map(({ status }) => status), ['rejected', 'rejected'])
})
