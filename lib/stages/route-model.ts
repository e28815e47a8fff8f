import { updateCall, type RoutedCall, type ValidCall } from '../core/call.ts'
import { map } from '../pipeline/stage.ts'
import { maxTags } from '../validation/attribution.ts'
import type { CallRecord } from '../core/record.ts'
import type { Services } from '../services.ts'
import type { GenericStage, StageTypes } from '../pipeline/stage-list.ts'
import {
  chooseRoutes,
  type ChooseRoutesOptions,
  type ChooseRoutesServices,
  type ModelRequest
} from '../routing/choose-routes.ts'

type RoutingStage<Extra> = <R extends ModelRequest & Extra>(
  source: AsyncIterable<ValidCall<R>>
) => AsyncIterable<RoutedCall<R>>

interface Routing extends StageTypes {
  readonly out: this['in'] extends ValidCall<infer R> ? RoutedCall<R> : never
}

/**
 * Chooses the routes of a call (`routing/choose-routes`): one routed call per call.
 *
 * @throws what `chooseRoutes` throws
 */
export function routeModel<Extra = unknown> (
  services: ChooseRoutesServices & Pick<Services, 'recordRules'>, options: ChooseRoutesOptions<Extra> = {}
): GenericStage<RoutingStage<Extra>, Routing> {
  const { routeTags } = services.recordRules ?? {}
  const stage: RoutingStage<Extra> = map(
    <R extends ModelRequest & Extra>(call: ValidCall<R>): RoutedCall<R> => {
      const { skipped, ...chosen } = chooseRoutes(call, services, options)
      if (skipped.length > 0) call.record.routing.unusedRoutes = [...skipped]
      if (chosen.providerKey !== undefined) call.record.caller.usesOwnProviderKey = true
      if (routeTags !== undefined) addTags(call.record, routeTags(chosen.requestedNames ?? []))
      return updateCall(call, chosen)
    }
  )
  return stage
}

/** Adds the tags of its routes to a call, before the call's own. */
function addTags (record: CallRecord, tags: readonly string[]): void {
  const { caller } = record
  if (tags.length > 0) caller.tags = [...new Set([...tags, ...caller.tags ?? []])].slice(0, maxTags)
}
