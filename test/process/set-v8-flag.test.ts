import { execFileSync } from 'node:child_process'
import t from 'tap'
import { plainNode } from '../support/plain-node.ts'

const file = new URL('../../lib/process/set-v8-flag.js', import.meta.url)

/** Returns whether functions of a process are optimized after it turned that off. */
function optimizes (...flags: readonly string[]): boolean {
  const program = `
    import { setV8Flag } from '${file.href}'
    setV8Flag('--no-opt')
    function step (value) { for (let at = 0; at < 10; at++) value = (value * 31 + at) | 0; return value }
    let value = 1
    for (let runs = 0; runs < 300_000; runs++) value = step(value)
    console.log((%GetOptimizationStatus(step) & 16) !== 0)`
  const [command, args] = plainNode('--allow-natives-syntax', '--no-concurrent-recompilation', '--no-use-osr', ...flags, '--input-type=module', '--eval', program)
  return execFileSync(command, args, { encoding: 'utf8' }).trim() === 'true'
}

t.test('a flag is set unless the operator has set it', async t => {
  t.equal(optimizes(), false)
  t.equal(optimizes('--opt'), true)
  t.equal(optimizes('--max-lazy'), false, 'another flag')
})

t.test('an option of NODE_OPTIONS counts, however it is written', async t => {
  const program = `import { isGiven } from '${file.href}'; console.log(isGiven(['--max-semi-space-size']), isGiven(['--max-semi-space']))`
  const [command, [unset, name, ...args]] = plainNode('--input-type=module', '--eval', program)
  const given = (options: string): string => execFileSync(command, [unset ?? '', name ?? '', `NODE_OPTIONS=${options}`, ...args], { encoding: 'utf8' }).trim()
  t.equal(given('--max-old-space-size=100 --max-semi-space-size=8'), 'true false')
  t.equal(given('--max_semi_space_size=8'), 'true false')
  t.equal(given('--max-old-space-size=100'), 'false false')
})
