/** Adds the placeholders of the stored response that a call continues, since its text contains them. */

import { map, pass, type PassThroughStage } from '../pipeline/stage.ts'
import { contextOf, type RoutedCall } from '../core/call.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Services } from '../services.ts'

/**
 * Joins the placeholders of the continued response with the call's own, where guards are reversible: one call
 * in, the same call out.
 *
 * @throws GatewayError `overloaded` while the store is unavailable
 */
export function joinPlaceholders<C> (
  { responseStore, textGuards }: Pick<Services, 'responseStore' | 'textGuards'>,
  { stored }: Pick<Dialect<never, C>, 'stored'>
): PassThroughStage<RoutedCall<object>> {
  const { reversible } = textGuards ?? {}
  if (reversible === undefined || stored === undefined) return pass
  return map(async <T extends RoutedCall<object>>(call: T): Promise<T> => {
    const id = stored.continues(contextOf(call))
    const placeholders = id === undefined ? undefined : reversible.placeholdersOf(call)
    if (id === undefined || placeholders === undefined) return call
    const sealed = await responseStore?.placeholders(call.key.id, id)
    if (sealed !== undefined) placeholders.join(sealed)
    return call
  })
}
