import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { containerOf, processName, processState, worksIn } from '../../lib/async/process-name.ts'
import { until } from '../support/until.ts'

t.test('a name tells whether its process is running, where that can be known', async t => {
  const name = processName()
  const of = (pid: number): string => name.replace(`-${process.pid}-`, `-${pid}-`)
  t.equal(processState(name), 'own')
  t.equal(processState(of(process.ppid)), 'running')
  t.equal(processState(of(4_194_303)), 'exited')
  t.equal(processState(name.slice(0, -1)), 'exited', 'an earlier process with the same id')
  t.equal(processState(`000000000000-${process.pid}-x`), 'unknown', 'another machine')
  t.equal(processState('0190b8a2f3'), 'unknown')
  t.not(processName(), name)
})

t.test('a name tells in which directory of this machine its process works', async t => {
  const directory = t.testdir({ one: {}, two: {}, link: t.fixture('symlink', 'one') })
  const name = processName(join(directory, 'one'))
  t.equal(processState(name), 'own')
  t.ok(worksIn(name, join(directory, 'one')))
  t.ok(worksIn(name, join(directory, 'link')))
  t.notOk(worksIn(name, join(directory, 'two')))
  t.notOk(worksIn(processName(), join(directory, 'one')))
  t.notOk(worksIn(name.replace(/^\w{12}/, '000000000000'), join(directory, 'one')), 'another machine')
})

t.test(
  'a zombie process counts as exited',
  { skip: process.platform !== 'linux' && 'no /proc' },
  async t => {
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore']
    })
    t.teardown(() => parent.kill('SIGKILL'))
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const pid = Number(line.toString())
    await until(() => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')), 'the end of the process')
    t.equal(processState(processName().replace(`-${process.pid}-`, `-${pid}-`)), 'exited')
  }
)

t.test('containers with the same host name are distinguished by the hosts file mounted in each', async t => {
  const line = (root: string, point: string) =>
    `655 640 8:1 ${root} ${point} rw,relatime - ext4 /dev/sda1 rw`
  const docker = '/var/lib/docker/containers/4f2a/hosts'
  const pod = '/var/lib/kubelet/pods/0b77-11/etc-hosts'
  t.strictSame(
    containerOf([line('/', '/'), line(docker, '/etc/hosts'), line('/x', '/etc/hosts.d')].join('\n')),
    [docker]
  )
  t.strictSame(containerOf(`${line(pod, '/etc/hosts')}\n`), [pod])
  t.strictSame(containerOf(line('/', '/')), [])
  t.strictSame(containerOf(''), [])
})

const inNamespace = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--mount-proc']
const noNamespaces =
  spawnSync('unshare', [...inNamespace, 'mount', '--bind', '/etc/hosts', '/etc/hosts']).status !== 0 &&
  'no namespaces'

t.test(
  'a process of another container is unknown even with the same host name and id; its own is recognised',
  { skip: noNamespaces },
  async t => {
    const module = join(import.meta.dirname, '../../lib/async/process-name.js')
    const hosts = t.testdir({ one: '', other: '' })
    const nameIn = (container: string): string => {
      const script = `import(${JSON.stringify(module)}).then(({ processName }) => console.log(processName()))`
      const shell = 'mount --bind "$1" /etc/hosts && exec "$2" -e "$3"'
      return execFileSync(
        'unshare',
        [...inNamespace, 'sh', '-c', shell, 'sh', join(hosts, container), process.execPath, script],
        { encoding: 'utf8' }
      ).trim()
    }
    const name = nameIn('one')
    t.match(name, /^\w{12}-1-/)
    t.equal(processState(name), 'unknown')
    t.equal(processState(name.replace('-1-', `-${process.pid}-`)), 'unknown')
    t.not(nameIn('other').slice(0, 12), name.slice(0, 12))
    t.equal(nameIn('one').slice(0, 12), name.slice(0, 12), 'after a restart')
  }
)
