import t from 'tap'
import {
  importedTables,
  notesOf,
  ownFunctions,
  periodEnds,
  testNowMs as nowMs
} from '../support/litellm-tables.ts'
import { objectOrEmpty } from '../../lib/import/values.ts'
import { listOf, type JsonObject } from '../../lib/json/type-guards.ts'
import type { ImportedDatabase } from '../../lib/import/litellm-database.ts'

function keyNamed ({ organisation: { keys } }: ImportedDatabase, name: string) {
  return keys.find(key => key.name === name)
}

t.test('keys keep their digest, scope, limits and spending', async t => {
  const all = await importedTables()
  const ends = periodEnds(nowMs)
  const monthMs = Date.UTC(2026, 9)
  const digest = (token: string): string => Buffer.from(ownFunctions.hash(token), 'hex').toString('base64')
  t.match(keyNamed(all, 'plain'), {
    digest: digest('sk-plain'),
    hint: 'sk-...lain',
    previous: { digest: digest('sk-before'), untilMs: nowMs + 86_400_000 },
    isBlocked: false,
    limits: undefined,
    models: undefined,
    endpoints: undefined
  })
  t.match(keyNamed(all, 'team'), {
    models: undefined,
    limits: { budgets: [{ usd: 50, per: 'month', unpriced: 'allow' }] },
    spent: [{ fromMs: monthMs, nanoUsd: 12.5e9 }]
  })
  t.match(keyNamed(all, 'team-other'), {
    models: ['gpt'],
    limits: { budgets: [{ usd: 4, per: 'day' }] },
    spent: [{ fromMs: ends.day - 86_400_000, nanoUsd: 3e9 }]
  })
  t.match(
    keyNamed(all, 'left'),
    { limits: { budgets: [{ usd: 2, per: 'week' }] }, spent: [] },
    'the period is over'
  )
  t.match(keyNamed(all, 'total'), {
    limits: { budgets: [{ usd: 20, per: 'total' }] },
    spent: [{ fromMs: nowMs - 100 * 86_400_000, nanoUsd: 7e9 }]
  })
  t.match(keyNamed(all, 'rate'), { limits: { requestsPerMinute: 1, concurrentCalls: 3 } })
  t.match(keyNamed(all, 'expired'), { expiresAtMs: nowMs - 1000 })
  t.same(keyNamed(all, 'embeddings')?.endpoints, ['embeddings'])
  t.same(keyNamed(all, 'group')?.models, ['claude', 'embed'])
  t.match(keyNamed(all, 'wild'), { models: ['open/*', /^[\w.-]+\/\*$/] }, 'what the pattern leads to')
  t.match(keyNamed(all, 'windows'), {
    limits: {
      budgets: [
        { usd: 3, per: 'day' },
        { usd: 40, per: 'month' }
      ]
    },
    spent: [
      { fromMs: ends.day - 86_400_000, nanoUsd: 1e9 },
      { fromMs: monthMs, nanoUsd: 39e9 }
    ]
  })
  t.match(keyNamed(all, 'shared-budget'), {
    limits: { requestsPerMinute: 50, budgets: [{ usd: 3, per: 'day' }] }
  })
  t.same(
    ['blocked', 'nothing', 'blocked-team', 'plain'].map(name => keyNamed(all, name)?.isBlocked),
    [true, true, true, false]
  )
  t.same([keyNamed(all, 'page'), keyNamed(all, 'admin')], [undefined, undefined])
  t.same(keyNamed(all, 'plain')?.mcpServers, ['litellm/docs'], 'every key may use it, and no other')
  t.equal(all.organisation.keys.length, 19)
  t.ok(
    all.rows.some(
      ({ verdict, note }) => verdict === 'approximate' && note === 'customer is viewer here (cyd)'
    )
  )
})

t.test('teams and users with limits become projects, whose keys are not counted twice', async t => {
  const { organisation: { projects, users }, ...all } = await importedTables()
  const monthMs = Date.UTC(2026, 9)
  t.match(
    projects.map(({ name }) => name),
    ['Research', 'Spent', 'Blocked', 'Keys of Bob']
  )
  t.match(projects[0], {
    models: ['gpt', 'claude', 'embed'],
    limits: { tokensPerMinute: 1_000_000, budgets: [{ usd: 100, per: 'month' }] },
    members: [/./, /./],
    spent: [{ fromMs: monthMs, nanoUsd: 24.5e9 }]
  })
  t.match(projects[3], {
    limits: { budgets: [{ usd: 5, per: 'month' }] },
    spent: [{ fromMs: monthMs, nanoUsd: 5.5e9 }]
  })
  t.match(users, [
    { name: 'Ada@Example.com', email: 'ada@example.com', role: 'admin' },
    { name: 'Bob', role: 'member', email: undefined },
    { name: 'cyd', role: 'viewer' }
  ])
  t.match(notesOf(all)['LiteLLM_UserTable.user_id'], /^manual: the master key/)
})

t.test('keys of a team or user with a budget of 0 are revoked', async t => {
  for (const limit of [{ max_budget: 0 }, { rpm_limit: 0 }]) {
    const all = await importedTables(tables => {
      for (const name of ['LiteLLM_TeamTable', 'LiteLLM_UserTable']) {
        for (const row of tables[name] ?? []) {
          if (['Research', 'Bob'].includes(String(row['team_alias'] ?? row['user_alias']))) {
            Object.assign(row, limit)
          }
        }
      }
    })
    const { projects, keys } = all.organisation
    const empty = projects
      .filter(({ name }) => ['Research', 'Keys of Bob'].includes(name))
      .map(({ sourceId }) => sourceId)
    t.equal(empty.length, 2)
    for (const project of empty) {
      const own = keys.filter(key => key.project === project)
      t.ok(own.length > 0 && own.every(({ isBlocked }) => isBlocked), JSON.stringify(limit))
    }
    t.equal(keyNamed(all, 'plain')?.isBlocked, false)
  }
})

t.test('differences are reported with the affected rows', async t => {
  const all = await importedTables(tables => {
    tables['LiteLLM_SpendLogs'] = [{}]
    tables['LiteLLM_AgentsTable'] = [{}]
    tables['LiteLLM_TeamTable']?.push({ team_id: 'new', team_alias: 'New', a_new_column: 'x' })
  })
  t.match(notesOf(all), {
    'LiteLLM_VerificationToken.aliases': 'unsupported: no aliases of one key: fast for gpt (plain)',
    'LiteLLM_VerificationToken.model_max_budget':
      'unsupported: there are no limits for one model: restrict `models` (plain)',
    'LiteLLM_VerificationToken.allowed_routes':
      /^(?:manual: administers LiteLLM|approximate: endpoints embeddings, without \/v1\/rerank)/,
    'LiteLLM_VerificationToken.metadata.tags':
      /^manual: set them in `usage.keys` by its id: its name is not unique here \(plain\)$/,
    'LiteLLM_TeamTable.metadata.guardrails':
      /^manual: no guard is made of pii: see docs\/guards.md \(Research\)$/,
    'LiteLLM_TeamTable.members_with_roles':
      /^approximate: members; an admin of a team is a member here \(Research\)$/,
    'LiteLLM_TeamTable.a_new_column': 'unsupported: no counterpart (New)',
    'LiteLLM_TeamMembership.budget_id': /^unsupported: a member has one budget for all keys that they own/,
    'LiteLLM_UserTable.password': /^manual: passwords are not carried over/,
    LiteLLM_SpendLogs: 'approximate: the history stays there (the table has rows)',
    LiteLLM_AgentsTable: 'unsupported: no counterpart (the table has rows)'
  })
})

t.test('guardrails of keys and teams become guards on all of their calls', async t => {
  const all = await importedTables(tables => {
    const guardrail = (name: string): JsonObject => ({
      guardrail_name: name,
      litellm_params: {
        guardrail: 'litellm_content_filter',
        mode: 'pre_call',
        blocked_words: [
          { keyword: name, action: 'BLOCK' },
          { keyword: `${name}!`, action: 'MASK' }
        ]
      }
    })
    tables['LiteLLM_GuardrailsTable'] = [guardrail('pii'), guardrail('No Secrets')]
    for (const key of tables['LiteLLM_VerificationToken'] ?? []) {
      if (key['key_alias'] === 'plain') key['metadata'] = { guardrails: ['No Secrets', 'pii', 'elsewhere'] }
      if (key['key_alias'] === 'rate') key['metadata'] = { guardrails: [] }
    }
  })
  const named = listOf(all.config['stages']).map(stage => objectOrEmpty(stage)['name'])
  t.same(named, ['pii', 'pii-2', 'no-secrets', 'no-secrets-2'], 'one for each action')
  t.same(keyNamed(all, 'plain')?.stages, ['no-secrets', 'no-secrets-2', 'pii', 'pii-2'])
  t.equal(keyNamed(all, 'rate')?.stages, undefined)
  t.same(
    all.organisation.projects.map(({ stages }) => stages),
    [['pii', 'pii-2'], undefined, undefined, undefined]
  )
  t.match(notesOf(all), {
    'LiteLLM_VerificationToken.metadata.guardrails': /^manual: no guard is made of elsewhere/,
    'LiteLLM_TeamTable.metadata.guardrails': undefined
  })
})
