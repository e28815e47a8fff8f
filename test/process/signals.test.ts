import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { plainNode } from '../support/plain-node.ts'

const url = pathToFileURL(join(import.meta.dirname, '../../lib/process/signals.js')).href

t.test('the first signal asks, the second ends at once', async t => {
  for (const [first, second] of [['SIGTERM', 'SIGINT'], ['SIGINT', 'SIGINT']] as const) {
    const program = `import { stopSignal } from '${url}'\nconst stopped = stopSignal()\nsetInterval(() => {}, 1000)\nconsole.log('ready')\nawait stopped\nconsole.log('stopping')`
    const [command, parameters] = plainNode('--input-type=module', '-e', program)
    const child = spawn(command, parameters, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    t.equal(String((await once(child.stdout, 'data') as Buffer[])[0]), 'ready\n')
    child.kill(first)
    t.equal(String((await once(child.stdout, 'data') as Buffer[])[0]), 'stopping\n')
    child.kill(second)
    t.same(await once(child, 'exit'), [1, null])
  }
})
