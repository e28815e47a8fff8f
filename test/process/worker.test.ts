import { fork } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { readSettings } from '../../lib/config/read-settings.ts'
import { SharedConfiguration } from '../../lib/config/shared-configuration.ts'
import { ask, childrenOf, directoryOf, main, startGateway } from '../support/headgate.ts'
import { gone, slowProvider } from '../support/slow-provider.ts'
import { settles } from '../support/until.ts'

const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }

t.test('when the primary dies, no open call is lost; its workers finish them and exit', async t => {
  const { upstream, directory, answer } = await slowProvider(t)
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const pids = await childrenOf(gateway.child.pid ?? 0)
  t.equal(pids.length, 2)
  t.teardown(() => { for (const pid of pids) if (!pidsGone.has(pid)) process.kill(pid, 'SIGKILL') })
  const pidsGone = new Set<number>()
  const calls = [
    ask(gateway.url, 'a-key-of-24-characters-00', 'slow/m'),
    ask(gateway.url, 'a-key-of-24-characters-00', 'slow/m')
  ]
  await Promise.all([upstream.request(0), upstream.request(1)])
  gateway.child.kill('SIGKILL')
  await once(gateway.child, 'exit')
  answer()
  for (const call of calls) {
    t.match(await call, { status: 200, body: { choices: [{ message: { content: 'late' } }] } })
  }
  for (const pid of pids) {
    if (await gone(pid)) pidsGone.add(pid)
    t.ok(pidsGone.has(pid), 'the worker ended')
  }
})

t.test('a worker whose primary dies before it listens exits', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  for (const configured of [true, false]) {
    // As `node:cluster` starts one.
    const worker = fork(main, ['start'], {
      cwd: directory,
      silent: true,
      execArgv: [],
      env: { PATH: process.env['PATH'], NODE_UNIQUE_ID: '1', ...env }
    })
    t.teardown(() => worker.kill('SIGKILL'))
    const ended = once(worker, 'exit')
    if (configured) {
      const waits = new Promise<void>(resolve => {
        worker.on('message', (message: { readonly listen?: string }) => {
          if (message.listen === 'ready') resolve()
        })
      })
      new SharedConfiguration(readSettings({ env: { PORT: '0', ...env }, cwd: directory })).join(
        worker,
        version => {
          throw new Error(`taken for version ${version}`)
        }
      )
      await waits
    }
    worker.disconnect()
    t.same(
      await settles(ended, 'the worker to end'),
      [1, null],
      configured ? 'with the configuration' : 'without it'
    )
  }
})

t.test(
  'a worker under a primary of an earlier version reports it and exits before sending anything else',
  async t => {
    const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
    const worker = fork(main, ['start'], {
      cwd: directory,
      silent: true,
      execArgv: [],
      env: { PATH: process.env['PATH'], NODE_UNIQUE_ID: '1', ...env }
    })
    t.teardown(() => worker.kill('SIGKILL'))
    const sent: unknown[] = []
    worker.on('message', (message: { readonly configuration?: string }) => {
      sent.push(message)
      // Messages of early versions have no version number.
      if (message.configuration === 'request') {
        worker.send({ configuration: 'start', started: '{}', current: '{}' })
      }
    })
    t.same(await settles(once(worker, 'exit'), 'the worker to end'), [1, null])
    t.match(sent, [
      { configuration: 'request' },
      { failure: /^this worker has version .*, and its primary process an earlier one: restart/ }
    ])
    t.equal(sent.length, 2)
  }
)
