import t from 'tap'
import { processName, processState } from '../../lib/async/process-name.ts'

t.test('a name shows whether its process lives, where that can be known', async t => {
  const name = processName()
  const of = (pid: number): string => name.replace(`-${process.pid}-`, `-${pid}-`)
  t.equal(processState(name), 'own')
  t.equal(processState(of(process.ppid)), 'running')
  t.equal(processState(of(4_194_303)), 'exited')
  t.equal(processState(name.slice(0, -1)), 'exited', 'an earlier process with the id of this one')
  t.equal(processState(`000000000000-${process.pid}-x`), 'unknown', 'of another machine')
  t.equal(processState('0190b8a2f3'), 'unknown')
  t.not(processName(), name)
})
