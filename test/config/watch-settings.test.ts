import t, { type Test } from 'tap'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../lib/config/problems.ts'
import { readSettings, type ReadSettings } from '../../lib/config/read-settings.ts'
import { watchSettings, type SettingsWatch } from '../../lib/config/watch-settings.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { directory, type Env } from '../support/config.ts'

t.test('a changed or replaced file is noticed', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const { next, unheard } = observe(t, cwd)
  const write = (text: string): void => writeFileSync(join(cwd, 'headgate.yaml'), text)
  const replace = (text: string): void => {
    writeFileSync(join(cwd, 'new.tmp'), text)
    renameSync(join(cwd, 'new.tmp'), join(cwd, 'headgate.yaml'))
  }
  write('server: {port: 2}')
  t.equal(port(await next()), 2)
  replace('server: {port: 3}')
  t.equal(port(await next()), 3)
  replace('server: {prot: 4}')
  t.equal(port(await next()), 'headgate.yaml:1:10  server.prot  unknown entry; did you mean server.port?')
  replace(
    'server: {port: 3}\nmodels: {a: {alias: b}}\nroutes: {b: [a]}\ntools: {allowed_hosts: [10.0.0.0/99]}'
  )
  t.equal(
    port(await next()),
    [
      'headgate.yaml:2:21  models.a.alias  refers back to itself',
      'headgate.yaml:3:14  routes.b[0]  refers back to itself',
      'headgate.yaml:4:25  tools.allowed_hosts[0]  is not a range of addresses'
    ].join('\n'),
    'a running gateway refuses what it would refuse at start'
  )
  replace('server: {port: 3}')
  t.equal(port(await next()), 3, 'a corrected problem is reported, although the settings are unchanged')
  rmSync(join(cwd, 'headgate.yaml'))
  t.equal(port(await next()), 'headgate.yaml  file not found')
  write('server: {port: 4}')
  t.equal(port(await next()), 4)
  writeFileSync(join(cwd, '.env'), 'PORT=5\n')
  t.equal(port(await next()), 5, 'a change of .env is noticed')
  t.same(unheard, [])
})

t.test('a file that becomes empty is a problem, and the current settings stay', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}', '.env': 'HEADGATE_LOG_LEVEL=warn\n' })
  const { next, unheard } = observe(t, cwd, {}, readSettings({ env: {}, cwd }))
  for (const text of ['', '# server: {port: 2}\n', '---\n', '{}']) {
    writeFileSync(join(cwd, 'headgate.yaml'), text)
    t.equal(
      port(await next()),
      'headgate.yaml  no longer has any entries; restart the gateway to run without them',
      JSON.stringify(text)
    )
    writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 3}')
    t.equal(port(await next()), 3)
  }
  writeFileSync(join(cwd, '.env'), '# nothing\n')
  t.equal(port(await next()), '.env  no longer has any variables; restart the gateway to run without them')
  writeFileSync(join(cwd, '.env'), 'PORT=4\n')
  t.equal(port(await next()), 4)
  t.same(unheard, [])
})

t.test('a file that was empty at start may stay empty, or get entries', async t => {
  const cwd = directory(t, { 'headgate.yaml': '# nothing yet\n' })
  const { next } = observe(t, cwd, {}, readSettings({ env: {}, cwd }))
  writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 2}')
  t.equal(port(await next()), 2)
})

t.test('continuous changes are read too', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const { next } = observe(t, cwd)
  let written = 1
  const timer = setInterval(
    () => writeFileSync(join(cwd, 'headgate.yaml'), `server: {port: ${++written}}`),
    50
  )
  t.teardown(() => clearInterval(timer))
  const seen = Number(port(await next()))
  t.ok(seen > 1 && seen <= written, `${seen} of ${written}`)
})

t.test('a changed secret file is noticed', async t => {
  const cwd = directory(t, {
    'headgate.yaml': 'keys: [{name: a, key: file:secrets/a}]',
    'secrets/a': 'a'.repeat(32)
  })
  const { next } = observe(t, cwd)
  writeFileSync(join(cwd, 'secrets/a'), 'b'.repeat(32))
  const settings = await next()
  t.equal(settings instanceof ConfigError ? settings.message : settings.keys[0]?.key.reveal(), 'b'.repeat(32))
})

t.test('SIGHUP reloads secrets', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'keys: [{name: a, key: file:secret}]', secret: 'old' })
  const { next, unheard } = observe(t, cwd)
  writeFileSync(join(cwd, 'secret'), 'new')
  process.kill(process.pid, 'SIGHUP')
  const settings = await next()
  t.equal(settings instanceof ConfigError ? '' : settings.keys[0]?.key.reveal(), 'new')
  t.same(unheard, [])
})

t.test('SIGHUP reports the settings even if nothing differs, and so does the read after `forget`', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const { next, forget, unheard } = observe(t, cwd)
  process.kill(process.pid, 'SIGHUP')
  t.equal(port(await next()), 1)
  forget()
  writeFileSync(join(cwd, 'headgate.yaml'), '# tried again\nserver: {port: 1}')
  t.equal(port(await next()), 1)
  writeFileSync(join(cwd, 'headgate.yaml'), 'server: {prot: 1}')
  t.match(port(await next()), /unknown entry/)
  process.kill(process.pid, 'SIGHUP')
  t.match(port(await next()), /unknown entry/)
  t.same(unheard, [])
})

t.test('files behind symbolic links are watched where they are', async t => {
  const directories = directory(t, {
    'real/config.yaml': 'server: {port: 1}\nkeys: [{name: a, key: file:secret}]',
    'real/other': 'x'.repeat(32),
    'next/config.yaml': 'server: {port: 3}'
  })
  const at = (path: string): string => join(directories, path)
  mkdirSync(at('app'))
  symlinkSync('../real/config.yaml', at('app/headgate.yaml'))
  symlinkSync('../real/other', at('app/secret'))
  const { next } = observe(t, at('app'))
  const replace = (path: string, text: string): void => {
    writeFileSync(at('new.tmp'), text)
    renameSync(at('new.tmp'), at(path))
  }
  replace('real/other', 'y'.repeat(32))
  const settings = await next()
  t.equal(settings instanceof ConfigError ? settings.message : settings.keys[0]?.key.reveal(), 'y'.repeat(32))
  replace('real/config.yaml', 'server: {port: 2}')
  t.equal(port(await next()), 2)
  symlinkSync('../next/config.yaml', at('new.link'))
  renameSync(at('new.link'), at('app/headgate.yaml'))
  t.equal(port(await next()), 3, 'the link leads elsewhere')
  replace('next/config.yaml', 'server: {port: 4}')
  t.equal(port(await next()), 4)
})

t.test('a mounted volume that swaps its files is followed', async t => {
  const cwd = directory(t, { '..1/headgate.yaml': 'server: {port: 1}' })
  symlinkSync('..1', join(cwd, '..data'))
  symlinkSync('..data/headgate.yaml', join(cwd, 'headgate.yaml'))
  const { next } = observe(t, cwd)
  for (const number of [2, 3]) {
    mkdirSync(join(cwd, `..${number}`))
    writeFileSync(join(cwd, `..${number}/headgate.yaml`), `server: {port: ${number}}`)
    symlinkSync(`..${number}`, join(cwd, '..data_tmp'))
    renameSync(join(cwd, '..data_tmp'), join(cwd, '..data'))
    rmSync(join(cwd, `..${number - 1}`), { recursive: true })
    t.equal(port(await next()), number)
  }
})

t.test('a volume that another directory links to is followed', async t => {
  const directories = directory(t, { 'volume/..1/headgate.yaml': 'server: {port: 1}' })
  const at = (path: string): string => join(directories, path)
  symlinkSync('..1', at('volume/..data'))
  mkdirSync(at('app'))
  symlinkSync('../volume/..data/headgate.yaml', at('app/headgate.yaml'))
  const { next } = observe(t, at('app'))
  for (const number of [2, 3]) {
    mkdirSync(at(`volume/..${number}`))
    writeFileSync(at(`volume/..${number}/headgate.yaml`), `server: {port: ${number}}`)
    symlinkSync(`..${number}`, at('volume/..data_tmp'))
    renameSync(at('volume/..data_tmp'), at('volume/..data'))
    rmSync(at(`volume/..${number - 1}`), { recursive: true })
    t.equal(port(await next()), number)
  }
})

t.test('a change without effect is ignored, and a problem is reported once', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const { env, nextRead } = observedEnvironment()
  const { next, unheard } = observe(t, cwd, env)
  const writeAndWait = async (text: string): Promise<void> => {
    const read = nextRead()
    writeFileSync(join(cwd, 'headgate.yaml'), text)
    await read
  }
  await writeAndWait('# a comment\nserver: {port: 1}')
  await writeAndWait('server: {port: x}')
  await writeAndWait('server: {port: x} # still wrong')
  await writeAndWait('server: {port: 2}')
  t.equal(port(await next()), 'headgate.yaml:1:16  server.port  must be an integer')
  t.equal(port(await next()), 2)
  t.same(unheard, [])
})

t.test('a closed watch reports nothing', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const closed = observe(t, cwd)
  const open = observe(t, cwd)
  writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 2}')
  process.emit('SIGHUP')
  closed.close()
  t.equal(port(await open.next()), 2)
  t.same(closed.unheard, [])
})

t.test(
  'a change made since the current settings were read is reported, unchanged settings are not',
  async t => {
    const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
    const inUse = readSettings({ env: {}, cwd })
    writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 2}')
    t.equal(port(await observe(t, cwd, {}, inUse).next()), 2)
    const { env, nextRead } = observedEnvironment()
    const { next, unheard } = observe(t, cwd, env, readSettings({ env: {}, cwd }))
    await nextRead()
    t.same(unheard, [])
    writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 3}')
    t.equal(port(await next()), 3)
  }
)

t.test(
  'a file deleted since the current settings were read is a problem, one that never existed is not',
  async t => {
    const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
    const inUse = readSettings({ env: {}, cwd })
    rmSync(join(cwd, 'headgate.yaml'))
    t.equal(port(await observe(t, cwd, {}, inUse).next()), 'headgate.yaml  file not found')
    const { env, nextRead } = observedEnvironment()
    const { unheard } = observe(t, cwd, env, readSettings({ env: {}, cwd }))
    await nextRead()
    t.same(unheard, [])
  }
)

t.test('the catalogue file of the current settings is watched', async t => {
  const cwd = directory(t, {
    'headgate.yaml': 'catalogue: lists/own.json',
    'lists/own.json': '{"families": [], "models": []}'
  })
  const { env, nextRead } = observedEnvironment()
  const { next, unheard } = observe(t, cwd, env, readSettings({ env: {}, cwd }))
  await nextRead()
  t.same(unheard, [])
  writeFileSync(join(cwd, 'lists/own.json'), '{}')
  t.match(port(await next()), /^lists\/own\.json:1:1 {2}families {2}is missing/)
})

/**
 * Returns an environment that reports when it is read, which is the first step of reading the configuration.
 */
function observedEnvironment (): { readonly env: Env, readonly nextRead: () => Promise<void> } {
  const readings: Array<() => void> = []
  const env = Object.defineProperty({}, 'ANY', {
    enumerable: true,
    get: () => readings.shift()?.()
  })
  return { env, nextRead: async () => await new Promise<void>(resolve => readings.push(resolve)) }
}

/** Returns a function that gives the reports of a watch one by one. */
function observe (t: Test, cwd: string, env: Env = {}, inUse?: ReadSettings) {
  const said: Array<Settings | ConfigError> = []
  const waiting: Array<(value: Settings | ConfigError) => void> = []
  const say = (value: Settings | ConfigError): void => {
    const next = waiting.shift()
    if (next === undefined) said.push(value)
    else next(value)
  }
  const watch: SettingsWatch = watchSettings({ env, cwd }, say, say, inUse)
  t.teardown(() => watch.close())
  return {
    next: async (): Promise<Settings | ConfigError> => {
      return said.shift() ?? await new Promise(resolve => waiting.push(resolve))
    },
    close: () => watch.close(),
    forget: () => watch.forget(),
    unheard: said
  }
}

function port (value: Settings | ConfigError): number | string {
  return value instanceof ConfigError ? value.message : value.server.port
}
