import t from 'tap'
import { terminalLog } from '../../lib/cli/terminal-log.ts'

t.test('on a terminal, service warnings are sentences and lower levels are hidden', async t => {
  const lines: string[] = []
  const log = terminalLog({ error: text => { lines.push(text) } })
  log.info({ provider: 'one', error: 'x' }, 'nothing happened')
  log.warn({ provider: 'one', error: 'It is gone.' }, 'failed to read the model list of a provider')
  t.same(lines, ['one  warning: failed to read the model list of a provider: It is gone.'])
})
