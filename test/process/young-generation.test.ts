import { execFileSync } from 'node:child_process'
import t from 'tap'

const file = new URL('../../lib/process/young-generation.js', import.meta.url)

/** Returns how large the young generation becomes in a process that keeps what it makes for a while. */
function maxYoungBytes (begin: string, flags: readonly string[] = []): number {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { boundYoungGeneration } from '${file.href}'
    ${begin}
    const kept = Array(100_000).fill(null)
    let maxBytes = 0
    for (let turn = 0; turn < 200; turn++) {
      for (let made = 0; made < 2_500; made++) kept[(turn * 2_500 + made) % kept.length] = { turn, made: [made] }
      maxBytes = Math.max(maxBytes, getHeapSpaceStatistics().find(space => space.space_name === 'new_space').space_size)
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
  t.equal(bounded, unbounded)
})
