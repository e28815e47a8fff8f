import { existsSync, writeFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { directoryOf, ask, childrenOf, startGateway } from '../support/headgate.ts'
import { collector } from '../support/collector.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import { gone, slowProvider } from '../support/slow-provider.ts'
import { eventually, settles, until } from '../support/until.ts'
import { closedPort, closedUrl } from '../support/closed-port.ts'
import { importJournals } from '../../lib/usage/import-journals.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { rounds } from '../support/rounds.ts'
import type { Running } from '../support/headgate.ts'

const limitedKey = 'a-key-with-limits'
const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }

t.test('workers share the port and the key, and one that exits is replaced', async t => {
  const gateway = await startGateway(t, directoryOf(t), { HEADGATE_WORKERS: '2' })
  const [, key = ''] = await gateway.line(/not shown again\): (hg_\S+)$/)
  for (let call = 0; call < 4; call++) t.match(await ask(gateway.url, key), { status: 200 })

  const pids = await childrenOf(gateway.child.pid ?? 0)
  t.equal(pids.length, 2)
  process.kill(pids[0] ?? 0, 'SIGKILL')
  await gateway.line(/worker exited; restarting/)
  t.match(await ask(gateway.url, key), { status: 200 }, 'the other one answers meanwhile')
  const alive = await twoChildrenOf(gateway.child.pid ?? 0)
  t.ok(alive.includes(pids[1] ?? 0) && !alive.includes(pids[0] ?? 0))

  gateway.child.kill('SIGTERM')
  const { code, out, error } = await gateway.ended
  t.equal(code, 0)
  t.match(out, /"msg":"stopped"\}\s*$/)
  t.equal(error.match(/Headgate listens/g)?.length, 1, 'the banner is shown once')
  for (const pid of alive) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test('each worker sends its own spans and metrics to the collector', async t => {
  const seen = await collector(t)
  const gateway = await startGateway(t, directoryOf(t), {
    ...env,
    HEADGATE_WORKERS: '2',
    OTEL_EXPORTER_OTLP_ENDPOINT: seen.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'otlp'
  })
  const key = 'a-key-of-24-characters-00'
  await Promise.all(Array.from({ length: 12 }, async () => await ask(gateway.url, key)))
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
  t.equal(seen.spans().filter(({ kind }) => kind === 2).length, 12, 'each call once, whichever worker had it')
  const instances = (path: string): number => {
    const texts = seen.requests.filter(request => request.path === path).map(({ text }) => text)
    const names = texts.map(text => /"service\.instance\.id","value":\{"stringValue":"[^"]+/.exec(text)?.[0])
    return new Set(names).size
  }
  t.equal(instances('/v1/traces'), 2)
  t.equal(instances('/v1/metrics'), 2)
})

t.test('a worker that hangs is replaced', async t => {
  const { directory } = await slowProvider(t, 'worker_timeout_ms: 1500')
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const [hung = 0, other = 0] = await childrenOf(gateway.child.pid ?? 0)
  process.kill(hung, 'SIGSTOP')
  await gateway.line(/worker not responding; killing it/)
  await gateway.line(/worker exited; restarting/)
  const pids = await twoChildrenOf(gateway.child.pid ?? 0)
  t.ok(pids.includes(other) && !pids.includes(hung))
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 })
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})

t.test("a worker stuck in a guard module's endless loop is replaced, and its call interrupted", async t => {
  const directory = directoryOf(t, {
    'headgate.yaml': [
      'server: {port: 0, worker_timeout_ms: 1500}',
      'providers: {sandbox: {}}',
      'stages: [{name: loop, use: ./loop.mjs, at: [answer]}]',
      ''
    ].join('\n'),
    'loop.mjs':
      "export default { answer: texts => { while (texts.some(text => text.includes('loop'))) {} } }\n"
  })
  const key = 'a-key-of-24-characters-00'
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2', PORT: '' })
  const before = await childrenOf(gateway.child.pid ?? 0)
  const asked = async (content: string): Promise<number | string> =>
    await request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content }] })
    }).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode
      },
      () => 'the connection ended'
    )
  const looping = asked('loop [sandbox: delay ms=400]')
  const others = Promise.all(Array.from({ length: 6 }, async () => await asked('hello')))
  await gateway.line(/worker not responding; killing it/)
  await gateway.line(/worker exited; restarting/)
  t.equal(await looping, 'the connection ended')
  t.ok((await others).includes(200), 'the other worker answers meanwhile')
  const pids = await twoChildrenOf(gateway.child.pid ?? 0)
  t.equal(pids.filter(pid => before.includes(pid)).length, 1, 'and goes on')
  for (let call = 0; call < 4; call++) t.match(await ask(gateway.url, key), { status: 200 })
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
  const database = await openDatabase(join(directory, '.headgate'))
  t.teardown(database.close)
  await importJournals(database, { onImported: () => undefined, onFailure: (_, error) => { throw error } })
  t.match(
    await database.query.selectFrom('usage').selectAll().where('outcome', '=', 'interrupted').execute(),
    [{ endpoint: 'chat', model: 'sandbox/echo', status: null }],
    'the call that looped is on record, as interrupted'
  )
})

t.test('a shutdown completes in time although a worker hangs', async t => {
  const { directory } = await slowProvider(t, 'shutdown_delay_ms: 0, drain_ms: 100')
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const [hung = 0] = await childrenOf(gateway.child.pid ?? 0)
  process.kill(hung, 'SIGSTOP')
  gateway.child.kill('SIGTERM')
  t.match(await settles(gateway.ended, 'the stop'), {
    code: 0,
    out: /workers did not stop in time; killing them/
  })
  t.ok(await gone(hung))
})

t.test('after all workers were down, new ones listen at the same address', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  for (const pid of await childrenOf(gateway.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
  await gateway.line(/worker exited; restarting/)
  const statusOf = async (): Promise<number> =>
    await ask(gateway.url, 'a-key-of-24-characters-00').then(
      ({ status }) => status,
      () => 0
    )
  t.equal(await eventually(statusOf, status => status !== 0, 'a worker that listens', 20_000), 200)
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})

t.test('a shutdown while all workers are down completes', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  for (const pid of await childrenOf(gateway.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
  await gateway.line(/worker exited; restarting/)
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
})

t.test('a shutdown completes although workers were just killed and their IPC is closed', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers: {sandbox: {}}\n' })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2' })
  const primary = gateway.child.pid ?? 0
  const pids = await childrenOf(primary)
  // Once resumed, it reads the signal and the closed channels of the workers before it learns of the exits.
  gateway.child.kill('SIGSTOP')
  await eventually(
    async () => await stateOf(primary),
    state => state === 'T',
    'a stopped primary'
  )
  for (const pid of pids) {
    process.kill(pid, 'SIGKILL')
    await eventually(
      async () => await stateOf(pid),
      state => state === 'Z',
      'a dead worker'
    )
  }
  gateway.child.kill('SIGTERM')
  gateway.child.kill('SIGCONT')
  t.match(await gateway.ended, { code: 0, error: /^(?![^]*Error)/, out: /"msg":"stopped"\}\s*$/ })
})

t.test(
  'a replacement worker runs with the last reload, except for settings that need a restart',
  async t => {
    const configured = (server: string, rest = ''): string =>
      `server: {${server}}\nproviders: {sandbox: {}}\n${rest}`
    const directory = directoryOf(t, { 'headgate.yaml': configured('port: 0, data_dir: first') })
    const save = (text: string): void => writeFileSync(join(directory, 'headgate.yaml'), text)
    const gateway = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: '2', PORT: '' })
    const primary = gateway.child.pid ?? 0

    const others = `port: ${closedPort}, data_dir: second`
    save(configured(others, 'routes: {quick: [sandbox/echo]}\n'))
    for (const pid of await childrenOf(primary)) {
      await gateway.line(
        new RegExp(`"changed":\\["server","routes"\\],"pid":${pid},"msg":"configuration reloaded"`)
      )
    }
    await replaceWorkers(gateway)
    t.match(
      await ask(gateway.url, 'a-key-of-24-characters-00', 'quick'),
      { status: 200 },
      'it has what was reloaded, and listens where the others do'
    )
    t.notOk(existsSync(join(directory, 'second')), 'it has the store of the start')
    await t.rejects(ask(closedUrl, 'a-key-of-24-characters-00'), { code: 'ECONNREFUSED' })

    save('server: {prot: 1}')
    await gateway.line(/"problems":\["headgate.yaml:1:10.*keeping the current one/)
    await replaceWorkers(gateway)
    t.match(
      await ask(gateway.url, 'a-key-of-24-characters-00', 'quick'),
      { status: 200 },
      'a file with problems keeps no worker from starting'
    )

    save(configured(others, 'routes: {fast: [sandbox/echo]}\n'))
    await gateway.line(/"changed":\["routes"\],"pid":\d+,"msg":"configuration reloaded"/)
    // The second worker may start after the first one got the new file, and then starts with it.
    const both = async (): Promise<boolean> =>
      (
        await Promise.all(
          Array.from({ length: 16 }, async () => await ask(gateway.url, 'a-key-of-24-characters-00', 'fast'))
        )
      ).every(({ status }) => status === 200)
    await until(both, 'both workers to take over the next good file')
    gateway.child.kill('SIGTERM')
    const { code, out } = await gateway.ended
    t.equal(code, 0)
    const said = out.match(/"entries":\["server.port","server.data_dir"\].*require a restart/g)?.length
    t.ok(said === 3 || said === 4, 'the two at the first reload, and at the second those that were there')
  }
)

t.test(
  'repeatedly killing a worker while callers connect leaves no call hanging and no slot taken',
  async t => {
    // Two slots per caller: one that reconnects before the primary knows of the exit still holds the slot of
    // its former call.
    const [places, callerCount, kills] = [12, 6, rounds(6)]
    let isHeld = false
    let release = (): void => undefined
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const upstream = await fakeUpstream(async () => {
      if (isHeld) await released
      return { pieces: [chatAnswer('x')] }
    })
    t.teardown(upstream.close)
    const directory = directoryOf(t, {
      'headgate.yaml':
        `providers:\n  some: {base_url: '${upstream.url}', list_models: false}\n` +
        `models: {some/model: {price: {input: 1, output: 1}, capabilities: {output_token_limit: 100}}}\n` +
        `keys: [{name: k, key: 'env:LIMITED_KEY', limits: {concurrent_calls: ${places}, budget: {usd: 1, per: total}}}]\n`
    })
    const gateway = await startGateway(t, directory, { LIMITED_KEY: limitedKey, HEADGATE_WORKERS: '2' })
    const primary = gateway.child.pid ?? 0
    const call = async (): Promise<number> => {
      const { statusCode, body } = await request(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        reset: true,
        headersTimeout: 10_000,
        bodyTimeout: 10_000,
        headers: { authorization: `Bearer ${limitedKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'some/model', messages: [{ role: 'user', content: 'ping' }] })
      })
      await body.dump()
      return statusCode
    }
    /** The callers' calls by outcome: those of a killed worker fail at once. */
    const ends: Record<string, number> = {}
    const ending = new AbortController()
    const callers = Array.from({ length: callerCount }, async () => {
      while (!ending.signal.aborted) {
        const end = await call().then(
          String,
          (error: unknown) => (error as { code?: string }).code ?? String(error)
        )
        ends[end] = (ends[end] ?? 0) + 1
      }
    })
    for (let kill = 0; kill < kills; kill++) {
      const [one = 0] = await eventually(
        async () => await listening(primary, gateway.url),
        ({ length }) => length === 2,
        'two workers that listen',
        30_000
      )
      const answered = ends['200'] ?? 0
      await until(() => (ends['200'] ?? 0) > answered + 50, 'calls to be answered', 20_000)
      process.kill(one, 'SIGKILL')
      await until(async () => !(await childrenOf(primary)).includes(one), 'the worker to be gone')
    }
    ending.abort()
    await Promise.all(callers)
    t.comment(JSON.stringify(ends))
    t.same(
      Object.keys(ends).filter(end => !['200', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(end)),
      [],
      'no call hangs, and none is refused: the other worker listens'
    )

    isHeld = true
    const before = upstream.requests.length
    const together = Array.from({ length: places }, async () => await call())
    await until(() => upstream.requests.length - before === places, 'every place to be free').catch(
      (error: unknown) => t.fail(String(error))
    )
    release()
    t.same(await Promise.all(together), Array(places).fill(200))
  }
)

/** Kills both workers, and returns their replacements once they serve. */
async function replaceWorkers ({
  child,
  url
}: Pick<Running, 'child'> & { readonly url: string }): Promise<void> {
  const before = await twoChildrenOf(child.pid ?? 0)
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await eventually(
    async () => await childrenOf(child.pid ?? 0),
    pids => pids.filter(pid => !before.includes(pid)).length === 2,
    'two others',
    20_000
  )
  await until(
    async () =>
      await ask(url, 'a-key-of-24-characters-00').then(
        ({ status }) => status === 200,
        () => false
      ),
    'the others to serve',
    20_000
  )
}

/** Lists the workers that listen at an address: they share one socket. */
async function listening (primary: number, url: string): Promise<number[]> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map(async name => await readFile(`/proc/net/${name}`, 'utf8'))
  )
  const [, inode] = new RegExp(`:${port} \\S+ 0A(?: +\\S+){5} +(\\d+)`).exec(tables.join('\n')) ?? []
  const found: number[] = []
  for (const pid of await childrenOf(primary)) {
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    const targets = await Promise.all(
      files.map(async file => await readlink(`/proc/${pid}/fd/${file}`).catch(() => ''))
    )
    // Until it has started Node.js, a child has all files of its parent open.
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    if (environment.includes('NODE_UNIQUE_ID=') && targets.includes(`socket:[${inode}]`)) found.push(pid)
  }
  return found
}

/**
 * Returns the state of a process as named by Linux: `T` when stopped, `Z` when it has exited and its parent
 * has not been notified yet.
 */
async function stateOf (pid: number): Promise<string | undefined> {
  return /^State:\s+(\w)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
}

async function twoChildrenOf (pid: number): Promise<number[]> {
  return await eventually(
    async () => await childrenOf(pid),
    ({ length }) => length >= 2,
    'two workers',
    20_000
  )
}
