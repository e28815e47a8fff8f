import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { Client, request } from 'undici'
import { directoryOf, ask, main, startGateway } from '../support/headgate.ts'
import { httpServer } from '../support/http-server.ts'
import { plainNode } from '../support/plain-node.ts'
import { slowProvider } from '../support/slow-provider.ts'
import { eventually, settles, until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'

const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }

t.test('a shutdown is announced on /readyz while connections are still accepted', async t => {
  const { directory } = await slowProvider(t, 'shutdown_delay_ms: 2000')
  const gateway = await startGateway(t, directory, env)
  const readyz = async (): Promise<number> => {
    const { statusCode, body } = await request(`${gateway.url}/readyz`, { reset: true })
    await body.dump()
    return statusCode
  }
  t.equal(await readyz(), 200)
  gateway.child.kill('SIGTERM')
  t.equal(await eventually(readyz, status => status !== 200, '/readyz to change'), 503)
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 }, 'a late caller is served')
  t.match(await gateway.ended, { code: 0, out: /"msg":"draining open calls[^]*"msg":"stopped"\}\s*$/ })
})

t.test('a port in use is reported at once, however long shutdowns are announced', async t => {
  const { server } = await httpServer(t, (_request, response) => response.end())
  const { port } = server.address() as AddressInfo // listening on TCP
  const [command, parameters] = plainNode(main, 'start')
  const directory = directoryOf(t, {
    'headgate.yaml': `server: {shutdown_delay_ms: 60000, port: ${port}}\nproviders: {sandbox: {}}\n`
  })
  const child = spawn(command, parameters, {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [said, [code]] = await settles(
    Promise.all([text(child.stderr), once(child, 'exit')]),
    'the start to fail',
    30_000
  )
  t.equal(code, 1)
  t.match(said, /in use/)
})

t.test('an empty store file is a new store, and the log says that it was empty', async t => {
  const directory = directoryOf(t, {
    'headgate.yaml': 'providers: {sandbox: {}}\n',
    data: { 'headgate.db': '' }
  })
  const gateway = await startGateway(t, directory, { ...env, HEADGATE_DATA_DIR: 'data' })
  await gateway.line(/"msg":"the file of the store is empty/)
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 })
  gateway.child.kill('SIGTERM')
  await gateway.ended
  const again = await startGateway(t, directory, { ...env, HEADGATE_DATA_DIR: 'data' })
  again.child.kill('SIGTERM')
  t.notMatch((await again.ended).out, /is empty/)
})

t.test(
  'callers get half of the file descriptors, and each accepted connection is answered',
  { skip: process.platform !== 'linux' && 'the limit is read on Linux' },
  async t => {
    const { directory, upstream, answer } = await slowProvider(t)
    const [command, parameters] = plainNode(main, 'start')
    const child = spawn('sh', ['-c', 'ulimit -n 128; exec "$0" "$@"', command, ...parameters], {
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...env },
      stdio: ['ignore', 'ignore', 'pipe']
    })
    t.teardown(() => child.kill('SIGKILL'))
    let notices = ''
    child.stderr.on('data', (data: Buffer) => {
      notices += String(data)
    })
    const [, url = ''] = await eventually(
      async () => /^Headgate listens on (\S+)$/m.exec(notices) ?? [],
      found => found.length > 0,
      'the start',
      30_000
    )
    const callers = Array.from({ length: 60 }, () => new Client(url, { headersTimeout: 30_000 }))
    t.teardown(async () => await Promise.all(callers.map(async caller => await caller.destroy())))
    const answers = callers.map(async caller => {
      const headers = {
        authorization: 'Bearer a-key-of-24-characters-00',
        'content-type': 'application/json'
      }
      const answer = await caller
        .request({
          method: 'POST',
          path: '/v1/chat/completions',
          headers,
          body: '{"model":"slow/m","messages":"x"}'
        })
        .catch(() => undefined)
      await answer?.body.dump()
      return answer === undefined ? 'closed' : String(answer.statusCode)
    })
    await until(() => upstream.requests.length === 32, 'half of the rest to be with the provider')
    answer()
    const statuses = await Promise.all(answers)
    t.same(statuses.toSorted(), [
      ...Array.from({ length: 32 }, () => '200'),
      ...Array.from({ length: 28 }, () => 'closed')
    ])
  }
)

t.test('if nothing reads the log, calls are served and a shutdown completes', async t => {
  const [command, parameters] = plainNode(main, 'start')
  const directory = directoryOf(t, {
    'headgate.yaml': 'server: {shutdown_delay_ms: 0}\nproviders: {sandbox: {}}\n'
  })
  const child = spawn(command, parameters, {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe']
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
  // More than the pipe and the reading end can buffer.
  for (let round = 0; round < 40; round++) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => await ask(url, 'a-key-of-24-characters-00'))
    )
    if (answers.some(({ status }) => status !== 200)) t.fail('a call failed')
  }
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code, signal]: unknown[] = await ended
  t.same([code, signal], [0, null])
})

/** A module whose guard refuses every request for a reason. */
function refusing (reason: string): string {
  return `export default { request: () => ({ refuse: '${reason}' }) }`
}

t.test('SIGHUP loads a changed guard module, and one that could not be loaded before', async t => {
  const directory = directoryOf(t, {
    'headgate.yaml': 'providers: {sandbox: {}}\nstages: [{name: mine, use: ./guard.mjs}]\n',
    'guard.mjs': refusing('one')
  })
  const gateway = await startGateway(t, directory, env)
  const refusal = async (): Promise<string> =>
    JSON.stringify((await ask(gateway.url, 'a-key-of-24-characters-00')).body)
  const change = (text: string): void => {
    writeFileSync(join(directory, 'guard.mjs'), text)
    gateway.child.kill('SIGHUP')
  }
  t.match(await refusal(), /one/)
  change(refusing('two'))
  await eventually(refusal, body => body.includes('two'), 'the changed module')
  change('export default 5')
  await gateway.line(/"msg":"failed to reload the configuration; keeping the current one"/)
  t.match(await refusal(), /two/)
  change(refusing('three'))
  await eventually(refusal, body => body.includes('three'), 'the repaired module')
})

t.test('a reload that fails keeps the keys in effect as well', async t => {
  const [old, next] = ['an-old-key-of-24-characters', 'the-next-key-of-24-characters']
  const directory = directoryOf(t, {
    'headgate.yaml': 'providers: {sandbox: {}}\nkeys: [{name: app, key: file:old}]\n',
    'guard.mjs': 'export default 5',
    old,
    next
  })
  const gateway = await startGateway(t, directory)
  const statuses = async (): Promise<string> =>
    (await Promise.all([old, next].map(async key => (await ask(gateway.url, key)).status))).join(' ')
  t.equal(await statuses(), '200 401')
  writeFileSync(
    join(directory, 'headgate.yaml'),
    'providers: {sandbox: {}}\nkeys: [{name: app, key: file:next}]\nstages: [{name: mine, use: ./guard.mjs}]\n'
  )
  await gateway.line(/"msg":"failed to reload the configuration; keeping the current one"/)
  t.equal(await statuses(), '200 401')
  writeFileSync(join(directory, 'guard.mjs'), 'export default { request: texts => texts }')
  gateway.child.kill('SIGHUP')
  await gateway.line(/"msg":"configuration reloaded"/)
  t.equal(await statuses(), '401 200')
})
