import t from 'tap'
import { NamedBudgets, type NamingCall } from '../../lib/limits/named-budgets.ts'
import { endUserDigest } from '../../lib/stores/end-user-digests.ts'
import { settings } from '../support/settings.ts'
import type { Settings } from '../../lib/core/settings.ts'

const secret = Buffer.alloc(32, 1)
const tagBudget = { tag: 'nightly', budget: { usd: 1 } }

function budgetsOf (
  parts: Partial<Pick<Settings, 'endUsers' | 'usage' | 'routes'>>,
  limits: Partial<Settings['limits']> = {}
): NamedBudgets {
  const all = settings(parts)
  return new NamedBudgets({ ...all, limits: { ...all.limits, ...limits } }, { secret })
}

function namesOf (named: NamedBudgets, call: Partial<NamingCall>): unknown {
  const parties = named.partiesOf({
    key: { id: 'k', name: 'k' },
    record: { caller: { endUser: undefined } },
    ...call
  }, 0)
  return parties instanceof Promise ? 'a promise' : parties.map(({ kind, id }) => `${kind} ${id}`)
}

t.test(
  'a tag counts if a key, project or route has it, never because a caller names it',
  async t => {
    const named = budgetsOf(
      {
        usage: {
          ...settings().usage,
          keys: [{ key: 'k', tags: ['nightly', 'other'] }],
          projects: [{ project: 'P', exposeCost: true, tags: ['nightly'] }],
          routes: [{ route: 'smart', tags: ['nightly'] }]
        }
      },
      { tags: [tagBudget] }
    )
    t.same(namesOf(named, {}), ['tag nightly'])
    t.same(
      namesOf(named, {
        key: { id: 'x', name: 'x', project: { id: 'p', name: 'P' } },
        requestedNames: ['smart']
      }),
      ['tag nightly'],
      'once'
    )
    t.same(namesOf(named, { key: { id: 'x', name: 'x' }, requestedNames: ['smart'] }), ['tag nightly'])
    t.same(namesOf(named, { key: { id: 'x', name: 'x' }, requestedNames: ['openai/m'] }), [])
  }
)

t.test(
  'a model counts by requested names and possible routes, unless only route budgets are named',
  async t => {
    const route = { providerId: 'openai', model: 'm', modelId: 'openai/m' }
    const named = budgetsOf(
      { routes: [{ name: 'smart', models: ['openai/m'] }] },
      {
        models: [
          { model: 'openai/m', budget: { usd: 1 } },
          { model: 'smart', budget: { usd: 2 } }
        ]
      }
    )
    t.same(namesOf(named, { requestedNames: ['openai/m'], routes: [route] }), ['model openai/m'])
    t.same(
      namesOf(named, { requestedNames: ['m'], routes: [route] }),
      ['model openai/m'],
      'a short name is no way around it'
    )
    t.same(namesOf(named, { requestedNames: ['smart'], routes: [route] }), ['model smart'])
    t.same(namesOf(named, { requestedNames: ['smart', 'openai/m'], routes: [route] }), [
      'model smart',
      'model openai/m'
    ])
    const snapshot = { ...route, modelId: 'openai/m-2030-01-31', variantOf: 'openai/m' }
    t.same(
      namesOf(named, { requestedNames: [snapshot.modelId], routes: [snapshot] }),
      ['model openai/m'],
      'nor is a snapshot'
    )
    t.same(namesOf(named, {}), [], 'a call without a model')
  }
)

t.test('an end user in digest form is the same party as by name', t => {
  const endUsers = { required: false, defaultBudget: { usd: 1, per: 'day' } } as const
  const digest = endUserDigest(secret)('default', 'ada')
  const rows = [['as_given', 'ada'], ['hashed', digest]] as const
  for (const [store, endUser] of rows) {
    t.same(
      namesOf(budgetsOf({ endUsers: { ...endUsers, store } }), { record: { caller: { endUser } } }),
      [`end_user default/${digest}`],
      store
    )
  }
  t.end()
})

t.test('each end user of each project has the budget, under a name that identifies nobody', async t => {
  const named = budgetsOf({
    endUsers: { store: 'as_given', required: false, defaultBudget: { usd: 1, per: 'day' } }
  })
  const of = (endUser: string | undefined, project?: string) =>
    namesOf(named, {
      record: { caller: { endUser } },
      ...project !== undefined && { key: { id: 'k', name: 'k', project: { id: project, name: project } } }
    })
  const [one, two, elsewhere] = [of('ada@example.com'), of('bob'), of('ada@example.com', 'p')]
  for (const names of [one, two]) t.match(names, [/^end_user default\/[\w-]{22}$/])
  t.match(elsewhere, [/^end_user p\/[\w-]{22}$/])
  t.notSame(one, two)
  t.same(of('ada@example.com'), one, 'always the same')
  t.same(of(undefined), [])
})

t.test(
  'a call without a required end user is refused with what to send',
  async t => {
    const named = budgetsOf({ endUsers: { store: 'as_given', required: true } })
    t.throws(() => namesOf(named, {}), {
      code: 'invalid_value',
      param: 'user',
      message: /send `user`, `safety_identifier` or the header/
    })
    t.same(namesOf(named, {
      record: { caller: { endUser: 'ada' } }
    }), [], 'without a budget nothing is counted')
    t.same(
      named.partiesOf({ key: { id: 'k', name: 'k' }, record: { caller: { endUser: undefined } } }, 0, {
        mayBeAnonymous: true
      }),
      []
    )
  }
)

t.test('a record has only the parties whose budgets still exist', async t => {
  const named = budgetsOf(
    { endUsers: { store: 'as_given', required: false, budgets: [{ usd: 1, per: 'day' }], strict: false } },
    { tags: [{ tag: 'a:b', budget: { usd: 3 } }] }
  )
  t.same(named.partiesOfRow(JSON.stringify(['tag:a:b', 'tag:gone', 'end_user:p/x', 'model:gone', 'key:k'])), [
    { kind: 'tag', id: 'a:b', limits: { budget: { usd: 3 } } },
    { kind: 'end_user', id: 'p/x', limits: { budgets: [{ usd: 1, per: 'day' }], strict: false } }
  ])
  t.same(named.partiesOfRow(null), [])
})
