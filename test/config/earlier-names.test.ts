import t from 'tap'
import { readSettings } from '../../lib/config/read-settings.ts'

const earlier = {
  providers: {
    own: {
      kind: 'openai-compatible',
      base_url: 'http://127.0.0.1:1/v1',
      connections: 7,
      timeouts: { whole_ms: 9 },
      quirks: { choices: false, forward: ['top_k'], echo: ['a'] }
    }
  },
  limits: { default_key: { requests_per_minute: 5 } },
  tools: { repeats: 4, sessions: 6 },
  server: { open_health: true },
  deferred: { emulate: true, pending: 11, key_bytes: 2048 }
}

t.test('earlier entry names keep their meaning, with a warning for each', async t => {
  const { settings, warnings } = readSettings({ env: {}, cwd: t.testdir(), config: earlier })
  t.match(settings, {
    limits: { defaultKeyLimits: { requestsPerMinute: 5 } },
    tools: { maxIdenticalCalls: 4, maxSessions: 6 },
    server: { publicHealth: true },
    deferred: { forAllProviders: true, maxPending: 11, maxBytesPerKey: 2048 }
  })
  t.match(
    settings.providers.find(({ id }) => id === 'own'),
    {
      maxConnections: 7,
      timeouts: { responseMs: 9 },
      quirks: { multipleChoices: false, extraFields: ['top_k'], keepInHistory: ['a'] }
    }
  )
  t.strictSame(warnings.map(({ path, message }) => `${path} ${message}`).toSorted(), [
    'deferred.emulate is now named for_all_providers',
    'deferred.key_bytes is now named max_bytes_per_key',
    'deferred.pending is now named max_pending',
    'limits.default_key is now named default_key_limits',
    'providers.own.connections is now named max_connections',
    'providers.own.quirks.choices is now named multiple_choices',
    'providers.own.quirks.echo is now named keep_in_history',
    'providers.own.quirks.forward is now named extra_fields',
    'providers.own.timeouts.whole_ms is now named response_ms',
    'server.open_health is now named public_health',
    'tools.repeats is now named max_identical_calls',
    'tools.sessions is now named max_sessions'
  ])
})

t.test('an entry set under both names is refused', async t => {
  t.throws(
    () =>
      readSettings({ env: {}, cwd: t.testdir(), config: { tools: { repeats: 4, max_identical_calls: 5 } } }),
    /tools\.repeats {2}/
  )
})
