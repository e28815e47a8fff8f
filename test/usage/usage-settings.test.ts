import t from 'tap'
import { costHiding, ownTags, routeTags } from '../../lib/usage/usage-settings.ts'
import { testGateway } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import type { ApiKey } from '../../lib/core/key.ts'

const keys: Readonly<Record<string, ApiKey>> = {
  'of a project': { id: 'key-1', name: 'nightly', project: { id: 'project-1', name: 'Support' } },
  alone: { id: 'key-2', name: 'b' }
}

t.test(
  "tags of a key and project are added to calls, before the caller's, after a reload too",
  async t => {
    const api = await testGateway(t, {}, keys)
    const { settings: first } = api.gateway.services
    const tagsOf = async (key: string): Promise<unknown> => {
      await (
        await api.post(
          '/v1/chat/completions',
          { model: 'none/m', messages: 'hi', metadata: { tags: ['own'] } },
          { headers: { authorization: `Bearer ${key}` } }
        )
      ).text()
      return api.lines.findLast(({ msg }) => msg === 'call')?.['tags']
    }
    for (const [projects, ofKeys, tags] of [
      [[], [], [['own'], ['own']]],
      [
        [{ project: 'Support', exposeCost: true, tags: ['s'] }],
        [{ key: 'nightly', tags: ['n', 's'] }],
        [['n', 's', 'own'], ['own']]
      ],
      [
        [
          { project: 'project-1', exposeCost: true, tags: ['s'] },
          { project: 'default', exposeCost: true, tags: ['d'] }
        ],
        [{ key: 'key-2', tags: ['k', 'own'] }],
        [
          ['s', 'own'],
          ['k', 'own', 'd']
        ]
      ]
    ] as const) {
      await api.gateway.reload({ ...first, usage: { ...first.usage, projects, keys: ofKeys } })
      t.same([await tagsOf('of a project'), await tagsOf('alone')], tags)
    }
  }
)

t.test('keys are not looked up if none has tags', async t => {
  const { usage } = settings()
  t.equal(ownTags(usage), undefined)
  t.equal(
    ownTags({ projects: [{ project: 'a', exposeCost: true, tags: [] }], keys: [{ key: 'k', tags: [] }] }),
    undefined
  )
})

t.test('a route adds tags to the calls that name it', async t => {
  const { usage } = settings()
  t.equal(routeTags(usage), undefined)
  const tagsOf = routeTags({
    routes: [
      { route: 'smart', tags: ['a', 'b'] },
      { route: 'none', tags: [] },
      { route: 'fast', tags: ['c'] }
    ]
  })
  t.same(tagsOf?.(['fast', 'openai/m', 'smart']), ['c', 'a', 'b'])
  t.same(tagsOf?.(['none']), [])
})

t.test('costs need no check of the key if every project may see them', t => {
  const { usage } = settings()
  t.equal(costHiding(usage), undefined)
  t.equal(costHiding({ ...usage, projects: [{ project: 'a', exposeCost: true, tags: [] }] }), undefined)
  t.end()
})
