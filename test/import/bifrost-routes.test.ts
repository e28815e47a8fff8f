import t from 'tap'
import { importBifrostConfig } from '../../lib/import/bifrost-config.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const key = (name: string, models: readonly string[], more: JsonObject = {}): JsonObject => ({
  name,
  value: `env.${name.toUpperCase()}`,
  models,
  weight: 1,
  ...more
})
const providers = {
  openai: {
    keys: [key('a', ['*'], { weight: 3 }), key('b', ['gpt-5-mini'], { aliases: { 'gpt-5-mini': 'mini-b' } })]
  },
  anthropic: { keys: [key('c', ['claude-sonnet-4-5', 'shared'])] },
  groq: { keys: [key('g', ['shared'])] }
}

t.test('models of several keys become routes, others use the key that serves all models', async t => {
  const { config } = importBifrostConfig({ providers }, {}, 0)
  t.same(config['routes'], {
    'openai/gpt-5-mini': {
      strategy: 'weighted',
      models: [
        { model: 'openai-a/gpt-5-mini', weight: 3 },
        { model: 'openai-b/mini-b', weight: 1 }
      ]
    },
    shared: {
      strategy: 'weighted',
      models: [
        { model: 'anthropic/shared', weight: 1 },
        { model: 'groq/shared', weight: 1 }
      ]
    }
  })
  t.same(config['models'], {
    'openai/*': { alias: 'openai-a/*' },
    'gpt-5-mini': { alias: 'openai/gpt-5-mini' },
    'claude-sonnet-4-5': { alias: 'anthropic/claude-sonnet-4-5' }
  })
})

t.test('virtual keys share models without a provider by weight', async t => {
  const shares = (anthropic: number | null, groq: number): JsonObject => ({
    id: 'v',
    name: 'v',
    value: 'x',
    provider_configs: [
      { provider: 'anthropic', allowed_models: ['*'], key_ids: ['*'], weight: anthropic },
      { provider: 'groq', allowed_models: ['shared'], key_ids: ['*'], weight: groq }
    ]
  })
  const { config, rows } = importBifrostConfig(
    { providers, governance: { virtual_keys: [shares(0.8, 0.2), shares(0.8, 0.5)] } },
    {},
    0
  )
  t.match(config['routes'], {
    shared: {
      models: [
        { model: 'anthropic/shared', weight: 0.8 },
        { model: 'groq/shared', weight: 0.2 }
      ]
    }
  })
  const verdicts = Object.fromEntries(rows.map(({ path, verdict }) => [path, verdict]))
  t.equal(
    verdicts['governance.virtual_keys[0].provider_configs[1].weight'],
    'approximate',
    'an unlike share of another key'
  )
  t.match(
    importBifrostConfig({ providers, governance: { virtual_keys: [shares(null, 1)] } }, {}, 0).config[
      'models'
    ],
    { shared: { alias: 'groq/shared' } },
    'null is no share'
  )
})

t.test('a rule on a model name becomes a route, other rules are reported', async t => {
  const rule = (more: JsonObject): JsonObject => ({
    id: 'r',
    name: 'r',
    cel_expression: 'model == "gpt-5"',
    targets: [{ provider: 'openai', weight: 1 }],
    ...more
  })
  const { config, rows } = importBifrostConfig(
    {
      providers,
      governance: {
        routing_rules: [
          rule({ priority: 2, targets: [{ provider: 'groq', weight: 1 }] }),
          rule({
            priority: 1,
            targets: [
              { provider: 'openai', model: 'gpt-5.1', weight: 0.7 },
              { provider: 'anthropic', model: 'claude-opus-4-5', weight: 0.3 }
            ],
            fallbacks: ['groq', 'anthropic/claude-sonnet-4-5']
          }),
          rule({
            cel_expression: "request.model == 'pinned'",
            targets: [{ provider: 'openai', provider_key_name: 'b', weight: 1 }]
          }),
          rule({ cel_expression: 'budget_used > 80' }),
          rule({ cel_expression: 'model == "m"', scope: 'team', scope_id: 't' }),
          rule({ cel_expression: 'model == "n"', targets: [{ provider: 'bedrock', weight: 1 }] }),
          rule({ cel_expression: 'model == "o"', targets: [{ weight: 1 }] }),
          rule({ enabled: false })
        ]
      }
    },
    {},
    0
  )
  t.match(config['routes'], {
    'gpt-5': {
      strategy: 'weighted',
      models: [
        { model: 'openai/gpt-5.1', weight: 0.7 },
        { model: 'anthropic/claude-opus-4-5', weight: 0.3 },
        { model: 'groq/gpt-5', weight: 0 },
        { model: 'anthropic/claude-sonnet-4-5', weight: 0 }
      ]
    }
  })
  t.match(config['models'], { pinned: { alias: 'openai-b/pinned' } })
  const notes = rows
    .filter(({ path }) => /^governance\.routing_rules\[\d\]$/.test(path))
    .map(({ path, verdict, note }) => `${path.at(-2) ?? ''} ${verdict}: ${note}`)
    .toSorted()
  t.match(notes, [
    /^0 unsupported: an earlier rule is for gpt-5/,
    /^1 approximate: the route gpt-5/,
    /^2 approximate/,
    /^3 unsupported: no rules in CEL/,
    /^4 unsupported: no rules in CEL/,
    /^5 unsupported: no provider of the file is bedrock/,
    /^6 unsupported: a target names no provider/,
    /^7 exact: off/
  ])
})
