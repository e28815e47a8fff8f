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

t.test('flags that a function had to itself are set back to what they were, whether it returns or throws', async t => {
  const program = `
    import { runInNewContext } from 'node:vm'
    import { setV8Flag, withV8Flags } from '${file.href}'
    const exposed = () => runInNewContext('typeof gc') === 'function'
    setV8Flag('--expose-gc')
    const inside = withV8Flags(['--no-expose-gc'], exposed)
    const fails = () => { throw new Error(String(exposed())) }
    try { withV8Flags(['--no-expose-gc'], fails) } catch ({ message }) { console.log(inside, message, exposed()) }`
  const [command, args] = plainNode('--input-type=module', '--eval', program)
  t.equal(execFileSync(command, args, { encoding: 'utf8' }).trim(), 'false false true')
})

t.test('a flag that has not been set before is not set for a function', async t => {
  const program = `
    import { runInNewContext } from 'node:vm'
    import { withV8Flags } from '${file.href}'
    const exposed = () => runInNewContext('typeof gc') === 'function'
    console.log(withV8Flags(['--expose-gc'], exposed), exposed())`
  const [command, args] = plainNode('--input-type=module', '--eval', program)
  t.equal(execFileSync(command, args, { encoding: 'utf8' }).trim(), 'false false')
})

t.test('a copy of the module knows what the other has set', async t => {
  const program = `
    import { runInNewContext } from 'node:vm'
    import { setV8Flag } from '${file.href}?copy'
    import { withV8Flags } from '${file.href}'
    const exposed = () => runInNewContext('typeof gc') === 'function'
    setV8Flag('--expose-gc')
    const inside = withV8Flags(['--no-expose-gc'], exposed)
    const after = exposed()
    setV8Flag('--no-expose-gc')
    console.log(inside, after, exposed())`
  const [command, args] = plainNode('--input-type=module', '--eval', program)
  t.equal(execFileSync(command, args, { encoding: 'utf8' }).trim(), 'false true false')
})
