import t from 'tap'
import { readCache } from '../../lib/import/litellm-cache.ts'
import { ImportPlan } from '../../lib/import/plan.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

function read (settings: JsonObject) {
  const file = { litellm_settings: settings }
  const plan = new ImportPlan(file)
  const cache = readCache(file, plan)
  plan.noteOthers()
  return { cache, rows: plan.rows }
}

t.test('an exact-match cache is imported with its lifetime and mode', async t => {
  t.same(read({ cache: true }).cache, { answers: { scope: 'project' } })
  const { cache, rows } = read({
    cache: true,
    cache_params: { type: 'redis', host: 'redis', port: 6379, ttl: 0.5, mode: 'default_off', namespace: 'a' }
  })
  t.same(cache, { answers: { scope: 'project', ttl_ms: 500, when: 'asked' } })
  t.same(
    rows.filter(({ verdict }) => verdict === 'manual').map(({ path }) => path),
    ['litellm_settings.cache_params.host', 'litellm_settings.cache_params.port']
  )
  t.match(
    rows.find(({ path }) => path === 'litellm_settings.cache'),
    { verdict: 'approximate' }
  )
  t.same(
    read({ cache: true, cache_params: { ttl: 1e12 } }).cache,
    { answers: { scope: 'project', ttl_ms: 30 * 86_400_000 } },
    'the most that is allowed'
  )
})

t.test('a disabled cache is ignored, and a semantic one has no counterpart', async t => {
  t.same(read({ cache: false, cache_params: { type: 'redis' } }), {
    cache: undefined,
    rows: [
      { path: 'litellm_settings.cache', verdict: 'exact', note: 'off' },
      { path: 'litellm_settings.cache_params', verdict: 'exact', note: 'off' }
    ]
  })
  const semantic = read({ cache: true, cache_params: { type: 'redis-semantic' } })
  t.equal(semantic.cache, undefined)
  t.same(semantic.rows.map(({ verdict }) => verdict), ['unsupported', 'unsupported'])
})
