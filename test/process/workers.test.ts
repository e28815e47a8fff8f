import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { request } from 'undici'
import { Heartbeats } from '../../lib/process/heartbeats.ts'
import { ask, childrenOf, main, startGateway } from '../support/headgate.ts'
import { plainNode } from '../support/plain-node.ts'
import { chatAnswer, fakeUpstream, type FakeUpstream } from '../support/upstream.ts'
import type { Test } from 'tap'

const env = { HEADGATE_API_KEYS: 'a key' }

/** A provider that answers on command, and the file that configures it. */
async function slowProvider (t: Test, server = ''): Promise<{ readonly upstream: FakeUpstream, readonly directory: string, readonly answer: () => void }> {
  let answer = (): void => undefined
  const gate = new Promise<void>(resolve => { answer = resolve })
  const upstream = await fakeUpstream(async () => {
    await gate
    return { pieces: [chatAnswer('late')] }
  })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `server: {${server}}\nproviders:\n  slow: {base_url: '${upstream.url}', list_models: false}\n  sandbox: {}\n`
  })
  return { upstream, directory, answer: () => answer() }
}

/** Resolves when a process that is no child of this one has ended. */
async function gone (pid: number, ms = 15_000): Promise<boolean> {
  const deadline = performance.now() + ms
  while (performance.now() < deadline) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await new Promise(resolve => { setImmediate(resolve) })
  }
  return false
}

t.test('a primary that dies costs no open call; its workers finish them and end', async t => {
  const { upstream, directory, answer } = await slowProvider(t)
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const pids = await childrenOf(gateway.child.pid ?? 0)
  t.equal(pids.length, 2)
  t.teardown(() => { for (const pid of pids) if (!pidsGone.has(pid)) process.kill(pid, 'SIGKILL') })
  const pidsGone = new Set<number>()
  const calls = [ask(gateway.url, 'a key', 'slow/m'), ask(gateway.url, 'a key', 'slow/m')]
  await Promise.all([upstream.request(0), upstream.request(1)])
  gateway.child.kill('SIGKILL')
  await once(gateway.child, 'exit')
  answer()
  for (const call of calls) t.match(await call, { status: 200, body: { choices: [{ message: { content: 'late' } }] } })
  for (const pid of pids) {
    if (await gone(pid)) pidsGone.add(pid)
    t.ok(pidsGone.has(pid), 'the worker ended')
  }
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

t.test('while all workers are down callers get 503 at the same address, until one is up again', async t => {
  const directory = t.testdir({ 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const found: Array<{ readonly status: number, readonly atMs: number, readonly headers: Record<string, unknown>, readonly body: unknown }> = []
  const look = async (): Promise<void> => {
    const startedMs = performance.now()
    try {
      const { statusCode: status, headers, body } = await request(`${gateway.url}/v1/models`, { reset: true, headers: { authorization: 'Bearer a key' } })
      found.push({ status, atMs: startedMs, headers, body: await body.json() })
    } catch {
      found.push({ status: 0, atMs: startedMs, headers: {}, body: undefined })
    }
  }
  for (const pid of await childrenOf(gateway.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
  await gateway.line(/no worker listens; answering 503/)
  const readyMs = performance.now()
  while (found.at(-1)?.status !== 200 && performance.now() - readyMs < 20_000) await look()
  t.equal(found.at(-1)?.status, 200)
  t.match(found[0], { status: 503, headers: { 'retry-after': '1', connection: 'close' }, body: { error: { code: 'overloaded', message: /restarting/ } } })
  const refused = found.filter(({ status }) => status === 0)
  const refusedMs = refused.length === 0 ? 0 : Math.max(...refused.map(({ atMs }) => atMs)) - Math.min(...refused.map(({ atMs }) => atMs))
  t.ok(refusedMs < 1000, `refused for ${refusedMs} ms, while the port changed hands`)
  t.ok(found.filter(({ status }) => status === 503).length > refused.length)
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})

t.test('a stop while all workers are down ends', async t => {
  const directory = t.testdir({ 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  for (const pid of await childrenOf(gateway.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
  await gateway.line(/no worker listens; answering 503/)
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

t.test('a stop is announced on /readyz while connections are still accepted', async t => {
  const { directory } = await slowProvider(t, 'shutdown_delay_ms: 2000')
  const gateway = await startGateway(t, directory, env)
  const readyz = async (): Promise<number> => {
    const { statusCode, body } = await request(`${gateway.url}/readyz`, { reset: true })
    await body.dump()
    return statusCode
  }
  t.equal(await readyz(), 200)
  gateway.child.kill('SIGTERM')
  let status = 200
  while (status === 200) status = await readyz()
  t.equal(status, 503)
  t.match(await ask(gateway.url, 'a key'), { status: 200 }, 'a late caller is served')
  t.match(await gateway.ended, { code: 0 })
})

t.test('nothing reads the log: calls are answered, and a stop ends', async t => {
  const [command, parameters] = plainNode(main, 'start')
  const directory = t.testdir({ 'headgate.yaml': 'server: {shutdown_delay_ms: 0}\nproviders: {sandbox: {}}\n' })
  const child = spawn(command, parameters, {
    cwd: directory, env: { PATH: process.env['PATH'] ?? '', HEADGATE_PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  child.stderr.setEncoding('utf8')
  let notices = ''
  let url = ''
  for await (const text of child.stderr) {
    notices += String(text)
    url = /^Headgate listens on (\S+)$/m.exec(notices)?.[1] ?? ''
    if (url !== '') break
  }
  // More than the pipe and the reading end hold.
  for (let round = 0; round < 40; round++) {
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await ask(url, 'a key')))
    if (answers.some(({ status }) => status !== 200)) t.fail('a call was not answered')
  }
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code, signal]: unknown[] = await ended
  t.same([code, signal], [0, null])
})

t.test('a process that is silent for too long is found, unless it was the one that looks that stood still', async t => {
  const clock = { ms: 0 }
  const silent: string[] = []
  const heartbeats = new Heartbeats<string>(5000, name => silent.push(name), () => clock.ms)
  t.teardown(() => heartbeats.stop())
  const pass = (seconds: number, alive: readonly string[]): void => {
    for (let second = 0; second < seconds; second++) {
      clock.ms += 1000
      for (const name of alive) heartbeats.beat(name)
      heartbeats.check()
    }
  }
  heartbeats.watch('one')
  heartbeats.watch('two')
  pass(4, [])
  t.same(silent, [])
  clock.ms += 60_000
  heartbeats.check()
  t.same(silent, [], 'a suspended machine')
  pass(6, ['two'])
  t.same(silent, ['one'])
  pass(20, ['two'])
  t.same(silent, ['one'], 'once')
  heartbeats.forget('two')
  pass(20, [])
  t.same(silent, ['one'])
})
