import t from 'tap'
import { ask, childrenOf, startGateway } from '../support/headgate.ts'
import { gone, slowProvider } from '../support/slow-provider.ts'

const env = { HEADGATE_API_KEYS: 'a key' }

t.test('workers share the port and the key, and one that exits is replaced', async t => {
  const gateway = await startGateway(t, t.testdir(), { HEADGATE_WORKERS: '2' })
  const [, key = ''] = await gateway.line(/not shown again\): (hg_\S+)$/)
  for (let call = 0; call < 4; call++) t.match(await ask(gateway.url, key), { status: 200 })

  const pids = await childrenOf(gateway.child.pid ?? 0)
  t.equal(pids.length, 2)
  process.kill(pids[0] ?? 0, 'SIGKILL')
  await gateway.line(/worker exited; restarting/)
  t.match(await ask(gateway.url, key), { status: 200 }, 'the other one answers meanwhile')
  let alive = await childrenOf(gateway.child.pid ?? 0)
  while (alive.length < 2) alive = await childrenOf(gateway.child.pid ?? 0)
  t.ok(alive.includes(pids[1] ?? 0) && !alive.includes(pids[0] ?? 0))

  gateway.child.kill('SIGTERM')
  const { code, error } = await gateway.ended
  t.equal(code, 0)
  t.equal(error.match(/Headgate listens/g)?.length, 1, 'the banner is shown once')
  for (const pid of alive) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test('a worker that hangs is replaced', async t => {
  const { directory } = await slowProvider(t, 'worker_timeout_ms: 1500')
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const [hung = 0, other = 0] = await childrenOf(gateway.child.pid ?? 0)
  process.kill(hung, 'SIGSTOP')
  await gateway.line(/worker not responding; killing it/)
  await gateway.line(/worker exited; restarting/)
  let pids: number[] = []
  while (pids.length < 2) pids = await childrenOf(gateway.child.pid ?? 0)
  t.ok(pids.includes(other) && !pids.includes(hung))
  t.match(await ask(gateway.url, 'a key'), { status: 200 })
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})

t.test('a stop ends in time, though a worker hangs', async t => {
  const { directory } = await slowProvider(t, 'shutdown_delay_ms: 0, drain_ms: 100')
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const [hung = 0] = await childrenOf(gateway.child.pid ?? 0)
  process.kill(hung, 'SIGSTOP')
  const startedMs = performance.now()
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0, out: /workers did not stop in time; killing them/ })
  t.ok(performance.now() - startedMs < 8000)
  t.ok(await gone(hung))
})
