import t from 'tap'
import { readHistory } from '../../lib/import/litellm-history.ts'
import { importedTables, notesOf, ownFunctions, testNowMs as nowMs } from '../support/litellm-tables.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const sum = (row: JsonObject): JsonObject => ({
  date: '2026-10-03',
  api_key: 'k',
  model: 'gpt-4o',
  custom_llm_provider: 'openai',
  api_requests: 2,
  prompt_tokens: 30,
  completion_tokens: 4,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 6,
  spend: 0.5,
  ...row
})
const tables = (user: readonly JsonObject[], team: readonly JsonObject[] = []) =>
  new Map([
    ['LiteLLM_DailyTeamSpend', team],
    ['LiteLLM_DailyUserSpend', user]
  ])

t.test('daily sums become amounts under the model names used here', async t => {
  const days = readHistory(
    tables([
      sum({}),
      sum({ model: 'gemini/gemini-2.5-pro', custom_llm_provider: 'gemini' }),
      sum({ model: null, custom_llm_provider: '' }),
      sum({ model: 'sonar', custom_llm_provider: 'perplexity' })
    ])
  ).get('k')
  t.same(days?.[0], {
    atMs: Date.UTC(2026, 9, 3),
    model: 'openai/gpt-4o',
    provider: 'openai',
    calls: 2,
    promptTokens: 30,
    completionTokens: 4,
    cachedTokens: 5,
    cacheWriteTokens: 6,
    nanoUsd: 5e8
  })
  t.same(
    days?.map(({ model, provider }) => [model, provider]),
    [
      ['openai/gpt-4o', 'openai'],
      ['google/gemini-2.5-pro', 'google'],
      ['unknown', ''],
      ['perplexity/sonar', 'perplexity']
    ]
  )
  t.equal(readHistory(tables([sum({ date: 'x' }), sum({ date: '2026-13-40' })])).size, 0)
})

t.test('sums of names that become one are added up', async t => {
  t.match(readHistory(tables([sum({}), sum({ model: 'openai/gpt-4o' })])).get('k'), [
    { calls: 4, nanoUsd: 1e9, cachedTokens: 10 }
  ])
})

t.test('team sums are given to keys without user sums, day by day', async t => {
  const read = readHistory(
    tables(
      [sum({})],
      [sum({ spend: 9 }), sum({ date: '2026-10-04', spend: 2 }), sum({ api_key: 'service', spend: 3 })]
    )
  )
  t.match(
    [...read].map(([key, days]) => [key, days.map(({ nanoUsd }) => nanoUsd)]),
    [
      ['k', [5e8, 2e9]],
      ['service', [3e9]]
    ]
  )
})

t.test('a budget counts the days of its period, and separately what they lack', async t => {
  const all = await importedTables(tables => {
    const row = (token: string, date: string, spend: number): JsonObject =>
      sum({ api_key: ownFunctions.hash(token), date, spend })
    tables['LiteLLM_DailyUserSpend'] = [
      row('sk-team', '2026-10-03', 4),
      row('sk-team', '2026-09-03', 100),
      row('sk-team-other', '2026-10-01', 2),
      row('sk-gone', '2026-10-01', 50)
    ]
  })
  const named = (name: string) => all.organisation.keys.find(key => key.name === name)
  const monthMs = Date.UTC(2026, 9)
  t.match(named('team'), {
    spent: [{ fromMs: monthMs, nanoUsd: 8.5e9 }],
    history: [{ nanoUsd: 4e9 }, { nanoUsd: 100e9 }]
  })
  t.match(
    all.organisation.projects[0],
    { spent: [{ fromMs: monthMs, nanoUsd: 22.5e9 }] },
    '40, of which 12.5 and 3 of today and 2 before are of its keys'
  )
  t.equal(named('plain')?.history, undefined)
  t.match(notesOf(all), {
    LiteLLM_DailyUserSpend: /^approximate: by day, key and model/,
    'LiteLLM_DailyUserSpend.api_key': /^approximate: keys that are not imported/
  })
  t.ok(nowMs > monthMs)
})
