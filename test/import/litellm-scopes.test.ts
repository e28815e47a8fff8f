import t from 'tap'
import { endpointsOf, ModelScopes } from '../../lib/import/litellm-scopes.ts'
import { endpointNames } from '../../schemas/endpoints.ts'

const scopes = new ModelScopes({
  model_list: [
    { model_name: 'gpt', model_info: { access_groups: ['all of ours', 'good'] } },
    { model_name: 'gpt' },
    { model_name: 'claude', model_info: { access_groups: ['all of ours'] } },
    { model_name: 'openai/*', model_info: { access_groups: ['open'] } },
    { model_name: 'same', model_info: { access_groups: ['same', 'other'] } },
    { model_name: 'other', model_info: { access_groups: ['same'] } }
  ]
}, { 'openai/*': { alias: 'openai-2/*' }, claude: { alias: 'anthropic/claude' } })

const lists: ReadonlyArray<readonly [list: string[], models: string[] | undefined, unknown?: string[]]> = [
  [[], undefined],
  [['all-proxy-models'], undefined],
  [['gpt', 'all-team-models'], undefined],
  [['no-default-models'], []],
  [['gpt'], ['gpt']],
  [['all of ours'], ['gpt', 'claude']],
  [
    ['good', 'claude', 'gpt'],
    ['gpt', 'claude']
  ],
  [['openai/*'], ['openai/*', 'openai-2/*']],
  [['open'], ['openai/*', 'openai-2/*']],
  [['openai/gpt-5'], ['openai/gpt-5']],
  [['same'], ['same', 'other']],
  [['other'], ['same']],
  [['g*'], ['g*', 'gpt']],
  [['nothing'], ['nothing'], ['nothing']],
  [['none/*', 'gpt'], ['none/*', 'gpt'], ['none/*']]
]

for (const [list, models, unknown = []] of lists) {
  t.test(`models ${list.join(', ')}`, async t =>
    t.same(scopes.read(list), { ...models && { models }, unknown })
  )
}

const routes: ReadonlyArray<readonly [list: string[], endpoints: string[] | undefined, unknown?: string[]]> =
  [
    [[], undefined],
    [['llm_api_routes'], undefined],
    [['/*'], undefined],
    [['/v1/*'], undefined],
    [['/chat/completions', '/v1/chat/completions'], ['chat']],
    [['/completions'], ['completions']],
    [['/engines/{model}/chat/completions'], ['chat']],
    [['anthropic_routes'], ['messages']],
    [['/v1/messages/count_tokens'], ['messages']],
    [['/v1/responses/{response_id}'], ['responses']],
    [['/v1/images/*'], [], ['/v1/images/*']],
    [['/images/generations', '/rerank'], ['images'], ['/rerank']],
    [['info_routes'], ['models']],
    [
      ['/models', '/v1/audio/speech', '/audio/transcriptions', '/ocr', '/embeddings'],
      ['models', 'speech', 'transcriptions', 'ocr', 'embeddings']
    ],
    [['management_routes'], [], ['management_routes']]
  ]

for (const [list, endpoints, unknown = []] of routes) {
  t.test(`routes ${list.join(', ')}`, async t =>
    t.same(endpointsOf(list), { ...endpoints && { endpoints }, unknown })
  )
}

t.test('every endpoint that a key may be restricted to has a path', async t => {
  const paths = [
    '/chat/completions',
    '/completions',
    '/messages',
    '/responses',
    '/embeddings',
    '/audio/speech',
    '/audio/transcriptions',
    '/audio/translations',
    '/images/generations',
    '/ocr',
    '/models'
  ]
  t.same(
    new Set(endpointsOf(paths).endpoints),
    new Set(endpointNames.filter(name => !['openapi', 'key', 'health', 'livez', 'readyz'].includes(name)))
  )
})
