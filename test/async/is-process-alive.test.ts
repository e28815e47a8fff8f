import { spawnSync } from 'node:child_process'
import t from 'tap'
import { isProcessAlive } from '../../lib/async/is-process-alive.ts'

t.test('this process is alive, an exited one is not', async t => {
  t.equal(isProcessAlive(process.pid), true)
  t.equal(isProcessAlive(spawnSync(process.execPath, ['-e', '']).pid), false)
})

t.test('a process of another user is recognised as alive', async t => {
  const denied = t.intercept(process, 'kill', {
    value: () => {
      throw Object.assign(new Error('denied'), { code: 'EPERM' })
    }
  })
  const alive = isProcessAlive(1)
  denied.restore()
  t.equal(alive, true)
})
