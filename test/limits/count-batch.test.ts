import t from 'tap'
import { CountBatch, type CountKeys } from '../../lib/limits/count-batch.ts'

interface Script {
  readonly keys: readonly string[]
  readonly operations: ReadonlyArray<ReadonlyArray<readonly unknown[]>>
}

/** Notes scripts, and replies to each operation with its id. */
function noting ({ isCluster = false } = {}) {
  const scripts: Script[] = []
  const batch = new CountBatch({
    isCluster,
    run: async (_script, keys, [,, text]) => {
      const operations = JSON.parse(String(text)) as Script['operations']
      scripts.push({ keys, operations })
      return operations.map(list => list.map(([, id]) => id))
    }
  }, 1000, 2000)
  return { scripts, batch }
}

const keysOf = (name: string): CountKeys => [`${name}:rates`, `${name}:open`, `${name}:budget`, `${name}:leases`]

t.test('what one turn has for several keys is one script, in order for each, and each gets its reply', async t => {
  const { scripts, batch } = noting()
  const replies = await Promise.all([
    batch.add(keysOf('a'), ['reserve', 'one', 1]), batch.add(keysOf('b'), ['reserve', 'two', 2]), batch.add(keysOf('a'), ['settle', 'three', true])
  ])
  t.same(replies, ['one', 'two', 'three'])
  t.same(scripts, [{ keys: [...keysOf('a'), ...keysOf('b')], operations: [[['reserve', 'one', 1], ['settle', 'three', true]], [['reserve', 'two', 2]]] }])
  await batch.add(keysOf('a'), ['settle', 'four'])
  t.equal(scripts.length, 2, 'the next turn has one of its own')
})

t.test('in a cluster each key has a script, since keys of one script must be in one place', async t => {
  const { scripts, batch } = noting({ isCluster: true })
  t.same(await Promise.all(['a', 'b', 'a'].map(async (name, number) => await batch.add(keysOf(name), ['settle', String(number)]))), ['0', '1', '2'])
  t.same(scripts.map(({ keys }) => keys), [keysOf('a'), keysOf('b')])
})

t.test('a script has 200 operations at most', async t => {
  const { scripts, batch } = noting()
  await Promise.all(Array.from({ length: 450 }, async (_, number) => await batch.add(keysOf('a'), ['settle', String(number)])))
  t.same(scripts.map(({ operations: [list = []] }) => list.length), [200, 200, 50])
})

t.test('without a reply all of them fail', async t => {
  const batch = new CountBatch({ isCluster: false, run: async () => { throw new Error('away') } }, 1, 1)
  const settled = await Promise.allSettled(['a', 'b'].map(async name => await batch.add(keysOf(name), ['settle', name])))
  t.same(settled.map(({ status }) => status), ['rejected', 'rejected'])
})
