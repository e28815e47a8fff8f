import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { request } from 'undici'
import { ask, directoryOf, main, startGateway } from '../support/headgate.ts'
import { plainNode } from '../support/plain-node.ts'
import { noTerminal, onTerminal, type OnTerminal } from '../support/pseudo-terminal.ts'
import { slowProvider } from '../support/slow-provider.ts'
import { settles, until } from '../support/until.ts'
import type { Test } from 'tap'

const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' }
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

for (const workers of ['1', '2']) {
  t.test(
    `a closed terminal stops its gateway with ${workers} processes; open calls complete`,
    { skip: noTerminal },
    async t => {
      const { upstream, directory, answer } = await slowProvider(t)
      const gateway = await startOnTerminal(t, true, directory, { HEADGATE_WORKERS: workers })
      const call = ask(gateway.url, 'a-key-of-24-characters-00', 'slow/m')
      await upstream.request(0)
      gateway.close()
      await until(async () => (await readyz(gateway.url)) === 503, 'the stop to be announced', 20_000)
      process.kill(gateway.pid, 'SIGHUP') // as a shell and the system both send it
      process.kill(gateway.pid, 'SIGTERM') // as `stopWithNpm` does
      answer()
      t.match(await call, { status: 200, body: { choices: [{ message: { content: 'late' } }] } })
      t.equal(await settles(gateway.ended, 'the gateway to end', 20_000), 0)
    }
  )

  t.test(
    `an unwritable log does not stop ${workers} processes from serving or shutting down`,
    { skip: noTerminal },
    async t => {
      const directory = directoryOf(t, {
        'headgate.yaml': 'server: {shutdown_delay_ms: 60000}\nproviders: {sandbox: {}}\n'
      })
      const gateway = await startOnTerminal(t, false, directory, { HEADGATE_WORKERS: workers })
      gateway.close()
      const statuses = new Set<number>()
      // 60 KB of lines
      for (let call = 0; call < 200; call++) {
        statuses.add((await ask(gateway.url, 'a-key-of-24-characters-00')).status)
      }
      t.same([...statuses], [200])
      process.kill(gateway.pid, 'SIGTERM')
      await until(async () => (await readyz(gateway.url)) === 503, 'the stop to be announced', 20_000)
      process.kill(gateway.pid, 'SIGTERM')
      t.equal(await settles(gateway.ended, 'the gateway to end', 20_000), 1)
    }
  )
}

t.test('without a terminal SIGHUP stops nothing, not even a shutdown', async t => {
  const directory = directoryOf(t, {
    'headgate.yaml': 'server: {shutdown_delay_ms: 1000}\nproviders: {sandbox: {}}\n'
  })
  for (const workers of ['1', '2']) {
    const { url, child, ended } = await startGateway(t, directory, { ...env, HEADGATE_WORKERS: workers })
    child.kill('SIGHUP')
    t.match(await ask(url, 'a-key-of-24-characters-00'), { status: 200 })
    child.kill('SIGTERM')
    await until(async () => await readyz(url) === 503, 'the stop to be announced')
    child.kill('SIGHUP')
    t.match(await ended, { code: 0, out: /"msg":"stopped"\}\s*$/ })
  }
})

async function startOnTerminal (
  t: Test,
  isOwner: boolean,
  cwd: string,
  more: Record<string, string>
): Promise<OnTerminal & { readonly url: string }> {
  const running = await onTerminal(t, isOwner, [process.execPath, main, 'start'], cwd, {
    PORT: '0',
    ...env,
    ...more
  })
  const [, url = ''] = await running.line(/^Headgate listens on (\S+?)\r?$/)
  return { ...running, url }
}

async function readyz (at: string): Promise<number> {
  const { statusCode, body } = await request(`${at}/readyz`, { reset: true })
  await body.dump()
  return statusCode
}
