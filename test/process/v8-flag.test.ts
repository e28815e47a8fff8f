import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { v8Flag } from '../../lib/process/v8-flag.ts'
import { ask, childrenOf, directoryOf, launch, main, startGateway } from '../support/headgate.ts'

const env = { PORT: '0', HEADGATE_API_KEYS: 'a-key-of-twenty-characters' }

for (const [name, entry] of [
  ['bundle', main],
  ['modules', join(import.meta.dirname, '../../lib/main.js')]
] as const) {
  t.test(`a start from the ${name} sets one V8 flag, before anything else, and none later`, async t => {
    const gateway = launch(t, ['start'], directoryOf(t), env, [
      '--import',
      join(import.meta.dirname, '../support/list-v8-flags.js'),
      entry
    ])
    const [, url = ''] = await gateway.line(/^Headgate listens on (\S+)$/)
    t.match(await ask(url, env.HEADGATE_API_KEYS), { status: 200 })
    gateway.child.kill('SIGTERM')
    const { error } = await gateway.ended
    t.same(error.match(/^V8 flag .*$/gm), [`V8 flag ${v8Flag} before HTTP`])
  })
}

t.test('workers start with the flag, and with the options of their primary', async t => {
  const gateway = await startGateway(
    t,
    directoryOf(t),
    { ...env, HEADGATE_WORKERS: '2' },
    [],
    ['--trace-warnings']
  )
  const workers = await childrenOf(gateway.child.pid ?? 0)
  t.equal(workers.length, 2)
  for (const pid of workers) {
    const options = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
    t.ok(options.includes(v8Flag) && options.includes('--trace-warnings'), options.join(' '))
  }
})
