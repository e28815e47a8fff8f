import { parseArgs } from 'node:util'
import t from 'tap'
import { refuseArguments, usageError } from '../../lib/cli/command.ts'

t.test('only the first sentence of a command line mistake is printed', async t => {
  const mistake = (args: string[]): unknown => {
    try {
      return parseArgs({ args, options: { json: { type: 'boolean' }, name: { type: 'string' } } })
    } catch (error) {
      return usageError(error)
    }
  }
  t.equal(mistake(['--jsn']), "Unknown option '--jsn'")
  t.equal(mistake(['x']), "Unexpected argument 'x'")
  t.match(mistake(['--name']), /^Option '--name <value>' argument missing$/)
})

t.test('other errors are not mistakes of the command line', async t => {
  t.same(
    [new Error('x'), Object.assign(new Error('x'), { code: 'ENOENT' }), 'text', undefined].map(usageError),
    [undefined, undefined, undefined, undefined]
  )
})

t.test('the first argument too many is named', async t => {
  t.throws(() => refuseArguments(['alpha', 'beta']), {
    exitCode: 2,
    message: 'unexpected argument "alpha": quote a name with spaces'
  })
  t.doesNotThrow(() => refuseArguments([]))
})
