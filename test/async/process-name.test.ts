import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { processName, processState } from '../../lib/async/process-name.ts'
import { until } from '../support/until.ts'

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

t.test('a process that its parent does not wait for has exited', { skip: process.platform !== 'linux' && 'no /proc' }, async t => {
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data') as [Buffer]
  const pid = Number(line.toString())
  await until(() => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')), 'the end of the process')
  t.equal(processState(processName().replace(`-${process.pid}-`, `-${pid}-`)), 'exited')
})

const inNamespace = ['--user', '--map-root-user', '--pid', '--fork']
const noNamespaces = spawnSync('unshare', [...inNamespace, 'true']).status !== 0 && 'no PID namespaces'

t.test('of a process of another container nothing is known, if it has the same host name and the same id as well', { skip: noNamespaces }, async t => {
  const module = join(import.meta.dirname, '../../lib/async/process-name.js')
  const script = `import(${JSON.stringify(module)}).then(({ processName }) => console.log(require('node:os').hostname(), processName()))`
  const [host, name = ''] = execFileSync('unshare', [...inNamespace, process.execPath, '-e', script], { encoding: 'utf8' }).trim().split(' ')
  t.equal(host, hostname())
  t.match(name, /^\w{12}-1-/)
  t.equal(processState(name), 'unknown')
  t.equal(processState(name.replace('-1-', `-${process.pid}-`)), 'unknown')
})
