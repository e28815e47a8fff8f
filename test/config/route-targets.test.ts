import t from 'tap'
import { routeTargets } from '../../lib/config/route-targets.ts'

t.test(
  'a route is a list of models, or models with weights and settings; each target has its place',
  async t => {
    t.strictSame(routeTargets('quick', ['a/1', 'b/2']), [
      { id: 'a/1', path: ['routes', 'quick', 0] },
      { id: 'b/2', path: ['routes', 'quick', 1] }
    ])
    t.strictSame(
      routeTargets('r', {
        strategy: 'weighted',
        models: [
          'a/1',
          { model: 'b/2', weight: 3, settings: { temperature: 0 } },
          { model: 'c/3', weight: 1 }
        ]
      }),
      [
        { id: 'a/1', path: ['routes', 'r', 'models', 0] },
        { id: 'b/2', path: ['routes', 'r', 'models', 1], weight: 3, settings: { temperature: 0 } },
        { id: 'c/3', path: ['routes', 'r', 'models', 2], weight: 1 }
      ]
    )
  }
)
