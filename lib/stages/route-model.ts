import { refine, type RoutedCall, type ValidCall } from '../core/call.ts'
import { map } from '../pipeline/stage.ts'
import type { GenericStage, StageKind } from '../pipeline/stage-list.ts'
import {
  chooseRoutes,
  type ChooseRoutesOptions,
  type ChooseRoutesServices,
  type ModelRequest
} from '../routing/choose-routes.ts'

type RoutingStage<Extra> = <R extends ModelRequest & Extra>(
  source: AsyncIterable<ValidCall<R>>
) => AsyncIterable<RoutedCall<R>>

interface Routing extends StageKind {
  readonly out: this['in'] extends ValidCall<infer R> ? RoutedCall<R> : never
}

/**
 * Chooses the routes of a call (`routing/choose-routes`): one routed call per call.
 *
 * @throws what `chooseRoutes` throws
 */
export function routeModel<Extra = unknown> (
  services: ChooseRoutesServices, options: ChooseRoutesOptions<Extra> = {}
): GenericStage<RoutingStage<Extra>, Routing> {
  const stage: RoutingStage<Extra> = map(
    <R extends ModelRequest & Extra>(call: ValidCall<R>): RoutedCall<R> => {
      const { skipped, ...chosen } = chooseRoutes(call, services, options)
      if (skipped.length > 0) call.record.failedAttempts = [...skipped]
      if (chosen.providerKey !== undefined) call.record.ownProviderKey = true
      return refine(call, chosen)
    }
  )
  return stage
}
