/** Keeps the routes whose model supports the request. */

import {
  checkImageRules,
  familyOf,
  type ImageFamily,
  type ImageParameters,
  type ImageTask
} from '../../images/rules.ts'
import { mergeSettings } from '../../chat/merge-settings.ts'
import type { Route } from '../../core/route.ts'
import { copyCall, type RoutedCall } from '../../core/call.ts'
import { map, type Stage } from '../../pipeline/stage.ts'

export interface ImageRulesOptions<R> {
  readonly task: ImageTask
  /** Inspects the files of a form. */
  readonly checkFiles?: (request: R, family: ImageFamily) => void
}

/**
 * Checks what the models accept: one call in, one out, with at least one route.
 *
 * @throws GatewayError with the reason of the first model, when no model supports the request
 */
export function imageRules<R extends ImageParameters> ({
  task,
  checkFiles
}: ImageRulesOptions<R>): Stage<RoutedCall<R>> {
  return map(call => {
    const routes: Route[] = []
    let refusal: unknown
    for (const route of call.routes) {
      const family = familyOf(route.traits?.images)
      try {
        checkImageRules(mergeSettings(call.request, route.settings), family, task, route.modelId)
        checkFiles?.(call.request, family)
        routes.push(route)
      } catch (error) {
        refusal ??= error
      }
    }
    const [first, ...others] = routes
    if (first === undefined) throw refusal
    return copyCall(call, { routes: [first, ...others] as const })
  })
}
