import { execFileSync } from 'node:child_process'
import t from 'tap'

const file = new URL('../../lib/process/optimize-calls.js', import.meta.url)

/** Returns how often a function runs in a process before V8 optimizes it. */
function runsUntilOptimized (begin: string): number {
  const program = `
    import { optimizeCalls } from '${file.href}'
    ${begin}
    function step (value) { for (let at = 0; at < 10; at++) value = (value * 31 + at) | 0; return value }
    let runs = 0
    for (let value = 1; runs < 100_000 && (%GetOptimizationStatus(step) & 16) === 0; runs++) value = step(value)
    console.log(runs)`
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--no-use-osr', '--input-type=module']
  return Number(execFileSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' }))
}

t.test('functions are optimized early once it was called', { skip: !process.versions.v8.startsWith('11.') && 'V8 has no such flag' }, async t => {
  const [early, usual] = [runsUntilOptimized('optimizeCalls()'), runsUntilOptimized('')]
  t.ok(early * 2 < usual, `${early} runs instead of ${usual}`)
})
