import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { directoryOf, childrenOf } from '../support/headgate.ts'
import { plainCommand } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')

/** Lists a process and all its descendants. */
async function treeOf (pid: number): Promise<number[]> {
  const children = await childrenOf(pid)
  return [pid, ...(await Promise.all(children.map(treeOf))).flat()]
}

t.test(
  'a signal to `npm start` also stops the gateway',
  { skip: process.platform !== 'linux' && 'no /proc' },
  async t => {
    const directory = directoryOf(t)
    const [command, parameters] = plainCommand('npm', 'start', '--silent', '--ignore-scripts')
    const npm = spawn(command, parameters, {
      cwd: root,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: directory,
        PORT: '0',
        HEADGATE_DATA_DIR: join(directory, 'data'),
        HEADGATE_API_KEYS: 'a-key-of-24-characters-00'
      }
    })
    t.teardown(() => npm.kill('SIGKILL'))
    for await (const line of createInterface(npm.stderr)) if (line.startsWith('Headgate listens on')) break
    const pids = await treeOf(npm.pid ?? 0)
    t.ok(pids.length > 1)
    t.teardown(() => {
      for (const pid of pids.slice(1)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    })
    npm.kill('SIGTERM')
    await once(npm, 'close')
    for (const deadline = performance.now() + 10_000; pids.some(isAlive) && performance.now() < deadline;) {
      await new Promise(resolve => {
        setImmediate(resolve)
      })
    }
    t.same(pids.filter(isAlive), [])
  }
)

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
