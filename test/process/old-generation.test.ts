import { execFileSync } from 'node:child_process'
import t from 'tap'
import { growthChooser } from '../../lib/process/old-generation.ts'

const file = new URL('../../lib/process/old-generation.js', import.meta.url)
const [little, much] = [60, 200]

/** Returns by how many bytes old space grows at most until V8 has begun to collect it, after some full collections in a row. */
function growthBytes (collections: number, flags: readonly string[] = []): number {
  const program = `
    import { constants, PerformanceObserver } from 'node:perf_hooks'
    import { getHeapSpaceStatistics } from 'node:v8'
    import { boundOldGeneration } from '${file.href}'
    const usedBytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'old_space').space_used_size
    const nextTurn = () => new Promise(resolve => setImmediate(resolve))
    boundOldGeneration()
    const kept = Array.from({ length: 100_000 }, (_, index) => ({ index, made: [index] }))
    for (let made = 0; made < ${collections}; made++) {
      gc()
      await nextTurn()
      await nextTurn()
    }
    let begun = 0
    new PerformanceObserver(list => {
      if (list.getEntries().some(({ detail }) => detail.kind !== constants.NODE_PERFORMANCE_GC_MINOR)) begun++
    }).observe({ type: 'gc' })
    // More than one, as the last that was forced may end late, and V8 may begin one of its own.
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
  const [rare, frequent] = [growthBytes(2), growthBytes(7)]
  t.ok(rare * 1.2 < frequent, `${rare} and ${frequent} bytes`)
})

t.test('a percentage that the operator gave stays', async t => {
  const [own, given] = [growthBytes(2), growthBytes(2, ['--heap_growing_percent=400'])]
  t.ok(own * 1.2 < given, `${own} and ${given} bytes`)
})

t.test('full collections that follow each other let old space grow more, and rare ones less again', async t => {
  const choose = growthChooser()
  t.strictSame([0, 500, 1_000, 1_500, 2_000].map(choose), Array(5).fill(little), 'a process that starts has some')
  t.equal(choose(2_500), much)
  t.equal(choose(6_000), much, 'the next one is later because old space may grow more')
  t.equal(choose(11_001), little)
})

t.test('full collections that are most of a second apart change nothing', async t => {
  const choose = growthChooser()
  t.strictSame(Array.from({ length: 50 }, (_, index) => choose(index * 700)), Array(50).fill(little))
})
