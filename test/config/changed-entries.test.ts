import t from 'tap'
import { changedEntries, keepRestartOnly, restartOnlyChanges } from '../../lib/config/changed-entries.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { directory } from '../support/config.ts'
import type { Test } from 'tap'
import type { Settings } from '../../lib/core/settings.ts'

function settingsOf (t: Test, file: string, env: Record<string, string> = { A: 'one' }): Settings {
  return loadSettings({ env, cwd: directory(t, { 'headgate.yaml': file }) })
}

const providers =
  'providers:\n  a: { base_url: "http://a.example", api_key: env:A }\n  b: { base_url: "http://b.example" }\n'

t.test('changed providers are named individually, other entries by their section', async t => {
  const before = settingsOf(t, providers)
  const listed = (file: string, env?: Record<string, string>): string[] =>
    changedEntries(before, { ...settingsOf(t, file, env), server: before.server })
  t.same(listed(providers), [])
  t.same(listed(providers, { A: 'two' }), ['providers.a'], 'a secret counts too')
  t.same(listed(providers.replace('b.example', 'c.example')), ['providers.b'])
  t.same(listed(providers.replace('  b:', '  c:')), ['providers.b', 'providers.c'])
  t.same(
    listed(
      `${providers}mcp_servers: { o/n: { url: "http://tools.example" } }\nlimits: { call_ms: 5000 }\n`
    ).toSorted(),
    ['limits', 'mcp_servers']
  )
})

t.test('entries that need a restart are listed separately', async t => {
  const base = settingsOf(t, '')
  const log = { logLevel: 'warn', logClient: false, logKeyName: false } as const
  const server = { ...base.server, ...log, port: 1, publicHealth: true }
  t.same(restartOnlyChanges(base, { ...base, server }), ['server.port'])
  t.same(
    restartOnlyChanges(base, {
      ...base,
      metrics: { host: '127.0.0.1', port: 1 },
      limits: { ...base.limits, callMs: 1 }
    }),
    ['metrics']
  )
})

t.test('a running process adopts all new settings except those that need a restart', async t => {
  const running = settingsOf(t, 'server: {port: 1, log_level: warn}\nstore: {keys_stale_ms: 5000}')
  const wanted = settingsOf(
    t,
    `server: {port: 2, tls: {certificate: a, key: b}, log_level: error}\nmetrics: {}\n${providers}`
  )
  const next = keepRestartOnly(running, wanted)
  t.same(restartOnlyChanges(running, next), [])
  t.match(next, {
    server: { port: 1, tls: undefined, logLevel: 'error' },
    metrics: undefined,
    store: { keysStaleMs: 5000 },
    providers: wanted.providers
  })
  t.same(changedEntries(wanted, next).toSorted(), ['metrics', 'server', 'store'])
})
