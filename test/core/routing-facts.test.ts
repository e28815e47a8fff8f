import t from 'tap'
import { hadSeveralRoutes, RoutingFacts } from '../../lib/core/routing-facts.ts'
import { route } from '../support/routes.ts'

t.test('a call had several routes if one was left over, or one failed or was skipped', async t => {
  const routing = new RoutingFacts()
  t.notOk(hadSeveralRoutes(routing))
  routing.routes = [route('one/a')]
  t.notOk(hadSeveralRoutes(routing))
  routing.unusedRoutes = [{ route: route('two/b'), reason: 'cooling_down' }]
  t.ok(hadSeveralRoutes(routing))
  routing.unusedRoutes = undefined
  routing.routes = [route('one/a'), route('two/b')]
  t.ok(hadSeveralRoutes(routing))
})
