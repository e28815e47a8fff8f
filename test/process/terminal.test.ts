import t from 'tap'
import { CommandError } from '../../lib/process/terminal.ts'

t.test('a failure of a command ends it with 1, unless it is one of its use', async t => {
  const cause = new Error('why')
  t.match(new CommandError('It failed.', { cause }), {
    name: 'CommandError',
    message: 'It failed.',
    exitCode: 1,
    cause
  })
  t.equal(new CommandError('Wrong.', { exitCode: 2 }).exitCode, 2)
})
