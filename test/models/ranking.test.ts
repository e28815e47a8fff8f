import fc from 'fast-check'
import t from 'tap'
import { rank } from '../../lib/models/ranking.ts'
import type { Attributes } from '../../lib/core/model.ts'
import type { Route } from '../../lib/core/route.ts'
import { rounds } from '../support/rounds.ts'

const route = (model: string): Route => ({ providerId: 'one', model, modelId: `one/${model}` })

/** Names in order, each with its score. */
function ranked (
  models: Record<string, Attributes>,
  agent: Attributes | undefined,
  named: readonly string[] = []
): Array<[string, number | undefined]> {
  const candidates = Object.entries(models).map(([name, attributes]) => ({ route: route(name), attributes }))
  return rank(candidates, agent, named).map(({ model, ranked }) => [
    model, ranked?.value === undefined ? undefined : Math.round(ranked.value * 100) / 100
  ])
}

t.test('models are ordered by the share of needed features that they have', async t => {
  const a = { intelligence: 0.9, speed: 0.4, cost: 0.8 }
  const b = { intelligence: 0.5, speed: 0.9, cost: 0.1 }
  const none = {}
  const table: Array<
    [string, Record<string, Attributes>, Attributes | undefined, Array<[string, number | undefined]>]
  > = [
    [
      'the example of the README',
      { b, a },
      { complexity: 0.8, efficiency: 0.4 },
      [
        ['a', 0.92],
        ['b', 0.75]
      ]
    ],
    [
      'the other one',
      { a, b },
      { complexity: 0.3, efficiency: 0.4 },
      [
        ['b', 1],
        ['a', 0.86]
      ]
    ],
    [
      'complexity needs intelligence',
      { b, a },
      { complexity: 1 },
      [
        ['a', 0.9],
        ['b', 0.5]
      ]
    ],
    [
      'and little of it is had by both',
      { b, a },
      { complexity: 0.2 },
      [
        ['b', 1],
        ['a', 1]
      ]
    ],
    [
      'efficiency needs speed and low cost',
      { a, b },
      { efficiency: 1 },
      [
        ['b', 0.9],
        ['a', 0.3]
      ]
    ],
    [
      'a cost that is needed is one at most',
      { a, b },
      { cost: 0.2 },
      [
        ['b', 1],
        ['a', 0.25]
      ]
    ],
    [
      'a caller with `cost: 1` needs nothing',
      { a, b },
      { cost: 1 },
      [
        ['a', undefined],
        ['b', undefined]
      ]
    ],
    [
      'other names mean themselves',
      { x: { friendliness: 0.2 }, y: { friendliness: 0.6 } },
      { friendliness: 0.8 },
      [
        ['y', 0.75],
        ['x', 0.25]
      ]
    ],
    [
      'accuracy, creativity',
      { x: { accuracy: 1, creativity: 0 }, y: { accuracy: 0.4, creativity: 1 } },
      { accuracy: 0.5, creativity: 0.5 },
      [
        ['y', 0.9],
        ['x', 0.5]
      ]
    ],
    [
      'an unknown attribute is half of what is needed',
      { x: { accuracy: 0.2 }, none, y: { accuracy: 0.6 } },
      { accuracy: 0.8 },
      [
        ['y', 0.75],
        ['none', 0.5],
        ['x', 0.25]
      ]
    ],
    [
      'without a need the order stays',
      { b, a },
      {},
      [
        ['b', undefined],
        ['a', undefined]
      ]
    ],
    [
      'nor with one of nothing',
      { b, a },
      { complexity: 0 },
      [
        ['b', undefined],
        ['a', undefined]
      ]
    ],
    [
      'names of objects are names like others',
      { b, a },
      { constructor: 1 },
      [
        ['b', 0.5],
        ['a', 0.5]
      ]
    ]
  ]
  for (const [name, models, agent, expected] of table) t.same(ranked(models, agent), expected, name)
  t.same(
    ranked({ a, b, none }, undefined, ['speed', 'cost']),
    [
      ['b', 0.9],
      ['none', 0.5],
      ['a', 0.3]
    ],
    'without an agent, all of what is named'
  )
})

t.test('ranking keeps every route, orders by descending score, and is stable', async t => {
  const attributes = fc.dictionary(
    fc.constantFrom('intelligence', 'speed', 'cost', 'x'),
    fc.constantFrom(0, 0.25, 0.5, 1)
  )
  const agent = fc.option(
    fc.dictionary(fc.constantFrom('complexity', 'efficiency', 'cost', 'x'), fc.constantFrom(0, 0.5, 1)),
    { nil: undefined }
  )
  fc.assert(
    fc.property(fc.array(attributes, { maxLength: 8 }), agent, (models, needed) => {
      const candidates = models.map((attributes, index) => ({ route: route(String(index)), attributes }))
      const found = rank(candidates, needed, ['intelligence', 'x'])
      t.same(
        found.map(({ model }) => model).toSorted(),
        candidates.map(({ route }) => route.model).toSorted()
      )
      for (const [index, { model, ranked }] of found.entries()) {
        const before = found[index - 1]
        if (before === undefined) continue
        if (ranked === undefined || before.ranked?.value === ranked.value)
          t.ok(Number(before.model) < Number(model), 'stable')
        else t.ok(Number(before.ranked?.value) > Number(ranked.value))
        t.ok((ranked?.value ?? 0) >= 0 && (before.ranked?.value ?? 0) <= 1)
      }
    }),
    { numRuns: rounds(200) }
  )
})
