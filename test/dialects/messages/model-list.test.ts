import t from 'tap'
import { modelPage } from '../../../lib/dialects/messages/model-list.ts'
import type { Model } from '../../../schemas/models.ts'

const models = ['a', 'b', 'c', 'd', 'e'].map((id): Model => ({
  id,
  object: 'model',
  provider: 'openai',
  created: 0,
  created_at: '2026-01-02',
  owned_by: 'x',
  capabilities: { vision: true, output_token_limit: 5 },
  provider_info: { status: 'enabled', upstream_api: 'x', provider_id: 'x' }
}))

t.test('a list is paginated in both directions', async t => {
  const rows: ReadonlyArray<readonly [query: string, ids: string, more: boolean]> = [
    ['', 'abcde', false],
    ['limit=2', 'ab', true],
    ['limit=2&after_id=b', 'cd', true],
    ['limit=2&after_id=d', 'e', false],
    ['limit=2&before_id=d', 'bc', true],
    ['limit=9&before_id=c', 'ab', false],
    ['after_id=none', 'abcde', false],
    ['limit=x', 'abcde', false],
    ['after_id=e', '', false]
  ]
  for (const [query, ids, more] of rows) {
    const { data, has_more: hasMore, first_id: first, last_id: last } = modelPage(models, query)
    t.same(
      [data.map(({ id }) => id).join(''), hasMore, first, last],
      [ids, more, ids[0] ?? null, ids.at(-1) ?? null],
      query
    )
  }
})

t.test('a model entry has what is known about the model', async t => {
  t.match(modelPage(models, 'limit=1').data[0], {
    type: 'model',
    display_name: 'a',
    created_at: '2026-01-02T00:00:00Z',
    max_tokens: 5,
    max_input_tokens: null,
    capabilities: { image_input: { supported: true } },
    lifecycle: 'active'
  })
})
