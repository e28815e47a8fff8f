import t from 'tap'
import { NamedBudgets } from '../../lib/limits/named-budgets.ts'
import { isInsteadOfTokens, recordedUsages, usedIn, wantedUnits } from '../../lib/limits/units.ts'
import { usageRowOf } from '../support/usage.ts'
import { settings } from '../support/settings.ts'
import type { ApiKey } from '../../lib/core/key.ts'

t.test('what a call used is read from its record', async t => {
  t.match(usedIn(usageRowOf(0, { prompt_tokens: 5, completion_tokens: 7, cost_nano_usd: 9, attempts: 3 })), {
    requests: 2,
    tokens: 12,
    calls: 0,
    nanoUsd: 9
  })
  t.match(
    usedIn(
      usageRowOf(0, { prompt_tokens: null, completion_tokens: null, cost_nano_usd: null, attempts: 0 })
    ),
    { requests: 0, tokens: 0, nanoUsd: 0 }
  )
})

t.test('records say in which accounts their calls counted, unless their key is gone', async t => {
  const key: ApiKey = {
    id: 'key-1',
    name: 'one',
    limits: { budget: { usd: 1, per: 'day' } },
    project: { id: 'p', name: 'p', limits: { imagesPerDay: 3 } }
  }
  const rows = [usageRowOf(1, { key_id: 'key-1', cost_nano_usd: 9 }), usageRowOf(2, { key_id: 'gone' })]
  t.match(
    recordedUsages(rows, id => (id === key.id ? key : undefined), undefined),
    [
      {
        row: { id: 'row-1' },
        used: { nanoUsd: 9 },
        accounts: [
          { partyId: 'key-1', unit: 'nanoUsd' },
          { partyId: 'p', unit: 'images' }
        ]
      }
    ]
  )
})

t.test('limits may count any unit that is billed in place of tokens, as its column does', async t => {
  t.match(usedIn(usageRowOf(0, { images: 2, pages: 3, audio_ms: 1500, characters: 4 })), {
    images: 2,
    pages: 3,
    audio_ms: 1500,
    characters: 4
  })
  t.same(
    (['images', 'pages', 'audio_ms', 'characters', 'tokens', 'nanoUsd', 'requests'] as const).filter(
      isInsteadOfTokens
    ),
    ['images', 'pages', 'audio_ms', 'characters']
  )
})

t.test('a request wants the most that it can use of a unit, and of others nothing', async t => {
  t.same(wantedUnits({ prompt: 9, completion: 9 }), {})
  t.same(wantedUnits({ prompt: 9, completion: 9, units: { images: { count: 2 } } }), {
    images: { most: 2, least: 2, usual: 2 }
  })
  t.same(wantedUnits({ prompt: 9, completion: 9, toolImages: 1 }), { images: { most: 1 } })
  const pages = { units: { pages: 1 }, maxUnits: { pages: 1000 }, minUnits: { pages: 1 } }
  t.same(wantedUnits({ prompt: 0, completion: 0, ...pages }), { pages: { most: 1000, least: 1, usual: 1 } })
  t.same(wantedUnits({ prompt: 0, completion: 0, units: { audioSeconds: 1.5 } }), {
    audio_ms: { most: 1500, least: 1500, usual: 1500 }
  })
})

t.test('a record counts in the parties that it names as well, as far as they have budgets', async t => {
  const { limits, ...others } = settings()
  const named = new NamedBudgets(
    { ...others, limits: { ...limits, tags: [{ tag: 'nightly', budget: { usd: 2, per: 'day' } }] } },
    { secret: Buffer.alloc(32) }
  )
  const rows = [usageRowOf(1, { parties: '["tag:nightly","tag:gone","end_user:p/x"]' })]
  t.match(
    recordedUsages(rows, id => ({ id, name: id }), undefined, named),
    [{ accounts: [{ party: 'tag', partyId: 'nightly', amount: 2e9 }] }]
  )
})
