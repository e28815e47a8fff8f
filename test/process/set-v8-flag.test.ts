import { execFileSync } from 'node:child_process'
import t from 'tap'
import { plainNode } from '../support/plain-node.ts'

const file = new URL('../../lib/process/set-v8-flag.js', import.meta.url)

/** Returns whether a process that sets `--expose-gc` has a global function for it then. */
function exposesGc (...flags: readonly string[]): boolean {
  const program = `
    import { runInNewContext } from 'node:vm'
    import { setV8Flag } from '${file.href}'
    setV8Flag('--expose-gc')
    console.log(runInNewContext('typeof gc'))`
  const [command, args] = plainNode(...flags, '--input-type=module', '--eval', program)
  return execFileSync(command, args, { encoding: 'utf8' }).trim() === 'function'
}

t.test('a flag is set unless the operator has set it', async t => {
  t.equal(exposesGc(), true)
  t.equal(exposesGc('--no-expose-gc'), false)
  t.equal(exposesGc('--no_expose_gc'), false)
  t.equal(exposesGc('--max-lazy'), true, 'another flag')
})

t.test('an option of NODE_OPTIONS counts, however it is written', async t => {
  const program = `import { isGiven } from '${file.href}'; console.log(isGiven(['--max-semi-space-size']), isGiven(['--max-semi-space']))`
  const [command, [unset, name, ...args]] = plainNode('--input-type=module', '--eval', program)
  const given = (options: string): string => execFileSync(command, [unset ?? '', name ?? '', `NODE_OPTIONS=${options}`, ...args], { encoding: 'utf8' }).trim()
  t.equal(given('--max-old-space-size=100 --max-semi-space-size=8'), 'true false')
  t.equal(given('--max_semi_space_size=8'), 'true false')
  t.equal(given('--max-old-space-size=100'), 'false false')
})
