import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { noTerminal, onTerminal } from '../support/pseudo-terminal.ts'
import { settles } from '../support/until.ts'

const url = pathToFileURL(join(import.meta.dirname, '../../lib/process/close-gone-terminal.js')).href

t.test('a process whose terminal is closed exits with its own code', { skip: noTerminal }, async t => {
  const program = `import { closeGoneTerminalAtExit } from '${url}'\ncloseGoneTerminalAtExit()\nprocess.on('SIGHUP', () => process.exit(3))\nsetInterval(() => {}, 1000)\nconsole.log('ready')`
  const { line, close, ended } = await onTerminal(
    t,
    true,
    [process.execPath, '--input-type=module', '-e', program],
    t.testdir(),
    {}
  )
  await line(/^ready/)
  close()
  t.equal(await settles(ended, 'the exit'), 3)
})
