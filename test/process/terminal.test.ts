import t from 'tap'
import { CommandError } from '../../lib/process/terminal.ts'

t.test('a failed command exits with 1, a usage error with another code', async t => {
  const cause = new Error('why')
  t.match(new CommandError('It failed.', { cause }), {
    name: 'CommandError',
    message: 'It failed.',
    exitCode: 1,
    cause
  })
  t.equal(new CommandError('Wrong.', { exitCode: 2 }).exitCode, 2)
})
