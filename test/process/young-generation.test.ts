import { execFileSync } from 'node:child_process'
import t from 'tap'
import { growthFactor } from '../../lib/process/young-generation.ts'

const file = new URL('../../lib/process/young-generation.js', import.meta.url)
const start = new URL('../../lib/process/v8-flags.js', import.meta.url)

/** Returns how large the young generation becomes in a process that keeps what it makes for a while. */
function maxYoungBytes (begin: string, flags: readonly string[] = []): number {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { boundYoungGeneration } from '${file.href}'
    import '${start.href}'
    ${begin}
    const kept = Array(100_000).fill(null)
    const capacity = ({ space_used_size: used, space_available_size: available }) => 2 * (used + available)
    let maxBytes = 0
    for (let turn = 0; turn < 400; turn++) {
      for (let made = 0; made < 2_500; made++) kept[(turn * 2_500 + made) % kept.length] = { turn, made: [made] }
      maxBytes = Math.max(maxBytes, capacity(getHeapSpaceStatistics().find(space => space.space_name === 'new_space')))
      await new Promise(resolve => setImmediate(resolve))
    }
    console.log(maxBytes)`
  return Number(execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', program], { encoding: 'utf8' }))
}

t.test('the young generation stays below the size that V8 would give it', async t => {
  const [bounded, unbounded] = [maxYoungBytes('boundYoungGeneration(1024 * 1024)'), maxYoungBytes('')]
  t.ok(bounded < unbounded, `${bounded} of ${unbounded} bytes`)
})

t.test('a size that the operator gave stays', async t => {
  const flags = ['--max_semi_space_size=8']
  const [bounded, unbounded] = [maxYoungBytes('boundYoungGeneration(1024 * 1024)', flags), maxYoungBytes('', flags)]
  t.ok(bounded * 1.5 > unbounded, `${bounded} of ${unbounded} bytes`)
})

t.test('it grows from 2, 4 and 8 MB to 24, and from any other size to at least two and at most four thirds of what is wanted', async t => {
  const grown = (bytes: number): number => {
    const factor = growthFactor(bytes, 24)
    return factor === 1 ? bytes : grown(bytes * factor)
  }
  t.strictSame([2, 4, 8].map(grown), [24, 24, 24])
  for (let bytes = 1; bytes < 24; bytes += 0.25) {
    t.ok(grown(bytes) >= 16 && grown(bytes) <= 32, `${bytes} to ${grown(bytes)}`)
  }
  t.equal(grown(40), 40, 'it does not grow from there')
})

t.test('it stays between 16 and 32 MB', async t => {
  const megabytes = maxYoungBytes('boundYoungGeneration()') / 2 ** 20
  t.ok(megabytes > 15 && megabytes < 31, `${megabytes} MB`)
})
