import { hasMaxTokens } from '../chat/max-tokens.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { updateCall, type RoutedCall } from '../core/call.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import type { Route } from '../core/route.ts'
import type { TextInput } from '../chat/input.ts'

/** The default of OpenAI's API. Without a limit, some servers generate until their context is full. */
const defaults = { max_tokens: 16 }

/** Limits text completions where neither the request nor the model's settings do: one call in, one out. */
export function defaultTextLimit (): Stage<RoutedCall<TextInput>> {
  return map(call => {
    const { request, routes: [first, ...others] } = call
    if (hasMaxTokens(request)) return call
    if (call.routes.every(({ settings }) => settings === undefined)) {
      return updateCall(call, { request: updateCall(request, defaults) })
    }
    const bounded = (route: Route): Route => ({
      ...route,
      settings: mergeSettings(route.settings ?? {}, defaults)
    })
    return updateCall(call, { routes: [bounded(first), ...others.map(bounded)] as const })
  })
}
