import { extend, type RoutedCall } from '../core/call.ts'
import { map, type Stage } from '../core/stage.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Route } from '../core/route.ts'
import type { Services } from '../services.ts'

/** Has the request fitted to each route that is tried, where the dialect wants it: one call in, one out. */
export function fitRoutes<C> (
  { models, providers }: Pick<Services, 'models' | 'providers'>, { fit }: Pick<Dialect<never, C>, 'fit'>
): Stage<RoutedCall<ChatInput>> {
  if (fit === undefined) return map(call => call)
  return map(call => {
    const context = call.context as C // by the `input` of the same dialect
    return extend(call, {
      fit: (request: unknown, route: Route) =>
        // The request of this call, perhaps with other limits.
        fit(request as ChatInput, { route, provider: providers.get(route.providerId)?.traits ?? {}, model: models.find(route.modelId) }, context)
    })
  })
}
