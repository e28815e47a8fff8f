import { createHash } from 'node:crypto'
import t from 'tap'
import { importBifrostConfig, type ImportedBifrost } from '../../lib/import/bifrost-config.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const nowMs = Date.parse('2026-03-14T10:00:00Z')
const key = (name: string, models: readonly string[]): JsonObject => ({
  name,
  value: `env.${name.toUpperCase()}`,
  models,
  weight: 1
})
const providers = {
  openai: { keys: [key('a', ['*'])] },
  groq: { keys: [key('g', ['llama', 'qwen']), key('h', ['llama'])] }
}
const everything = [{ provider: 'openai', allowed_models: ['*'], key_ids: ['*'] }]
const virtualKey = (more: JsonObject): JsonObject => ({
  id: 'v',
  name: 'v',
  value: 'sk-bf-secret-0001',
  provider_configs: everything,
  ...more
})

function imported (
  governance: JsonObject,
  { env = {}, ...more }: JsonObject & { readonly env?: Readonly<Record<string, string>> } = {}
): ImportedBifrost {
  return importBifrostConfig({ providers, governance, ...more }, env, nowMs)
}

function noteOf ({ rows }: ImportedBifrost, path: string): string {
  const row = rows.find(each => each.path === path)
  return row === undefined ? 'nothing' : `${row.verdict}: ${row.note}`
}

t.test('a virtual key is imported by its digest, from the file or from a variable', async t => {
  const result = imported(
    {
      virtual_keys: [
        virtualKey({}),
        virtualKey({ id: 'w', name: 'w', value: 'env.VK' }),
        virtualKey({ id: 'x', name: 'x', value: undefined })
      ]
    },
    { env: { VK: 'sk-bf-other' } }
  )
  t.match(result.organisation?.keys, [
    { name: 'v', hint: '…0001', digest: createHash('sha256').update('sk-bf-secret-0001').digest('base64') },
    { name: 'w', digest: createHash('sha256').update('sk-bf-other').digest('base64') }
  ])
  t.same(result.missing, [])
  t.match(noteOf(result, 'governance.virtual_keys[2]'), /^manual: write its value/)
  t.notMatch(JSON.stringify([result.rows, result.config]), /sk-bf-/)
  const without = imported({ virtual_keys: [virtualKey({ value: 'env.VK' })] })
  t.same([without.missing, without.organisation?.keys], [['VK'], []])
})

t.test('a key may use the models of its providers, or nothing where the file allows nothing', async t => {
  const models = (configs: readonly JsonObject[]): unknown =>
    imported({ virtual_keys: [virtualKey({ provider_configs: configs })] }).organisation?.keys[0]?.models
  t.same(models(everything), ['openai/*'])
  t.same(
    models([
      {
        provider: 'openai',
        allowed_models: ['gpt-5', 'gpt-4o'],
        blacklisted_models: ['gpt-4o'],
        key_ids: ['*']
      }
    ]),
    ['openai/gpt-5']
  )
  t.same(models([{ provider: 'groq', allowed_models: ['*'], key_ids: ['*'] }]), [
    'groq-g/llama',
    'groq-g/qwen',
    'groq-h/llama'
  ])
  t.same(
    models([{ provider: 'groq', allowed_models: ['llama', 'other'], key_ids: ['h'] }]),
    ['groq-h/llama'],
    'one of two keys'
  )
  t.same(
    [
      models([]),
      models([{ provider: 'openai', allowed_models: ['*'] }]),
      models([{ provider: 'openai', allowed_models: [], key_ids: ['*'] }]),
      models([{ provider: 'none', allowed_models: ['*'], key_ids: ['*'] }])
    ],
    [[], [], [], []]
  )
  const open = imported({
    virtual_keys: [
      virtualKey({
        provider_configs: [
          {
            provider: 'openai',
            allowed_models: ['*'],
            blacklisted_models: ['o3'],
            key_ids: ['*'],
            rate_limit_id: 'r'
          }
        ]
      })
    ]
  })
  t.match(noteOf(open, 'governance.virtual_keys[0].provider_configs[0].blacklisted_models'), /^unsupported/)
  t.match(noteOf(open, 'governance.virtual_keys[0].provider_configs[0].rate_limit_id'), /^unsupported/)
})

t.test('teams and customers of keys become projects with the limits of the file', async t => {
  const { organisation, rows } = imported({
    teams: [{ id: 't', name: 'Team', rate_limit_id: 'r', calendar_aligned: true }],
    customers: [
      {
        id: 'c',
        name: 'Customer',
        budgets: [{ max_limit: 7, reset_duration: '1d' }],
        calendar_aligned: true
      },
      { id: 'd', name: 'Unused' }
    ],
    budgets: [
      { id: 'b', max_limit: 100, reset_duration: '1M', team_id: 't', current_usage: 10 },
      { id: 'k', max_limit: 1, reset_duration: '1M', current_usage: 4, last_reset: '2026-03-01T00:00:00Z' }
    ],
    rate_limits: [
      {
        id: 'r',
        request_max_limit: 60,
        request_reset_duration: '1m',
        token_max_limit: 9000,
        token_reset_duration: '1h'
      }
    ],
    virtual_keys: [
      virtualKey({ team_id: 't', budget_id: 'k', expires_at: '2027-01-01T00:00:00Z' }),
      virtualKey({ id: 'w', value: 'x', customer_id: 'c', is_active: false })
    ]
  })
  const [team, customer] = organisation?.projects ?? []
  t.match(
    team,
    {
      name: 'Team',
      limits: { requestsPerMinute: 60, budgets: [{ usd: 100, per: 'month' }] },
      spent: [{ fromMs: Date.parse('2026-03-01T00:00:00Z'), nanoUsd: 6e9 }]
    },
    'what its key brings counts once'
  )
  t.equal(team?.limits?.tokensPerMinute, undefined)
  t.match(customer, { name: 'Customer', limits: { budgets: [{ usd: 7, per: 'day' }] } })
  t.equal(organisation?.projects.length, 2)
  t.match(organisation?.keys, [
    {
      project: team?.sourceId,
      expiresAtMs: Date.parse('2027-01-01T00:00:00Z'),
      isBlocked: false,
      limits: { budgets: [{ usd: 1, every: '30d' }] },
      spent: [{ nanoUsd: 4e9 }]
    },
    { project: customer?.sourceId, isBlocked: true }
  ])
  const verdicts = Object.fromEntries(rows.map(({ path, verdict }) => [path, verdict]))
  t.match(verdicts, {
    'governance.rate_limits[0].token_max_limit': 'manual',
    'governance.rate_limits[0].request_max_limit': 'exact',
    'governance.customers[1]': 'exact'
  })
})

t.test('limits across projects, of one model or of a provider have no counterpart', async t => {
  const result = imported({
    customers: [{ id: 'c', name: 'C', budget_id: 'b' }],
    teams: [{ id: 't', name: 'T', customer_id: 'c' }],
    budgets: [
      { id: 'b', max_limit: 5, reset_duration: '1M' },
      { id: 'p', max_limit: 5, reset_duration: '1M', provider_config_id: 3 },
      { id: 'm', max_limit: 5, reset_duration: '1M', model_config_id: 'x' }
    ],
    model_configs: [{ id: 'x', model_name: 'gpt-5' }],
    providers: [{ name: 'openai', budget_id: 'p' }],
    virtual_keys: [virtualKey({ team_id: 't' })]
  })
  t.match(
    ['customers[0]', 'budgets[0]', 'budgets[1]', 'budgets[2]', 'model_configs', 'providers'].map(path =>
      noteOf(result, `governance.${path}`)
    ),
    Array(6).fill(/^unsupported/)
  )
})

t.test('a limit of 0 revokes a key, or all keys of a project', async t => {
  const blocked = (governance: JsonObject): unknown => imported(governance).organisation?.keys[0]?.isBlocked
  t.equal(
    blocked({
      rate_limits: [{ id: 'r', request_max_limit: 0, request_reset_duration: '1m' }],
      virtual_keys: [virtualKey({ rate_limit_id: 'r' })]
    }),
    true
  )
  t.equal(
    blocked({
      teams: [{ id: 't', name: 'T' }],
      budgets: [{ id: 'b', max_limit: 0, reset_duration: '1d', team_id: 't' }],
      virtual_keys: [virtualKey({ team_id: 't' })]
    }),
    true
  )
  t.equal(blocked({ virtual_keys: [virtualKey({})] }), false)
})

t.test('tool servers: those named by the key with all their tools, and those open to every key', async t => {
  const server = (name: string, more: JsonObject = {}): JsonObject => ({
    name,
    connection_type: 'http',
    connection_string: `https://${name}.example`,
    tools_to_execute: ['*'],
    ...more
  })
  const result = imported(
    {
      virtual_keys: [
        virtualKey({
          mcp_configs: [
            { mcp_client_name: 'one', tools_to_execute: ['*'] },
            { mcp_client_name: 'two', tools_to_execute: ['read'] },
            { mcp_client_name: 'three', tools_to_execute: [] },
            { mcp_client_name: 'gone', tools_to_execute: ['*'] }
          ]
        })
      ]
    },
    {
      mcp: {
        client_configs: [
          server('one'),
          server('two'),
          server('three'),
          server('all', { allow_by_default: true })
        ]
      }
    }
  )
  t.same(result.organisation?.keys[0]?.mcpServers, ['bifrost/all', 'bifrost/one'])
  t.match(
    [1, 3].map(index =>
      noteOf(
        result,
        `governance.virtual_keys[0].mcp_configs[${index}]${index === 1 ? '.tools_to_execute' : ''}`
      )
    ),
    [/^unsupported: .*may not use this one/, /^unsupported: the file has no such tool server/]
  )
})
