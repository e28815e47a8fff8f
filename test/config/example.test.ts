import t from 'tap'
import { readFileSync } from 'node:fs'
import { createModels } from '../../lib/models/create-models.ts'
import { Config } from '../../schemas/config.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import type { Settings } from '../../lib/core/settings.ts'
import { directory, ids, load, type Env } from '../support/config.ts'

const root = new URL('../../../', import.meta.url)

t.test('the example file is valid with and without its commented entries, and complete', async t => {
  const example = readFileSync(new URL('headgate.example.yaml', root), 'utf8')
  t.match(example, /^# yaml-language-server: \$schema=\.\/build\/headgate\.schema\.json\n/)
  t.same(ids(load(t, example)), ['sandbox'])
  // Prose begins with `# ` and a word; any other comment is an entry.
  const complete = example.replace(/^#(?! \S)/gm, '')
  const names = [...complete.matchAll(/env:(\w+)/g)].map(([, name]) => name ?? '')
  const env = Object.fromEntries(names.map(name => [name, 'x']))
  const catalogue = readFileSync(new URL('lib/models/catalogue.json', root), 'utf8')
  const loadAll = (env: Env): Settings =>
    loadSettings({ env, cwd: directory(t, { 'headgate.yaml': complete, 'catalogue.json': catalogue }) })
  t.same(ids(loadAll(env)), ['openai', 'ollama', 'team-gpu', 'sandbox', 'local'])
  t.same(entryNames(Config).filter(name => !new RegExp(`^ *(- )?${name}:`, 'm').test(complete)), [])
  const defaults = load(t, '')
  const {
    limits: { defaultKeyLimits, bodyMemoryBytes, tags, models: ofModels, ...limits },
    endUsers,
    tools,
    deferred,
    responses,
    usage,
    metrics
  } = loadAll(env)
  const budgets = [
    { usd: 5, per: 'day', timeZone: 'Europe/Berlin' },
    { usd: 100, every: '30d', from: '2030-01-01T00:00:00Z' }
  ]
  t.same(defaultKeyLimits, { requestsPerMinute: 600, budgets })
  t.match(usage, {
    keepDays: defaults.usage.keepDays,
    keepRows: defaults.usage.keepRows,
    exposeCost: defaults.usage.exposeCost,
    projects: [{ project: 'Support', exposeCost: false, tags: ['support'] }],
    keys: [{ key: 'nightly', tags: ['batch', 'cost centre 7'] }],
    routes: [{ route: 'fast', tags: ['interactive'] }],
    exports: {
      warehouse: { s3: { bucket: 'example-usage', prefix: 'headgate/' }, every: 'hour' },
      accounting: { directory: '/srv/accounting/usage', format: 'jsonl' }
    }
  })
  t.same(tags, [{ tag: 'batch', budget: { usd: 50, per: 'day' }, strict: true }])
  t.same(ofModels, [
    {
      model: 'openai/gpt-5',
      budgets: [
        { usd: 20, per: 'hour' },
        { usd: 200, per: 'day', soft: true }
      ]
    }
  ])
  t.same(endUsers, {
    store: 'as_given',
    required: false,
    defaultBudget: { usd: 1, per: 'day' },
    strict: true
  })
  t.same(metrics, load(t, 'metrics: {}').metrics)
  t.equal(bodyMemoryBytes, 1_073_741_824)
  t.same({ ...limits, tags: [], models: [] }, defaults.limits, 'the example shows the defaults')
  t.same(deferred, defaults.deferred)
  t.same(responses, defaults.responses)
  t.match(tools, { ...defaults.tools, allowedHosts: ['tools.internal', '10.0.0.0/8'] })
  const used = loadAll(env)
  const models = createModels(used, new Set(ids(used)))
  t.match(models.routes('fast'), [{ modelId: 'openai/gpt-4.1-mini' }])
  t.match(models.routes('careful'), [{ modelId: 'openai/gpt-4.1' }, { modelId: 'team-gpu/llama-3.3-70b' }])
})

/** Returns the names of all entries anywhere in a schema. */
function entryNames (schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const names = 'properties' in schema ? Object.keys(schema.properties ?? {}) : []
  return names.concat(Object.values(schema).flatMap(entryNames))
}
