import { execFileSync } from 'node:child_process'
import t from 'tap'
import { frequencyOfCollections } from '../../lib/process/old-generation.ts'

const file = new URL('../../lib/process/old-generation.js', import.meta.url)
const waits = new URL('../support/until.js', import.meta.url)
const start = new URL('../../lib/process/v8-flags.js', import.meta.url)

interface Options {
  readonly flags?: readonly string[]
  /** Code that runs after the collections in a row. */
  readonly afterwards?: string
  readonly keepMs?: number
}

/** Returns by how many bytes old space grows at most over one or two full collections, after some that are forced in a row. */
function growthBytes (collections: number, { flags = [], afterwards = '', keepMs = 5_000 }: Options = {}): number {
  const program = `
    import { constants, PerformanceObserver } from 'node:perf_hooks'
    import { getHeapSpaceStatistics } from 'node:v8'
    import { boundOldGeneration } from '${file.href}'
    import { outlast } from '${waits.href}'
    import '${start.href}'
    const usedBytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'old_space').space_used_size
    const nextTurn = () => new Promise(resolve => setImmediate(resolve))
    boundOldGeneration({ fromMs: 0, keepMs: ${keepMs} })
    const kept = Array.from({ length: 100_000 }, (_, index) => ({ index, made: [index] }))
    for (let made = 0; made < ${collections}; made++) {
      gc()
      await nextTurn()
      await nextTurn()
    }
    ${afterwards}
    let begun = 0
    new PerformanceObserver(list => {
      if (list.getEntries().some(({ detail }) => detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR)) begun++
    }).observe({ type: 'gc' })
    // Each has an entry when it begins and one when it ends; the last that was forced may end late.
    let [leastBytes, mostGrownBytes] = [usedBytes(), 0]
    for (let turn = 0; turn < 10_000 && begun < 3; turn++) {
      for (let made = 0; made < 1_000; made++) kept[(turn * 1_000 + made) % kept.length] = { turn, made: [made] }
      leastBytes = Math.min(leastBytes, usedBytes())
      mostGrownBytes = Math.max(mostGrownBytes, usedBytes() - leastBytes)
      await nextTurn()
    }
    console.log(mostGrownBytes)`
  return Number(execFileSync(process.execPath, ['--expose-gc', ...flags, '--input-type=module', '--eval', program], { encoding: 'utf8' }))
}

t.test('old space grows a little while full collections are rare, and more while they are frequent', async t => {
  const [rare, frequent] = [growthBytes(1), growthBytes(5)]
  t.ok(rare * 1.2 < frequent, `${rare} and ${frequent} bytes`)
})

t.test('a percentage that the operator gave stays', async t => {
  const [own, given] = [growthBytes(1), growthBytes(1, { flags: ['--heap_growing_percent=400'] })]
  t.ok(own * 1.2 < given, `${own} and ${given} bytes`)
})

t.test('old space grows a little again after some time without a full collection', async t => {
  const collect = 'gc(); await nextTurn(); await nextTurn()\n'
  const keepMs = 20
  const afterwards = `await outlast(${keepMs})\n${collect.repeat(2)}`
  const [after, frequent] = [growthBytes(5, { afterwards, keepMs }), growthBytes(5)]
  t.ok(after * 1.5 < frequent, `${after} and ${frequent} bytes`)
})

t.test('four full collections within four seconds are frequent', async t => {
  const areFrequent = frequencyOfCollections()
  t.strictSame([0, 1_000, 2_000].map(areFrequent), Array(3).fill(false))
  t.equal(areFrequent(3_900), true)
  t.equal(areFrequent(5_100), false)
})
