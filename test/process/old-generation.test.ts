import { execFileSync } from 'node:child_process'
import t from 'tap'
import { frequencyOfCollections } from '../../lib/process/old-generation.ts'
import { plainNode } from '../support/plain-node.ts'

const file = new URL('../../lib/process/old-generation.js', import.meta.url)
const waits = new URL('../support/until.js', import.meta.url)
const start = new URL('../../lib/process/v8-flags.js', import.meta.url)

const prologue = `
  import { constants, PerformanceObserver } from 'node:perf_hooks'
  import { getHeapSpaceStatistics } from 'node:v8'
  import { boundOldGeneration, collectAfterStart } from '${file.href}'
  import { outlast, until } from '${waits.href}'
  import '${start.href}'
  const nextTurn = () => new Promise(resolve => setImmediate(resolve))
  const collect = async times => {
    for (let made = 0; made < times; made++) {
      gc()
      await nextTurn()
      await nextTurn()
    }
  }`

function printed (program: string, ...flags: readonly string[]): string {
  const [command, args] = plainNode('--expose-gc', ...flags, '--input-type=module', '--eval', `${prologue}\n${program}`)
  return execFileSync(command, args, { encoding: 'utf8' }).trim()
}

/** Returns by how many bytes old space grows at most over one or two full collections, after some that are forced in a row. */
function growthBytes (collections: number, afterwards = ''): number {
  return Number(printed(`
    const usedBytes = () => getHeapSpaceStatistics().find(space => space.space_name === 'old_space').space_used_size
    boundOldGeneration()
    const kept = Array.from({ length: 100_000 }, (_, index) => ({ index, made: [index] }))
    await collect(${collections})
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
    console.log(mostGrownBytes)`))
}

/** Code that prints the percentage as it was set last. */
const percentage = "globalThis[Symbol.for('headgate.v8-flags')].get('--heap-growing-percent')"

const isLater = Number(process.versions.v8.split('.')[0]) > 12 && 'old space grows by about as much either way there'

t.test('old space grows a little while full collections are rare, and more while they are frequent', { skip: isLater }, async t => {
  const [rare, frequent] = [growthBytes(1, 'await outlast(500)'), growthBytes(5)]
  t.ok(rare * 1.2 < frequent, `${rare} and ${frequent} bytes`)
})

t.test('the percentage is larger while full collections are frequent, and for a time afterwards', async t => {
  const frequent = `boundOldGeneration(50); await collect(5); await until(() => ${percentage}.endsWith('=200'), '200')\n`
  const rare = `await until(() => ${percentage}.endsWith('=60'), '60'); console.log(${percentage})`
  t.equal(printed(`boundOldGeneration(); await collect(1); console.log(${percentage})`), '--heap-growing-percent=60')
  t.equal(printed(frequent + rare), '--heap-growing-percent=60')
})

t.test('full collections that are not frequent do not prolong that time', async t => {
  t.equal(printed(`boundOldGeneration(700); await collect(5); await until(() => ${percentage}.endsWith('=200'), '200')
    const timer = setInterval(gc, 300)
    await until(() => ${percentage}.endsWith('=60'), '60')
    clearInterval(timer)
    console.log(${percentage})`), '--heap-growing-percent=60')
})

t.test('a percentage that the operator gave stays', async t => {
  t.equal(printed(`boundOldGeneration(); await collect(5); console.log(${percentage})`, '--heap_growing_percent=400'), 'undefined')
})

t.test('V8 does not mark ahead of a full collection in the first second, and does afterwards', async t => {
  // Each object is kept, and each turn gives V8 the time to begin.
  const grows = `
    let begun = 0
    new PerformanceObserver(list => {
      begun += list.getEntries().filter(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL).length
    }).observe({ type: 'gc' })
    const kept = []
    const grow = async () => {
      for (let turn = 0; turn < 100; turn++) {
        for (let made = 0; made < 3_000; made++) kept.push({ turn, made: [made] })
        await nextTurn()
      }
      await nextTurn()
      return begun > 0
    }`
  const later = "await until(() => globalThis[Symbol.for('headgate.v8-flags')].get('--incremental-marking') === '--incremental-marking', 'a second')"
  t.equal(printed(`${grows}; console.log(await grow())`), 'true', 'without it')
  t.equal(printed(`collectAfterStart(); ${grows}; console.log(await grow())`), 'false')
  t.equal(printed(`collectAfterStart(); ${later}; ${grows}; console.log(await grow())`), 'true')
})

t.test('three full collections within half a second are frequent', async t => {
  const areFrequent = frequencyOfCollections()
  t.strictSame([0, 400, 600].map(areFrequent), [false, false, false])
  t.equal(areFrequent(850), true)
  t.equal(areFrequent(1_200), false)
})
